import { readFileSync } from 'node:fs'
import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { ruleTexts } from '../../src/domain/rule-texts.js'
import { password, postSession, signInAs } from '../support/dashboard.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const periodMs = 30_000
const [wrong, used] = [40012, 40013]

/** Starts a service with a user who has just set up a second factor. */
async function service(t: Test) {
  const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
  const started = await startTestService({ clock: () => new Date(time.ms).toISOString() })
  t.teardown(() => destroyTestService(started))
  const user = await signInAs(started, 'administrator')
  const { secret } = (await user.post('/session/second-factor')).json()
  const code = () => new TOTP({ secret }).generate({ timestamp: time.ms })
  t.equal((await user.put('/session/second-factor', { code: code() })).statusCode, 200)
  const next = 'another good password'
  /** Every request that accepts a code of the second factor. Each returns its error code. */
  const purposes = {
    'sign-in': (code: string, given = password) =>
      postSession(started.app, { email: user.email, password: given, code }),
    confirmation: (code: string, given = password) => user.post('/session/confirm', { password: given, code }),
    'new password': (code: string, given = password) => user.put('/session/password', { current: given, next, code }),
  }
  const failures = async () =>
    (await started.store.readAll({ maxCount: 1_000 })).events.filter(({ type }) => type === 'UserSignInFailed').length
  return { ...started, time, user, secret, code, purposes, failures }
}

const errorOf = async (response: ReturnType<typeof postSession>) => (await response).json().error?.code ?? null

t.test('a code that set up the second factor is refused as used for every purpose, until the next code', async (t) => {
  for (const purpose of ['sign-in', 'confirmation', 'new password'] as const) {
    const { time, code, purposes } = await service(t)
    const ask = purposes[purpose]
    const first = code()
    const refused = (await ask(first)).json().error
    t.match(
      refused,
      { code: used, rule: 'code-used', message: /already used\. Wait until your app shows the next code/ },
      purpose,
    )
    time.ms += periodMs
    t.equal(await errorOf(ask(first)), used, `${purpose}: the clocks may differ by one period`)
    t.equal(await errorOf(ask(code())), null, `${purpose}: the next code`)
  }
})

t.test('a code that was used for one purpose is refused as used for every purpose', async (t) => {
  for (const first of ['sign-in', 'confirmation'] as const) {
    for (const kind of ['code', 'recovery code'] as const) {
      const { time, user, code, purposes } = await service(t)
      time.ms += periodMs
      const { codes } = (await user.post('/session/recovery-codes')).json<{ codes: string[] }>()
      const once = kind === 'code' ? code() : codes[0]!
      t.equal(await errorOf(purposes[first](once)), null, `${kind}, ${first}`)
      for (const [purpose, ask] of Object.entries(purposes))
        t.equal(await errorOf(ask(once)), used, `${kind}, ${purpose} after ${first}`)
    }
  }
})

t.test('concurrent uses of one code sign in once, and the others are refused as used', async (t) => {
  const { time, code, purposes } = await service(t)
  time.ms += periodMs
  const once = code()
  const both = await Promise.all([errorOf(purposes['sign-in'](once)), errorOf(purposes.confirmation(once))])
  t.strictSame(new Set(both), new Set([used, null]))
})

t.test('a used code reveals nothing without the password, and each use counts as a failed attempt', async (t) => {
  const { code, purposes, failures, logLines, time } = await service(t)
  t.equal(await errorOf(purposes['sign-in'](code(), 'not the password')), wrong, 'reveals nothing without the password')
  t.equal(await failures(), 1)
  t.equal(await errorOf(purposes['sign-in'](code())), used)
  t.equal(await failures(), 2, 'counts like a wrong code')
  t.equal(await errorOf(purposes['sign-in']('000000')), wrong)
  t.equal(await errorOf(purposes['sign-in'](code())), 42902, 'locks like wrong codes')
  const noted = logLines.filter((line) => line.includes('security.sign_in_failed') && line.includes(`"code":${used}`))
  t.equal(noted.length, 1, 'the security log records it')
  t.notOk(
    logLines.some((line) => line.includes(`"${code()}"`)),
    'no log line contains the code',
  )
  time.ms += 24 * 60 * 60_000
  t.equal(await errorOf(purposes['sign-in'](code())), null)
})

t.test('a replaced recovery code and a code of a removed second factor are wrong, not used', async (t) => {
  const { time, user, code, purposes } = await service(t)
  time.ms += periodMs
  const issue = async () => (await user.post('/session/recovery-codes')).json<{ codes: string[] }>().codes
  const [replaced] = await issue()
  const [fresh] = await issue()
  t.equal(await errorOf(purposes['sign-in'](replaced!)), wrong)
  t.equal(await errorOf(purposes['sign-in'](fresh!)), null)
  t.equal(await errorOf(purposes['sign-in'](code())), null)
  t.equal((await user.delete('/session/second-factor')).statusCode, 200)
  const { secret } = (await user.post('/session/second-factor')).json()
  const ownCode = new TOTP({ secret }).generate({ timestamp: time.ms })
  t.equal((await user.put('/session/second-factor', { code: ownCode })).statusCode, 200)
  t.equal(await errorOf(purposes['sign-in'](code())), wrong)
  t.equal(await errorOf(purposes['sign-in'](fresh!)), wrong)
})

t.test('the dashboard tells the user in both languages to wait for the next code', async (t) => {
  for (const [language, text, wait] of [
    ['en', ruleTexts['code-used'], /already used\. Wait until your app shows the next code/],
    ['tr', undefined, /zaten kullanıldı\. Uygulamanızın bir sonraki kodu göstermesini bekleyin/],
  ] as const) {
    const texts = JSON.parse(readFileSync(`web/dashboard/texts/errors.${language}.json`, 'utf8'))
    t.match(text ?? texts['rule.code-used'], wait)
    t.ok(texts['title.code-used'])
  }
})
