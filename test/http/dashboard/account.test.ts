import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { password, postSession, signIn, signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

const minute = 60_000

async function service(t: Test) {
  const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
  const started = await startTestService({ clock: () => new Date(time.ms).toISOString() })
  t.teardown(() => destroyTestService(started))
  const codeAt = (secret: string, ms = time.ms) => new TOTP({ secret }).generate({ timestamp: ms })
  return { ...started, time, codeAt }
}

type Running = Awaited<ReturnType<typeof service>>
type SignedIn = Awaited<ReturnType<typeof signInAs>>

/** Sets up a second factor, after which the current code cannot be used again. */
async function withSecondFactor(running: Running, user: SignedIn): Promise<string> {
  const { secret } = (await user.post('/session/second-factor')).json()
  const set = await user.put('/session/second-factor', { code: running.codeAt(secret) })
  if (set.statusCode !== 200) throw new Error(set.body)
  return secret
}

t.test('an initial password only allows choosing a new one, which replaces it', async (t) => {
  const running = await service(t)
  const admin = await signInAs(running, 'administrator')
  const email = 'new@example.com'
  const created = (await admin.post('/users', { email, name: 'New', role: 'auditor' })).json()
  const first = await signIn(running.app, { email, password: created.password })
  t.equal(first.session.mustChangePassword, true)
  for (const path of ['/users', '/sessions']) t.equal((await first.get(path)).json().error.code, 40308, path)
  t.equal((await first.post('/session/confirm', { password: created.password })).json().error.code, 40308)
  t.equal((await first.get('/session')).statusCode, 200)

  const changed = await first.put('/session/password', { current: created.password, next: password })
  t.match(changed.json(), { mustChangePassword: false, user: { email } })
  t.equal((await first.get('/session')).statusCode, 401, 'the previous session ends')
  const cookie = changed.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const users = await running.app.inject({ url: '/dashboard/api/users', headers: { cookie } })
  t.equal(users.statusCode, 200, 'the user stays signed in with a new cookie')
  t.equal((await postSession(running.app, { email, password: created.password })).json().error.code, 40012)
  t.equal((await postSession(running.app, { email, password })).statusCode, 200)
})

t.test('a password change requires the current password and a strong new one, and ends other sessions', async (t) => {
  const running = await service(t)
  const user = await signInAs(running, 'auditor')
  const otherSession = await signIn(running.app, { email: user.email, password })
  const put = (current: string, next: string) => user.put('/session/password', { current, next })
  t.equal((await put('wrong password', 'another good password')).json().error.code, 40012)
  for (const next of ['2brief', 'aaaaaaaaaaaaaaaa', user.email.toUpperCase(), password]) {
    const refused = await put(password, next)
    t.equal(refused.json().error.code, 40001, next)
    t.strictSame(refused.json().error.validationErrors[0].members, ['next'], next)
    t.notOk(refused.body.includes(next), 'the response does not contain the password')
  }
  t.equal((await otherSession.get('/session')).statusCode, 200)
  t.equal((await put(password, 'another good password')).statusCode, 200)
  t.equal((await otherSession.get('/session')).statusCode, 401)
})

t.test('requires a second factor once it is set, and accepts each code once', async (t) => {
  const running = await service(t)
  const { app, time, codeAt } = running
  const user = await signInAs(running, 'operations')
  const offer = (await user.post('/session/second-factor')).json()
  t.match(offer.uri, `otpauth://totp/pay.example:${encodeURIComponent(user.email)}?issuer=pay.example&`)
  t.equal((await user.put('/session/second-factor', { code: '000000' })).json().error.code, 40001)
  t.equal((await user.get('/session')).json().user.hasSecondFactor, false, 'an unconfirmed offer changes nothing')
  const code = codeAt(offer.secret)
  t.match((await user.put('/session/second-factor', { code })).json(), { user: { hasSecondFactor: true } })
  t.equal(
    (await user.put('/session/second-factor', { code })).json().error.code,
    40912,
    'an offer can be confirmed only once',
  )

  const { email } = user
  t.equal((await postSession(app, { email, password })).json().error.code, 40103)
  t.equal((await postSession(app, { email, password, code })).json().error.code, 40013, 'the code was used before')
  time.ms += minute
  const next = codeAt(offer.secret)
  const both = await Promise.all([1, 2].map(() => postSession(app, { email, password, code: next })))
  t.strictSame(
    both.map(({ statusCode }) => statusCode).sort(),
    [200, 400],
    'accepts one of two concurrent sign-ins with the same code',
  )
  time.ms += 10 * minute
  const late = codeAt(offer.secret, time.ms - 2 * minute)
  t.equal((await postSession(app, { email, password, code: late })).json().error.code, 40012)
})

t.test('allows actions that need a recent sign-in for ten minutes after each password entry', async (t) => {
  const running = await service(t)
  const { time, codeAt } = running
  const user = await signInAs(running, 'administrator')
  const secret = await withSecondFactor(running, user)
  time.ms += 10 * minute - 1
  t.equal((await user.post('/session/second-factor')).statusCode, 200)
  time.ms += 1
  t.equal((await user.post('/session/second-factor')).json().error.code, 40307)
  t.equal((await user.post('/users', { email: 'a@example.com', name: 'A', role: 'auditor' })).json().error.code, 40307)
  t.equal((await user.post('/session/confirm', { password })).json().error.code, 40103)
  t.equal((await user.post('/session/confirm', { password, code: '000000' })).json().error.code, 40012)
  t.equal((await user.post('/session/second-factor')).json().error.code, 40307)
  const confirmed = await user.post('/session/confirm', { password, code: codeAt(secret) })
  t.equal(confirmed.json().recentUntil, new Date(time.ms + 10 * minute).toISOString())
  t.equal((await user.post('/session/second-factor')).statusCode, 200)
  t.match((await user.delete('/session/second-factor')).json(), { user: { hasSecondFactor: false } })
  t.equal((await postSession(running.app, { email: user.email, password })).statusCode, 200)
})

t.test('lists own sessions and ends them individually or together', async (t) => {
  const running = await service(t)
  const { time, app } = running
  const user = await signInAs(running, 'auditor')
  const other = await signInAs(running, 'auditor')
  time.ms += minute
  const otherSession = await signIn(app, { email: user.email, password })
  const { items } = (await user.get('/sessions')).json()
  t.match(items, [
    { current: false, address: '127.0.0.1', createdAt: '2026-03-01T08:01:00.000Z' },
    { current: true, createdAt: '2026-03-01T08:00:00.000Z', lastSeenAt: '2026-03-01T08:01:00.000Z' },
  ])
  t.equal(items[1].expiresAt, '2026-03-01T08:31:00.000Z')
  const foreign = (await other.get('/sessions')).json().items[0].sessionId
  t.equal((await user.delete(`/sessions/${foreign}`)).statusCode, 204)
  t.equal((await other.get('/session')).statusCode, 200, "another user's session continues")
  t.equal((await user.delete(`/sessions/${items[0].sessionId}`)).statusCode, 204)
  t.equal((await otherSession.get('/session')).statusCode, 401)
  const again = await signIn(app, { email: user.email, password })
  t.equal((await user.delete('/sessions')).statusCode, 204)
  for (const each of [user, again]) t.equal((await each.get('/session')).statusCode, 401)
  t.equal((await other.get('/session')).statusCode, 200)
})

t.test('stores no cookie or password, and removes expired sessions', async (t) => {
  const running = await service(t)
  const { time, readModels } = running
  const user = await signInAs(running, 'auditor')
  await user.post('/session/second-factor')
  const stored = async () => JSON.stringify(await readModels.collection('sessions').find({}))
  const token = /__Host-transferd=([^;]+)/.exec(user.cookie)![1]!
  for (const secret of [token, user.csrfToken, password]) t.notOk((await stored()).includes(secret))
  t.equal(await readModels.collection('sessions').countDocuments({}), 1)
  time.ms += 12 * 60 * minute
  await signInAs(running, 'auditor')
  t.equal(await readModels.collection('sessions').countDocuments({}), 1)
})
