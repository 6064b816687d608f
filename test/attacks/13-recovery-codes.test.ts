import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { password, postSession, signIn, signInAs } from '../support/dashboard.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const minute = 60_000

async function service(t: Test) {
  const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
  const started = await startTestService({ clock: () => new Date(time.ms).toISOString() })
  t.teardown(() => destroyTestService(started))
  const events = async () => (await started.store.readAll({ maxCount: 1_000 })).events
  const noted = (change: string) => started.logLines.filter((line) => line.includes(`"change":"${change}"`)).length
  return { ...started, time, events, noted }
}

/** Signs in a user with a second factor and recovery codes. */
async function withCodes(running: Awaited<ReturnType<typeof service>>) {
  const user = await signInAs(running, 'auditor')
  t.equal((await user.post('/session/recovery-codes')).json().error.code, 40912, 'there is no second factor yet')
  const { secret } = (await user.post('/session/second-factor')).json()
  const code = () => new TOTP({ secret }).generate({ timestamp: running.time.ms })
  t.equal((await user.put('/session/second-factor', { code: code() })).statusCode, 200)
  const { codes } = (await user.post('/session/recovery-codes')).json<{ codes: string[] }>()
  running.time.ms += minute
  return { user, email: user.email, codes, code }
}

t.test('a recovery code signs in once in place of the second factor', async (t) => {
  const running = await service(t)
  const { app, noted } = running
  const { user, email, codes, code } = await withCodes(running)
  t.equal(new Set(codes).size, 10)
  for (const each of codes) t.match(each, /^([a-z2-9]{5}-){3}[a-z2-9]{5}$/, 'twenty characters of 31: 99 bits')
  t.equal((await user.get('/session')).json().user.recoveryCodesLeft, 10)
  t.equal((await postSession(app, { email, password })).json().error.code, 40103)

  const typed = `\u200b${codes[0]!.toUpperCase().replaceAll('-', ' \u2013 ')}`
  const both = await Promise.all([1, 2].map(() => postSession(app, { email, password, code: typed })))
  t.strictSame(both.map(({ statusCode }) => statusCode).sort(), [200, 400], 'accepts one of two concurrent uses')
  const session = both.find(({ statusCode }) => statusCode === 200)!.json()
  t.equal(session.user.recoveryCodesLeft, 9)
  t.equal(noted('recovery-code-used'), 1, 'the security log records the use')
  t.equal((await postSession(app, { email, password, code: codes[0] })).json().error.code, 40013)
  t.equal((await postSession(app, { email, password: 'not the password', code: codes[1] })).json().error.code, 40012)
  t.equal((await user.post('/session/confirm', { password, code: codes[1] })).statusCode, 200, 'it also confirms')
  t.equal(noted('recovery-code-used'), 2)
  t.equal((await user.post('/session/confirm', { password, code: code() })).statusCode, 200, 'the app still works')
})

t.test('new codes replace earlier ones, need a recent sign-in, and end with the second factor', async (t) => {
  const running = await service(t)
  const { app, time } = running
  const { user, email, codes } = await withCodes(running)
  time.ms += 10 * minute
  t.equal((await user.post('/session/recovery-codes')).json().error.code, 40307)
  t.equal((await user.post('/session/confirm', { password, code: codes[0] })).statusCode, 200)
  const renewed = (await user.post('/session/recovery-codes')).json<{ codes: string[] }>().codes
  t.equal((await postSession(app, { email, password, code: codes[1] })).json().error.code, 40012)
  await signIn(app, { email, password, code: renewed[0]! })
  t.equal((await user.delete('/session/second-factor')).json().user.recoveryCodesLeft, 0)
  const { secret } = (await user.post('/session/second-factor')).json()
  const code = new TOTP({ secret }).generate({ timestamp: time.ms })
  t.equal((await user.put('/session/second-factor', { code })).json().user.recoveryCodesLeft, 0)
  t.equal((await postSession(app, { email, password, code: renewed[1] })).json().error.code, 40012)
})

t.test('guesses of recovery codes are throttled like those of the second factor', async (t) => {
  const running = await service(t)
  const { app } = running
  const { email, codes } = await withCodes(running)
  const guess = 'aaaaa-bbbbb-ccccc-ddddd'
  for (let n = 0; n < 3; n++)
    t.equal((await postSession(app, { email, password, code: guess })).json().error.code, 40012)
  const locked = await postSession(app, { email, password, code: codes[0] })
  t.equal(locked.json().error.code, 42902)
  t.ok(locked.headers['retry-after'])
})

t.test('no event, log line or stored session contains a code, and each code belongs to one user', async (t) => {
  const running = await service(t)
  const { app, readModels, events } = running
  const { email, codes } = await withCodes(running)
  const other = await withCodes(running)
  t.equal((await postSession(app, { email, password, code: other.codes[0] })).json().error.code, 40012)
  await signIn(app, { email, password, code: codes[0]! })
  const kept = [
    JSON.stringify(await events(), (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    running.logLines.join('\n'),
    JSON.stringify(await readModels.collection('sessions').find({})),
  ]
  for (const code of codes)
    for (const text of kept) for (const form of [code, code.replaceAll('-', '')]) t.notOk(text.includes(form))
  const types = (await events()).map(({ type }) => type)
  t.strictSame(types.slice(-3), ['UserRecoveryCodeUsed', 'UserSignedIn', 'UserSignInDeviceKnown'])
})
