import { randomUUID } from 'node:crypto'
import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { isAllowed, isMerchantRole, type Permission, type Role, roles } from '../../src/domain/user/permissions.js'
import { password, signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const minute = 60_000
const recentSignInNeeded = 40307
const context = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }

async function service(t: Test) {
  const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
  let elapsedMs = 0
  // The clock of the rates advances a minute at each reading, so that no rate limit rejects a request.
  const monotonicMs = () => {
    elapsedMs += minute
    return elapsedMs
  }
  const options = { clock: () => new Date(time.ms).toISOString(), overrides: { monotonicMs } }
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  return { ...started, time }
}

type Running = Awaited<ReturnType<typeof service>>
type SignedIn = Awaited<ReturnType<typeof signInAs>>

async function signInAllRoles(running: Running) {
  const { id } = await running.merchant()
  const sessions = new Map<Role, SignedIn>()
  for (const role of roles) sessions.set(role, await signInAs(running, role, isMerchantRole(role) ? [id] : undefined))
  return sessions
}

/** The permissions under which a change moves no money, or whose routes declare the recent sign-in themselves. */
const otherPermissions: ReadonlySet<Permission | undefined> = new Set([
  // Claiming, cancelling and recording returns pay nothing. Paying declares a recent sign-in for large payments.
  ...(['transfers:settle', 'callbacks:resend', 'endpoints:manage', 'operations:manage', 'audit:verify'] as const),
  // A disclosure is approved with a recent sign-in.
  'audit:evidence',
  // The second factor and the recovery codes declare it. A new password requires both factors itself.
  'account:own',
])

t.test('no change that concerns money or access lacks a recent sign-in', async (t) => {
  const { app } = await service(t)
  const changes = app.knownRoutes.filter(
    ({ url, method, permission }) => permission && url.startsWith('/dashboard/api/') && !/GET|HEAD/.test(method),
  )
  t.ok(changes.length > 40)
  for (const { method, url, permission, recent } of changes) {
    const isOther = otherPermissions.has(permission)
    if (!isOther) t.equal(recent, 'always', `${method} ${url}`)
  }
  const declared = changes.filter(({ recent }) => recent !== undefined)
  const named = (wanted: string) =>
    declared.filter(({ recent }) => recent === wanted).map(({ method, url }) => `${method} ${url.slice(14)}`)
  t.strictSame(named('large payments').sort(), [
    'POST /bank/files',
    'POST /bank/uses',
    'POST /transfers/:trackingId/complete',
    'POST /transfers/:trackingId/correct',
    'POST /transfers/:trackingId/pay-again',
    'POST /transfers/:trackingId/refund',
    'POST /transfers/:trackingId/return',
    'POST /withdrawals/bank-file',
    'POST /withdrawals/complete',
  ])
  for (const route of [
    ...['POST /transfers/:trackingId/approve', 'POST /transfers/:trackingId/reopen'],
    ...['PATCH /merchants/:merchantId', 'POST /merchants/:merchantId/suspend', 'POST /merchants/:merchantId/resume'],
    ...['POST /merchants/:merchantId/keys', 'POST /merchants/:merchantId/confirm-threshold'],
    ...['PUT /users/:userId/role', 'POST /users', 'POST /users/:userId/reset', 'POST /users/:userId/confirm'],
    ...['POST /audit/evidence/:trackingId/disclosure/decision', 'POST /privacy/erase'],
    ...['POST /audit/resume-payouts', 'POST /session/recovery-codes', 'PUT /session/second-factor'],
  ]) {
    t.ok(named('always').includes(route), route)
  }
})

t.test(
  'every route that declares a recent sign-in rejects a session of ten minutes, before it reads the body',
  async (t) => {
    const running = await service(t)
    const { app, time } = running
    const sessions = await signInAllRoles(running)
    const routes = app.knownRoutes.filter(({ url, permission }) => permission && url.startsWith('/dashboard/api/'))
    const ask = async ({ method, url, permission }: (typeof routes)[number]) => {
      const { cookie, csrfToken } = sessions.get(roles.find((role) => isAllowed(role, permission!))!)!
      const response = await app.inject({
        method: method as 'POST',
        url: url.replaceAll(/:\w+/g, () => randomUUID()),
        headers: { cookie, origin: 'https://pay.example', 'x-csrf-token': csrfToken },
        ...(method !== 'DELETE' && { payload: { unheardOf: true } }),
      })
      return response.json<{ error: { code: number } | null }>().error?.code
    }
    const always = routes.filter(({ recent }) => recent === 'always')
    t.ok(always.length > 20)
    time.ms += 10 * minute - 1
    for (const route of always.filter(({ method }) => method !== 'DELETE'))
      t.not(await ask(route), recentSignInNeeded, `${route.method} ${route.url} while the sign-in is recent`)
    time.ms += 1
    for (const route of always) t.equal(await ask(route), recentSignInNeeded, `${route.method} ${route.url}`)
    const others = routes.filter(
      ({ recent, method, schema }) => recent !== 'always' && method !== 'GET' && schema?.body,
    )
    for (const route of others)
      t.not(await ask(route), recentSignInNeeded, `${route.method} ${route.url} needs no recent sign-in as such`)
  },
)

t.test('approving needs the same recent sign-in as completing, and paying above the threshold too', async (t) => {
  const running = await service(t)
  const { app, time, merchants } = running
  const { id, secretKey, webApiKey } = await running.merchant({ approvalAboveMinor: 100_00n })
  const approver = await signInAs(running, 'approver', [id])
  const operator = await signInAs(running, 'operator', [id])
  const body = createBody('withdrawal', secretKey, { accountNumber: 'DE89370400440532013000' })
  const { trackingId } = (await post(app, paths.withdrawal, body, { key: webApiKey })).json().result
  t.equal((await operator.post(`/transfers/${trackingId}/claim`, { revision: 0 })).statusCode, 200)
  time.ms += 10 * minute
  const codeOf = async (response: ReturnType<SignedIn['post']>) => (await response).json().error?.code
  const approve = () => approver.post(`/transfers/${trackingId}/approve`, { revision: 1 })
  t.equal(await codeOf(approve()), recentSignInNeeded)
  t.equal((await approver.post('/session/confirm', { password })).statusCode, 200)
  t.equal((await approve()).statusCode, 200)
  const items = [{ trackingId, revision: 2 }]
  for (const [path, request] of [
    [`/transfers/${trackingId}/complete`, { revision: 2 }],
    ['/withdrawals/complete', { items }],
    ['/withdrawals/bank-file', { format: 'csv', trackingIds: [trackingId] }],
  ] as const) {
    t.equal(await codeOf(operator.post(path, request)), recentSignInNeeded, path)
  }
  t.ok(
    (await merchants.execute(id, { type: 'ChangeSettings', changes: { approvalAboveMinor: null } }, context)).accepted,
  )
  await running.until(() => running.directory.byId(id)?.settings.approvalAboveMinor === null)
  t.equal((await operator.post(`/transfers/${trackingId}/complete`, { revision: 2 })).statusCode, 200)
})

t.test('changing the password asks for the second factor, and makes nothing recent', async (t) => {
  const running = await service(t)
  const { time, app } = running
  const user = await signInAs(running, 'administrator')
  const { secret } = (await user.post('/session/second-factor')).json()
  const codeAt = (ms = time.ms) => new TOTP({ secret }).generate({ timestamp: ms })
  t.equal((await user.put('/session/second-factor', { code: codeAt() })).statusCode, 200)
  time.ms += 10 * minute
  const next = 'another good password'
  const change = (request: object) => user.put('/session/password', { current: password, next, ...request })
  t.equal((await change({})).json().error.code, 40103)
  t.equal((await change({ code: '000000' })).json().error.code, 40012)
  t.equal((await change({ next: 'Password2026!', code: codeAt() })).json().error.code, 40001)
  const changed = await change({ code: codeAt() })
  t.equal(changed.statusCode, 200, 'a rejected password uses up no code')
  const { csrfToken, recentUntil } = changed.json()
  t.equal(recentUntil, new Date(time.ms).toISOString(), 'the time of the sign-in is kept')
  const cookie = changed.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const headers = { cookie, origin: 'https://pay.example', 'x-csrf-token': csrfToken }
  const payload = { email: 'a@example.com', name: 'A', role: 'auditor' }
  const created = await app.inject({ method: 'POST', url: '/dashboard/api/users', headers, payload })
  t.equal(created.json().error.code, recentSignInNeeded)
  time.ms += minute
  const confirm = { method: 'POST', url: '/dashboard/api/session/confirm', headers } as const
  t.equal((await app.inject({ ...confirm, payload: { password: next, code: codeAt() } })).statusCode, 200)
})
