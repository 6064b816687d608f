import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { UserDirectory } from '../../../src/commands/user/user-commands.js'
import { isAllowed, isMerchantRole, permissions, type Role, roles } from '../../../src/domain/user/permissions.js'
import { password, postSession, signIn, signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService, type TestService } from '../../support/test-service.js'

const api = '/dashboard/api'
const origin = 'https://pay.example'
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const codes = { notSignedIn: 40102, crossSite: 40303, csrf: 40305, permissionMissing: 40306 }

interface Answer {
  readonly status: number
  /** The error code, or `undefined` for a success or a response without a body. */
  readonly code: number | undefined
}

// The clock advances a second at each reading, so that hundreds of rejected requests do not exceed a rate limit.
let seconds = 0
const running = await startTestService({ projections: true, overrides: { monotonicMs: () => ++seconds * 1_000 } })
t.teardown(() => destroyTestService(running))
const { app } = running

type Route = TestService['app']['knownRoutes'][number]

function routesOf(app: FastifyInstance): readonly Route[] {
  return app.knownRoutes.filter(({ url }) => url.startsWith(`${api}/`))
}

const isSignIn = ({ method, url }: Route) => method === 'POST' && url === `${api}/session`
const isChange = ({ method }: Route) => method !== 'GET' && method !== 'HEAD'

/** Sends a request with unknown ids and no fields, so that an allowed request changes nothing. */
async function ask(
  app: FastifyInstance,
  { method, url }: Route,
  headers: { readonly [name: string]: string },
): Promise<Answer> {
  const response = await app.inject({
    method: method as 'GET',
    url: url.replaceAll(/:\w+/g, () => randomUUID()),
    headers,
    ...(method !== 'GET' && method !== 'HEAD' && method !== 'DELETE' && { payload: {} }),
    // Some responses are endless streams.
    payloadAsStream: true,
  })
  const { statusCode: status } = response
  const stream = response.stream()
  if (method === 'HEAD' || !String(response.headers['content-type']).startsWith('application/json')) {
    stream.destroy()
    return { status, code: undefined }
  }
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return { status, code: JSON.parse(text).error?.code }
}

async function signInAllRoles() {
  const { id } = await running.merchant()
  const sessions = new Map<Role, Awaited<ReturnType<typeof signInAs>>>()
  for (const role of roles) sessions.set(role, await signInAs(running, role, isMerchantRole(role) ? [id] : undefined))
  return sessions
}

t.test(
  'every dashboard route requires a permission, every permission has a route, and other routes require none',
  async (t) => {
    const routes = routesOf(app)
    t.ok(routes.length >= 20)
    for (const route of routes) {
      if (isSignIn(route)) t.equal(route.permission, undefined)
      else t.ok(route.permission, `${route.method} ${route.url}`)
    }
    const requested = new Set<string | undefined>(routes.map(({ permission }) => permission))
    for (const each of Object.keys(permissions)) t.ok(requested.has(each), each)
    for (const { url, permission } of app.knownRoutes)
      if (!url.startsWith(`${api}/`)) t.equal(permission, undefined, `${url} needs no sign-in`)
  },
)

t.test('allows each role the routes of its permissions, and unauthenticated users none', async (t) => {
  const sessions = await signInAllRoles()
  for (const route of routesOf(app)) {
    const name = `${route.method} ${route.url}`
    if (isSignIn(route)) continue
    const unauthenticated = await ask(app, route, { origin, 'x-csrf-token': 'x' })
    t.equal(unauthenticated.status, 401, `${name}: unauthenticated`)
    if (route.method !== 'HEAD') t.equal(unauthenticated.code, codes.notSignedIn, `${name}: unauthenticated`)
    for (const [role, { cookie, csrfToken, email }] of sessions) {
      const { status, code } = await ask(app, route, { cookie, origin, 'x-csrf-token': csrfToken })
      if (!isAllowed(role, route.permission!)) {
        t.equal(status, 403, `${name}: ${role}`)
        if (route.method !== 'HEAD') t.equal(code, codes.permissionMissing, `${name}: ${role}`)
        continue
      }
      t.ok(status !== 401 && status !== 403 && status < 500, `${name}: ${role} gets ${status}`)
      // Some routes end the session.
      const still = await app.inject({ url: `${api}/session`, headers: { cookie } })
      if (still.statusCode === 401)
        sessions.set(role, { ...sessions.get(role)!, ...(await signIn(app, { email, password })) })
    }
  }
})

t.test('rejects an unknown field by name before it reaches a command', async (t) => {
  const sessions = await signInAllRoles()
  const changes = routesOf(app).filter(({ schema }) => schema?.body)
  t.ok(changes.length >= 20)
  for (const { method, url, permission } of changes) {
    const role = roles.find((each) => permission === undefined || isAllowed(each, permission))
    const { cookie, csrfToken } = sessions.get(role!)!
    const response = await app.inject({
      method: method as 'POST',
      url: url.replaceAll(/:\w+/g, () => randomUUID()),
      headers: { cookie, origin, 'x-csrf-token': csrfToken },
      payload: { unheardOf: 'ErasePersonalData' },
    })
    t.equal(response.statusCode, 400, `${method} ${url}`)
    const { validationErrors } = response.json<{ error: { validationErrors: { message: string }[] } }>().error
    const messages = validationErrors.map(({ message }) => message)
    t.ok(messages.includes('unheardOf is not a field of this request.'), `${method} ${url}: ${messages}`)
  }
})

t.test('rejects every change without the session token or from a different origin', async (t) => {
  const sessions = await signInAllRoles()
  const changes = routesOf(app).filter(isChange)
  t.ok(changes.length >= 12)
  for (const route of changes) {
    const name = `${route.method} ${route.url}`
    const role = roles.find((each) => route.permission === undefined || isAllowed(each, route.permission))
    const { cookie, csrfToken } = sessions.get(role!)!
    const refused = async (headers: { readonly [name: string]: string }) =>
      (await ask(app, route, { cookie, ...headers })).code
    for (const elsewhere of ['https://evil.example', 'null', 'http://pay.example', `${origin}.evil.example`])
      t.equal(await refused({ origin: elsewhere, 'x-csrf-token': csrfToken }), codes.crossSite, `${name} ${elsewhere}`)
    for (const site of ['cross-site', 'same-site', 'none'])
      t.equal(await refused({ 'sec-fetch-site': site, 'x-csrf-token': csrfToken }), codes.crossSite, `${name} ${site}`)
    if (isSignIn(route)) continue
    const another = sessions.get(role === 'auditor' ? 'administrator' : 'auditor')!.csrfToken
    for (const token of [undefined, '', 'x', another, `${csrfToken}x`]) {
      const header = token === undefined ? {} : { 'x-csrf-token': token }
      t.equal(await refused({ origin, ...header }), codes.csrf, `${name} with another token`)
    }
    t.equal(
      (await app.inject({ url: `${api}/session`, headers: { cookie } })).statusCode,
      200,
      `${name} changed nothing`,
    )
  }
})

t.test('rejects a disabled or reset user on every route immediately, even on other nodes', async (t) => {
  const { users, store } = running
  const elsewhere = new UserDirectory(store, () => {})
  await elsewhere.start()
  t.teardown(() => elsewhere.stop())
  const other = await running.otherNode({ userDirectory: elsewhere })
  await signInAs(running, 'administrator')
  for (const end of ['disable', 'reset'] as const) {
    const user = await signInAs(running, 'administrator')
    const { cookie, csrfToken } = user
    const headers = { cookie, origin, 'x-csrf-token': csrfToken }
    const seen = (node: FastifyInstance) => node.inject({ url: `${api}/session`, headers })
    await elsewhere.catchUp()
    t.equal((await seen(other)).statusCode, 200, 'every node accepts the session')
    t.ok((await users[end](user.userId, context)).accepted)
    const routes = routesOf(app).filter((route) => !isSignIn(route))
    // The other node comes first, because a change waits until its own node has read the log.
    for (const route of routes.filter(isChange))
      t.equal((await ask(other, route, headers)).status, 401, `${end}, other node: ${route.method} ${route.url}`)
    for (const node of [app, other]) {
      for (const route of routes)
        t.equal((await ask(node, route, headers)).status, 401, `${end}: ${route.method} ${route.url}`)
    }
    t.equal((await postSession(app, { email: user.email, password })).statusCode, 400)
  }
})
