import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { password, postSession, signIn, signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

async function service(t: Test) {
  const started = await startTestService()
  t.teardown(() => destroyTestService(started))
  return started
}

type SignedIn = Awaited<ReturnType<typeof signInAs>>

async function revisionOf({ get }: SignedIn, userId: string): Promise<number> {
  const { items } = (await get('/users')).json<{ items: readonly { userId: string; revision: number }[] }>()
  return items.find((user) => user.userId === userId)!.revision
}

t.test('an administrator creates users, changes their roles, and ends their sessions', async (t) => {
  const running = await service(t)
  const { id } = await running.merchant()
  const admin = await signInAs(running, 'administrator')
  const email = 'Ada@Example.com'
  const created = await admin.post('/users', { email, name: 'Ada', role: 'operator', merchantIds: [id, id] })
  const { user, password: first } = created.json()
  t.match(user, { email: 'ada@example.com', role: 'operator', merchantIds: [id], mustChangePassword: true })
  t.match(first, /^[a-z2-9]{20}$/)
  const { userId } = user
  const listed = (await admin.get('/users')).json().items
  t.match(listed[0], { userId, disabled: false, lastSignInAt: null })

  const session = await signIn(running.app, { email, password: first })
  t.equal((await admin.get(`/users/${userId}/sessions`)).json().items.length, 1)
  t.equal((await admin.delete(`/users/${userId}/sessions`)).statusCode, 204)
  t.equal((await session.get('/session')).statusCode, 401)

  const seen = async () => ({ revision: await revisionOf(admin, userId) })
  const role = await admin.put(`/users/${userId}/role`, { role: 'auditor', ...(await seen()) })
  t.match(role.json(), { role: 'auditor', merchantIds: null })
  t.match((await admin.post(`/users/${userId}/disable`)).json(), { disabled: true })
  t.equal((await postSession(running.app, { email, password: first })).json().error.code, 40012)
  t.match((await admin.post(`/users/${userId}/enable`, await seen())).json(), { disabled: false })
  const reset = (await admin.post(`/users/${userId}/reset`)).json()
  t.not(reset.password, first)
  t.equal((await postSession(running.app, { email, password: reset.password })).statusCode, 200)
  const events = await running.store.readStream(`user-${userId}`)
  t.strictSame(
    events.map(({ type, metadata }) => [type, metadata.actor === `user:${admin.userId}`]),
    [
      ['UserCreated', true],
      ['UserSignedIn', false],
      ['UserSessionsEnded', true],
      ['UserRoleChanged', true],
      ['UserDisabled', true],
      ['UserEnabled', true],
      ['UserPasswordSet', true],
      ['UserSignedIn', false],
    ],
  )
  const recorded = running.logLines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'security.user_changed')
  t.match(recorded[0], { userId: admin.userId, subject: userId, change: 'created' })
  t.equal(recorded.length, 6)
})

t.test('rejects invalid input and names its field', async (t) => {
  const running = await service(t)
  const { id } = await running.merchant()
  const admin = await signInAs(running, 'administrator')
  const refused: [object, string][] = [
    [{ email: 'not-an-email', name: 'A', role: 'auditor' }, 'email'],
    [{ email: 'a@example.com', name: ' ', role: 'auditor' }, 'name'],
    [{ email: 'a@example.com', name: 'A\u202eB', role: 'auditor' }, 'name'],
    [{ email: 'a@example.com', name: 'A', role: 'king' }, 'role'],
    [{ email: 'a@example.com', name: 'A', role: 'operator' }, 'merchantIds'],
    [{ email: 'a@example.com', name: 'A', role: 'auditor', merchantIds: [id] }, 'merchantIds'],
    [{ email: 'a@example.com', name: 'A', role: 'operator', merchantIds: [randomUUID()] }, 'merchantIds'],
  ]
  for (const [body, field] of refused) {
    const { error } = (await admin.post('/users', body)).json()
    t.equal(error.code, 40001, JSON.stringify(body))
    t.ok(
      error.validationErrors.some(({ members }: { members: string[] }) => members.includes(field)),
      field,
    )
  }
  t.equal((await admin.get('/users')).json().items.length, 1)
  const taken = await admin.post('/users', { email: admin.email.toUpperCase(), name: 'A', role: 'auditor' })
  t.match(taken.json().error, { code: 40912, details: /already in use/ })
  const unknown = `/users/${randomUUID()}`
  for (const path of [`${unknown}/disable`, `${unknown}/enable`, `${unknown}/reset`])
    t.equal((await admin.post(path, { revision: 0 })).json().error.code, 40404, path)
  t.equal((await admin.get(`${unknown}/sessions`)).json().error.code, 40404)
})

t.test('the last administrator keeps the role', async (t) => {
  const running = await service(t)
  const one = await signInAs(running, 'administrator')
  const other = await signInAs(running, 'administrator')
  t.equal((await one.put(`/users/${other.userId}/role`, { role: 'auditor', revision: 1 })).statusCode, 200)
  t.equal((await one.post(`/users/${one.userId}/disable`)).json().error.code, 40912)
  t.equal((await one.put(`/users/${one.userId}/role`, { role: 'auditor', revision: 1 })).json().error.code, 40912)
  t.equal((await one.get('/session')).statusCode, 200)
})

t.test('creates only one of two concurrent users with the same email', async (t) => {
  const running = await service(t)
  const admin = await signInAs(running, 'administrator')
  const body = { email: 'twin@example.com', name: 'Twin', role: 'auditor' }
  const responses = await Promise.all([1, 2, 3].map(() => admin.post('/users', body)))
  t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [200, 409, 409])
  const { password: issued } = responses.find(({ statusCode }) => statusCode === 200)!.json()
  t.equal((await postSession(running.app, { email: body.email, password: issued })).statusCode, 200)
  t.equal((await postSession(running.app, { email: body.email, password })).statusCode, 400)
})
