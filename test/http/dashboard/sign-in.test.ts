import t, { type Test } from 'tap'
import { password, postSession, signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

async function service(t: Test) {
  const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
  const options = { clock: () => new Date(time.ms).toISOString() }
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  return { ...started, time, options }
}

const wrong = 'not the password at all'

t.test('delays unknown browsers after three wrong passwords, but not a known browser', async (t) => {
  const running = await service(t)
  const { app, time } = running
  const { email, cookie } = await signInAs(running, 'auditor')
  const device = cookie.split('; ').find((each) => each.startsWith('__Host-transferd-device='))!
  for (let n = 0; n < 3; n++) t.equal((await postSession(app, { email, password: wrong })).json().error.code, 40012)
  const locked = await postSession(app, { email, password })
  t.equal(locked.json().error.code, 42902, 'the right password is rejected too, so that a guess is not confirmed')
  t.equal(locked.headers['retry-after'], '12')
  t.equal((await postSession(app, { email, password }, { cookie: device })).statusCode, 200)
  time.ms += 12_000
  t.equal((await postSession(app, { email, password })).statusCode, 200)
})

t.test('counts the failures of a known browser separately', async (t) => {
  const running = await service(t)
  const { app } = running
  const { email, cookie } = await signInAs(running, 'auditor')
  for (let n = 0; n < 3; n++) await postSession(app, { email, password: wrong }, { cookie })
  t.equal((await postSession(app, { email, password }, { cookie })).json().error.code, 42902)
  t.equal((await postSession(app, { email, password })).statusCode, 200)
})

t.test('counts wrong passwords in the log, so that a restart keeps the count', async (t) => {
  const running = await service(t)
  const { email } = await signInAs(running, 'auditor')
  for (let n = 0; n < 3; n++) await postSession(running.app, { email, password: wrong })
  await running.stop()
  const { path, masterKey, options } = running
  const again = await startTestService({ ...options, path, masterKey })
  t.teardown(() => again.stop())
  t.equal((await postSession(again.app, { email, password })).json().error.code, 42902)
})

t.test('delays an unknown email like a known one, and records nothing', async (t) => {
  const running = await service(t)
  const { app, store } = running
  const { email } = await signInAs(running, 'auditor')
  const ask = async (account: string) => {
    const response = await postSession(app, { email: account, password: wrong })
    return [response.statusCode, response.json(), response.headers['retry-after'], response.headers['set-cookie']]
  }
  const count = async () => (await store.readAll({ maxCount: 1_000 })).events.length
  for (let n = 0; n < 5; n++) {
    const known = await ask(email)
    const before = await count()
    t.strictSame(await ask('unknown@example.com'), known, `attempt ${n + 1}`)
    t.equal(await count(), before)
  }
})

t.test('allows an address thirty passwords, then one every two seconds', async (t) => {
  const { app } = await service(t)
  const ask = (n: number, address: string) =>
    postSession(app, { email: `unknown-${n}@example.com`, password: wrong }, { address })
  const responses: number[] = []
  for (let n = 0; n < 100 && !responses.includes(429); n++) responses.push((await ask(n, '192.0.2.1')).statusCode)
  t.strictSame(responses.slice(0, 30), Array(30).fill(400))
  t.ok(responses.includes(429))
  t.equal((await ask(40, '192.0.2.2')).statusCode, 400)
})

t.test('neither the log nor a log line contains a password, an email or a code', async (t) => {
  const running = await service(t)
  const { email, session } = await signInAs(running, 'auditor')
  await postSession(running.app, { email, password: wrong, code: '135790' })
  const { events } = await running.store.readAll({ maxCount: 1_000 })
  const recorded = JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  const written = running.logLines.join('\n')
  for (const secret of [password, wrong, email, '135790', session.csrfToken]) {
    t.notOk(recorded.includes(secret), secret)
    t.notOk(written.includes(secret), secret)
  }
})
