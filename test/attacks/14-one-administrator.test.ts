import t, { type Test } from 'tap'
import type { Role } from '../../src/domain/user/permissions.js'
import type { Session, UserItem } from '../../src/http/dashboard/api.js'
import { runCli } from '../cli/in-process.js'
import { password, postSession, signIn, signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const operatorContext = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }
const secondAdministratorNeeded = { code: 40912, rule: 'second-administrator-needed' }

async function service(t: Test) {
  const started = await startTestService()
  t.teardown(() => destroyTestService(started))
  const { id, secretKey, webApiKey } = await started.merchant({ approvalAboveMinor: 10_00n })
  const alice = await signInAs(started, 'administrator')
  return { ...started, id, secretKey, webApiKey, alice }
}

type Running = Awaited<ReturnType<typeof service>>
type SignedIn = Awaited<ReturnType<typeof signInAs>>

let numbered = 0

/** Returns the revision that the list of users shows. */
async function revisionOf({ get }: Pick<SignedIn, 'get'>, userId: string): Promise<number> {
  const { items } = (await get('/users')).json<{ items: readonly UserItem[] }>()
  return items.find((user) => user.userId === userId)!.revision
}

/** Sends an action on a user as the list shows it now. */
async function act(by: SignedIn, userId: string, action: 'confirm' | 'enable') {
  return by.post(`/users/${userId}/${action}`, { revision: await revisionOf(by, userId) })
}

async function changeRole(by: SignedIn, userId: string, change: object) {
  return by.put(`/users/${userId}/role`, { ...change, revision: await revisionOf(by, userId) })
}

async function changeMerchant(by: SignedIn, id: string, change: object) {
  return by.patch(`/merchants/${id}`, { ...change, revision: (await by.get(`/merchants/${id}`)).json().revision })
}

async function confirmThreshold(by: SignedIn, id: string) {
  const { revision } = (await by.get(`/merchants/${id}`)).json()
  return by.post(`/merchants/${id}/confirm-threshold`, { revision })
}

/** Creates a user on the dashboard. Returns the id, the initial password, and the administrators that hold the access. */
async function create(admin: SignedIn, role: Role, merchantIds?: string[]) {
  const email = `user-${++numbered}@example.com`
  const response = await admin.post('/users', { email, name: `User ${numbered}`, role, merchantIds })
  const { user, password: first } = response.json()
  return { userId: user.userId as string, heldBy: user.heldBy as string[], email, first: first as string }
}

/** Signs in with an initial password and chooses another one. Returns `undefined` if the sign-in is rejected. */
async function resendWanted({ app }: Running, { email, first }: { readonly email: string; readonly first: string }) {
  if ((await postSession(app, { email, password: first })).statusCode !== 200) return undefined
  const session = await signIn(app, { email, password: first })
  const changed = await session.put('/session/password', { current: first, next: password })
  return changed.statusCode === 200 ? signIn(app, { email, password }) : undefined
}

async function withdrawal({ app, secretKey, webApiKey }: Running): Promise<string> {
  const body = createBody('withdrawal', secretKey, { accountNumber: 'DE89370400440532013000' })
  return (await post(app, paths.withdrawal, body, { key: webApiKey })).json().result.trackingId
}

t.test('one administrator cannot pay a withdrawal with users that they create', async (t) => {
  const running = await service(t)
  const { id, alice, app, users } = running
  const trackingId = await withdrawal(running)
  const operator = (await resendWanted(running, await create(alice, 'operator', [id])))!
  t.ok(operator, 'an operator alone pays nothing above the threshold')
  t.equal((await operator.post(`/transfers/${trackingId}/claim`, { revision: 0 })).statusCode, 200)
  t.equal((await operator.post(`/transfers/${trackingId}/complete`, { revision: 1 })).json().error.code, 40924)

  const approver = await create(alice, 'approver', [id])
  t.strictSame(approver.heldBy, ['The administrator'])
  t.equal(await resendWanted(running, approver), undefined, 'the approver cannot sign in')
  t.match((await act(alice, approver.userId, 'confirm')).json().error, secondAdministratorNeeded)
  const accomplice = await create(alice, 'administrator')
  t.equal(await resendWanted(running, accomplice), undefined, 'nor can another administrator that they create')
  t.match((await act(alice, accomplice.userId, 'confirm')).json().error, secondAdministratorNeeded)
  t.equal(
    (await alice.post(`/users/${alice.userId}/disable`)).json().error.code,
    40912,
    'a held one does not replace her',
  )

  const bob = await signInAs(running, 'administrator')
  const confirmed = await act(bob, approver.userId, 'confirm')
  t.match(confirmed.json(), { userId: approver.userId, heldBy: [] })
  const approving = (await resendWanted(running, approver))!
  t.equal((await approving.post(`/transfers/${trackingId}/approve`, { revision: 1 })).statusCode, 200)
  t.equal((await operator.post(`/transfers/${trackingId}/complete`, { revision: 2 })).statusCode, 200)
  const history = (await users.history(approver.userId)).map(({ event }) => event.type)
  t.strictSame(history.slice(0, 3), ['UserCreated', 'UserAccessHeld', 'UserAccessConfirmed'])
  t.ok(running.logLines.some((line) => line.includes('"change":"access-confirmed"')))
  t.equal((await app.inject('/health/live')).statusCode, 200)
})

t.test('every other way to the access of an approver is held, too', async (t) => {
  const running = await service(t)
  const { id, alice, users } = running
  const { id: free } = await running.merchant({ approvalAboveMinor: null })
  const bob = await signInAs(running, 'administrator')
  const made = async (role: Role, merchantIds?: string[]) => {
    const created = await create(bob, role, merchantIds)
    await act(alice, created.userId, 'confirm')
    return { ...created, session: (await resendWanted(running, created))! }
  }
  const heldAfter = async (response: ReturnType<SignedIn['post']>) => {
    const body = (await response).json()
    return (body.user ?? body).heldBy as string[] | undefined
  }
  const isSignedIn = async ({ get }: Pick<SignedIn, 'get'>) => (await get('/session')).statusCode === 200

  const operator = await made('operator', [id])
  const raise = { role: 'approver', merchantIds: [id] }
  t.strictSame(await heldAfter(changeRole(alice, operator.userId, raise)), ['The administrator'], 'a new role')
  t.equal((await postSession(running.app, { email: operator.email, password })).json().error.code, 40012)

  const approver = await made('approver', [id])
  t.ok(await isSignedIn(approver.session))
  t.equal((await heldAfter(alice.post(`/users/${approver.userId}/reset`)))?.length, 1, 'a reset')
  t.notOk(await isSignedIn(approver.session))
  await act(bob, approver.userId, 'confirm')
  t.strictSame(await heldAfter(alice.post(`/users/${approver.userId}/disable`)), [])
  t.equal((await heldAfter(act(alice, approver.userId, 'enable')))?.length, 1, 'enabling')

  const elsewhere = await made('approver', [free])
  t.strictSame(elsewhere.heldBy, [], 'no confirmation without a threshold')
  const both = { role: 'approver', merchantIds: [free, id] }
  t.equal((await heldAfter(changeRole(alice, elsewhere.userId, both)))?.length, 1, 'a merchant with a threshold')
  await act(bob, elsewhere.userId, 'confirm')
  const fewer = { role: 'approver', merchantIds: [id] }
  t.strictSame(await heldAfter(changeRole(alice, elsewhere.userId, fewer)), [], 'fewer merchants')
  t.equal((await heldAfter(changeRole(alice, alice.userId, raise)))?.length, 1, 'their own role')
  t.notOk(await isSignedIn(alice))

  for (const role of ['viewer', 'operator', 'auditor', 'operations'] as const) {
    const merchantIds = role === 'viewer' || role === 'operator' ? [id] : undefined
    t.strictSame((await create(bob, role, merchantIds)).heldBy, [], role)
  }
  const onMachine = { email: 'op@example.com', name: 'Op', role: 'approver', merchantIds: [id] } as const
  t.match(await users.create(onMachine, operatorContext), { accepted: true, user: { heldBy: [] } })
})

t.test('neither two held changes nor the user themselves can confirm each other', async (t) => {
  const running = await service(t)
  const { id, alice, users } = running
  const bob = await signInAs(running, 'administrator')
  const carol = await signInAs(running, 'administrator')
  const approver = await create(alice, 'approver', [id])
  t.equal((await bob.post(`/users/${approver.userId}/reset`)).statusCode, 200)
  for (const each of [alice, bob])
    t.match((await act(each, approver.userId, 'confirm')).json().error, secondAdministratorNeeded)
  t.match((await act(carol, approver.userId, 'confirm')).json(), { heldBy: [] })

  t.equal((await bob.post(`/users/${carol.userId}/reset`)).statusCode, 200)
  t.equal((await carol.get('/session')).statusCode, 401, 'a reset administrator cannot confirm anything')
  const seen = await revisionOf(bob, carol.userId)
  t.match(await users.confirmAccess(carol.userId, seen, { ...operatorContext, actor: `user:${carol.userId}` }), {
    accepted: false,
    refusal: { rule: 'second-administrator-needed' },
  })
  t.match(await users.confirmAccess(carol.userId, seen, operatorContext), { accepted: true, user: { heldBy: [] } })
})

t.test('one administrator cannot raise or remove the threshold', async (t) => {
  const running = await service(t)
  const { id, alice, directory } = running
  const threshold = () => directory.byId(id)?.settings.approvalAboveMinor
  for (const approvalAboveMinor of [null, 1_000_000]) {
    const changed = await changeMerchant(alice, id, { approvalAboveMinor, name: `Shop ${approvalAboveMinor}` })
    t.match(changed.json(), {
      settings: { approvalAboveMinor: 10_00, name: `Shop ${approvalAboveMinor}` },
      proposedThreshold: { approvalAboveMinor, by: 'The administrator' },
    })
    t.match((await confirmThreshold(alice, id)).json().error, {
      ...{ code: 40913, rule: 'second-administrator-needed' },
    })
    t.equal(threshold(), 10_00n)
  }
  const data = `embedded:${running.path}`
  const key = running.masterKey.toString('hex')
  const environment = { EVENT_STORE_URL: data, READ_MODEL_URL: data, TRANSFERD_MASTER_KEY: key }
  const proposedThreshold = { approvalAbove: 10_000, by: `user:${alice.userId}` }
  const shown = await runCli(running.path, ['merchants', 'show', id, '--json'], environment)
  t.match(JSON.parse(shown.stdout), { approvalAbove: 10, proposedThreshold })
  t.match((await runCli(running.path, ['merchants', 'show', id], environment)).stdout, /proposedThreshold.*10000/)

  const kept = await changeMerchant(alice, id, { approvalAboveMinor: 10_00 })
  t.match(kept.json(), { settings: { approvalAboveMinor: 10_00 }, proposedThreshold: null }, 'a proposal is withdrawn')
  await changeMerchant(alice, id, { approvalAboveMinor: null })
  const bob = await signInAs(running, 'administrator')
  const lower = await changeMerchant(bob, id, { approvalAboveMinor: 5_00 })
  t.match(lower.json(), { settings: { approvalAboveMinor: 5_00 }, proposedThreshold: null }, 'a lower one applies')
  await changeMerchant(alice, id, { approvalAboveMinor: null })
  const confirmed = await confirmThreshold(bob, id)
  t.match(confirmed.json(), { settings: { approvalAboveMinor: null }, proposedThreshold: null })
  t.equal(threshold(), null)
  const session = (await alice.get('/session')).json<Session>()
  t.ok(session.permissions.includes('merchants:manage'))
})
