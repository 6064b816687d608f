import t, { type Test } from 'tap'
import { password, postSession, signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService, type TestServiceOptions } from '../../support/test-service.js'

async function service(t: Test, options: TestServiceOptions = {}) {
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  return started
}

t.test('returns the user at sign-in, with a cookie that no page can read or send from a different site', async (t) => {
  const running = await service(t)
  const { id } = await running.merchant({ name: 'Blue Shop' })
  await running.merchant({ name: 'Red Shop' })
  const operator = await signInAs(running, 'operator', [id])
  const { session } = operator
  t.match(session, {
    user: { email: operator.email, role: 'operator', merchantIds: [id], hasSecondFactor: false },
    mustChangePassword: false,
    merchants: [{ merchantId: id, name: 'Blue Shop', sandbox: true }],
    currency: { code: 'TRY', digits: 2 },
    sandbox: true,
  })
  t.equal(session.merchants.length, 1, 'the session contains no other merchants')
  t.notOk(session.permissions.includes('users:manage'))
  const again = await postSession(running.app, { email: operator.email.toUpperCase(), password })
  const cookie = [again.headers['set-cookie']].flat().find((line) => line?.startsWith('__Host-transferd='))
  t.match(cookie, /; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  t.notMatch(cookie, /Domain|Max-Age|Expires/)
  t.notOk(operator.cookie.includes(cookie!.split(';')[0]!), 'each sign-in has a separate session')
  t.strictSame((await operator.get('/session')).json(), session)
})

t.test('responds identically to an unknown user and a wrong password', async (t) => {
  const running = await service(t)
  const { email } = await signInAs(running, 'auditor')
  const wrong = await postSession(running.app, { email, password: 'wrong password' })
  const unknown = await postSession(running.app, { email: 'unknown@example.com', password })
  const malformed = await postSession(running.app, { email: 'not-an-email', password })
  for (const response of [wrong, unknown, malformed]) {
    t.equal(response.statusCode, 400)
    t.strictSame(response.json(), wrong.json())
    t.equal(response.headers['set-cookie'], undefined)
  }
  t.equal((await running.app.inject('/dashboard/api/session')).statusCode, 401)
})

t.test('rejects a sign-in from a different site', async (t) => {
  const running = await service(t)
  const { email } = await signInAs(running, 'auditor')
  const response = await postSession(running.app, { email, password }, { origin: 'https://pay.example.evil' })
  t.equal(response.json().error.code, 40303)
})

t.test('signing out ends only this session', async (t) => {
  const running = await service(t)
  const one = await signInAs(running, 'administrator')
  const other = await signInAs(running, 'administrator')
  t.equal((await one.delete('/session')).statusCode, 204)
  t.equal((await one.get('/session')).statusCode, 401)
  t.equal((await other.get('/session')).statusCode, 200)
})

t.test(
  'a session ends after half an hour without activity, and after twelve hours regardless of activity',
  async (t) => {
    const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
    const running = await service(t, { clock: () => new Date(time.ms).toISOString() })
    const minute = 60_000
    const idle = await signInAs(running, 'auditor')
    const busy = await signInAs(running, 'auditor')
    const end = time.ms + 12 * 60 * minute
    time.ms += 30 * minute - 1
    t.equal((await busy.get('/session')).statusCode, 200)
    t.equal((await idle.get('/session')).statusCode, 200)
    while (time.ms + 29 * minute < end) {
      time.ms += 29 * minute
      t.equal((await busy.get('/session')).statusCode, 200)
    }
    t.equal((await idle.get('/session')).statusCode, 401)
    time.ms = end - 1
    t.equal((await busy.get('/session')).statusCode, 200)
    time.ms = end
    t.equal((await busy.get('/session')).statusCode, 401)
  },
)

t.test('disabling, resetting, a new role and signing out everywhere end the sessions immediately', async (t) => {
  const running = await service(t)
  await signInAs(running, 'administrator')
  const context = { actor: 'test', $correlationId: 'c', $causationId: 'c' }
  const { users } = running
  const endings = {
    disabled: (userId: string) => users.disable(userId, context),
    reset: (userId: string) => users.reset(userId, context),
    'another role': (userId: string) => users.changeRole(userId, { role: 'operations', merchantIds: null }, context),
    'signed out everywhere': (userId: string) => users.execute(userId, { type: 'EndSessions' }, context),
  }
  for (const [what, end] of Object.entries(endings)) {
    const user = await signInAs(running, 'auditor')
    t.equal((await user.get('/session')).statusCode, 200)
    t.ok((await end(user.userId)).accepted, what)
    t.equal((await user.get('/session')).statusCode, 401, what)
    t.equal((await user.delete('/session')).statusCode, 401, what)
  }
})

t.test('rejects a change without the session token or from a different origin', async (t) => {
  const running = await service(t)
  const one = await signInAs(running, 'auditor')
  const other = await signInAs(running, 'auditor')
  const ask = (headers: { readonly [name: string]: string }) =>
    running.app.inject({ method: 'DELETE', url: '/dashboard/api/session', headers: { cookie: one.cookie, ...headers } })
  const origin = 'https://pay.example'
  t.equal((await ask({ origin })).json().error.code, 40305)
  t.equal((await ask({ origin, 'x-csrf-token': other.csrfToken })).json().error.code, 40305)
  t.equal((await ask({ origin: 'null', 'x-csrf-token': one.csrfToken })).json().error.code, 40303)
  t.equal((await ask({ 'sec-fetch-site': 'same-site', 'x-csrf-token': one.csrfToken })).json().error.code, 40303)
  t.equal((await one.get('/session')).statusCode, 200)
})
