import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { createSecurityLog } from '../../src/operations/logging/security-log-writer.js'
import { type SecurityEvent, securityEvents } from '../../src/security/security-log.js'
import { postSession, signInAs } from '../support/dashboard.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const customer = { userName: 'ada@example.com', password: '246813' }
const notOfRequests: readonly SecurityEvent[] = [
  'security.events_login_failed',
  'security.events_throttled',
  'security.operator_command',
  'security.user_changed',
  'security.merchant_changed',
  'security.operations_changed',
  'security.more',
]

type Line = { readonly event?: SecurityEvent; readonly [field: string]: unknown }

async function world(t: Test) {
  const wallet = new MemoryWallet()
  wallet.open(customer.userName, customer.password, 1_000_00n)
  const metrics = new Registry()
  const service = await startTestService({ wallet, overrides: { metrics } })
  t.teardown(() => destroyTestService(service))
  const { logLines } = service
  const lines = () => logLines.map((line) => JSON.parse(line) as Line).filter(({ event }) => event !== undefined)
  return { ...service, wallet, metrics, lines }
}

/** Carries out attacks of every kind. The returned canaries are values that must never be logged. */
async function attack(scene: Awaited<ReturnType<typeof world>>) {
  const { app, merchant, merchants, wallet, until, directory } = scene
  const shop = await merchant({ requireSignature: 'none' })
  const suspended = await merchant({ allowIps: ['127.0.0.1'] })
  await merchants.suspend(suspended.id, context)
  await until(() => directory.byId(suspended.id)?.suspended === true)
  const key = shop.webApiKey
  const guess = `${key.slice(0, -6)}CANARY`
  const native = (fields: object = {}) => createBody('native', shop.secretKey, { ...fields })
  await post(app, paths.native, native(), { key: guess })
  await post(app, paths.native, native(), { key, address: '192.0.2.9' })
  await post(app, paths.native, native(), { key: suspended.webApiKey })
  const reports = { name: 'reports', scopes: ['read'], validUntil: null } as const
  const reading = await merchants.createApiKey(shop.id, reports, context)
  if (!reading.accepted) throw new Error('the key was rejected')
  await post(app, paths.native, native(), { key: reading.webApiKey })
  const wrongHash = 'CA4A21CA4A21CA4A21CA4A21CA4A21CA'
  await post(app, paths.native, native({ hashCode: wrongHash }), { key })
  const signature = `t=${Math.floor(Date.now() / 1000)},v1=${'ca'.repeat(32)}`
  await post(app, paths.native, native(), { key, headers: { 'x-signature': signature } })
  // The texts "1" + "23" and "12" + "3" have the same hash.
  await post(app, paths.native, createBody('native', shop.secretKey, { referenceId: '23' }, '1'), { key })
  await post(app, paths.native, createBody('native', shop.secretKey, { referenceId: '3' }, '12'), { key })
  const { trackingId } = (await post(app, paths.native, native(), { key })).json().result
  const step = async (url: string, body: object) =>
    (await post(app, url, JSON.stringify({ trackingId, ...body }), { key })).json()
  await step(walletPaths.logIn, { ...customer, password: '918273' })
  const { result: token } = await step(walletPaths.logIn, customer)
  const wrongCode = wallet.lastCode() === '554433' ? '554434' : '554433'
  await step(walletPaths.code, { token, code: wrongCode })
  await step(walletPaths.code, { token: `${token}CANARY`, code: wrongCode })
  const hosted = (await post(app, paths.hosted, createBody('hosted', shop.secretKey), { key })).json()
  const page = new URL(hosted.url).pathname
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  await post(app, `${page}/login`, JSON.stringify({ email: 'x', password: '918273' }), { headers })
  const own = { origin: 'https://pay.example', 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const logIn = JSON.stringify({ email: customer.userName, password: '918273' })
  await post(app, `${page}/login`, logIn, { headers: own, contentType: 'application/json' })
  for (let n = 0; n < 6; n++) await post(app, paths.native, native(), { key: guess, address: '198.51.100.7' })
  const viewer = await signInAs(scene, 'viewer', [shop.id])
  await postSession(app, { email: viewer.email, password: 'CANARY password' })
  await viewer.get('/users')
  const { cookie } = viewer
  await app.inject({ method: 'DELETE', url: '/dashboard/api/session', headers: { cookie, 'x-csrf-token': 'CANARY' } })
  const mac = page.split('.').at(-1)!
  const issued = [shop, suspended].flatMap(({ webApiKey, secretKey, webhookSecret }) => [
    webApiKey.slice(-43),
    reading.webApiKey.slice(-43),
    secretKey,
    webhookSecret,
  ])
  return {
    shop,
    trackingId,
    hosted,
    canaries: [
      ...issued,
      ...['CANARY', wrongHash, 'ca'.repeat(32), '246813', '918273', wrongCode, wallet.lastCode(), token, mac],
      ...[viewer.email, viewer.csrfToken, ...cookie.split(/[=;]/)].filter((text) => text.length > 12),
      customer.userName,
    ],
  }
}

t.test('logs every attack in one line with its stable name and exactly its fields, and counts it', async (t) => {
  const scene = await world(t)
  const { shop, trackingId, hosted } = await attack(scene)
  const lines = scene.lines()
  const counts = new Map<string, number>()
  for (const { event } of lines) counts.set(event!, (counts.get(event!) ?? 0) + 1)
  const logged = Object.keys(securityEvents).filter((event) => !notOfRequests.some((each) => each === event))
  t.strictSame([...counts.keys()].sort(), logged.sort())
  for (const { event, level, time, msg, pid: _pid, hostname: _host, ...fields } of lines) {
    t.strictSame(Object.keys(fields).sort(), [...securityEvents[event!]].sort(), event!)
    t.match({ level, time, msg }, { level: 40, time: Number, msg: event })
  }
  const lineOf = (event: SecurityEvent) => lines.find((line) => line.event === event)
  t.match(lineOf('security.key_unknown'), { claimedMerchantId: shop.id, merchantId: null, address: '127.0.0.1' })
  t.match(lineOf('security.address_refused'), { address: '192.0.2.9', claimedMerchantId: shop.id, code: 40301 })
  const failed = lines.filter(({ event }) => event === 'security.login_failed')
  t.strictSame(
    failed.map((line) => line.trackingId),
    [trackingId, hosted.trackingId],
    'failed logins in the API and on the payment page',
  )
  t.match(lineOf('security.throttled'), { address: '198.51.100.7', code: 42901 })
  const exposed = await scene.metrics.metrics()
  for (const [event, count] of counts) t.match(exposed, `transferd_security_events_total{event="${event}"} ${count}`)
})

t.test('writes no password, code, key, secret, hash, token or secret part of a link to a line', async (t) => {
  const scene = await world(t)
  const { canaries } = await attack(scene)
  const text = scene.logLines.join('')
  for (const canary of canaries) t.notOk(text.includes(canary), canary)
})

t.test('limits the number of lines, counts all events, and logs the number of omitted lines', async (t) => {
  const written: Line[] = []
  const registry = new Registry()
  const sink = { write: (line: string) => void written.push(JSON.parse(line)) }
  const log = createSecurityLog(pino({ level: 'error' }, sink), registry, () => 0)
  const fields = { requestId: 'r', method: 'POST', route: '/', code: 40101, merchantId: null, trackingId: null }
  const note = (address: string) =>
    log.note('security.key_unknown', { ...fields, address, claimedMerchantId: null, userId: null })
  for (let n = 0; n < 1_000; n++) note('192.0.2.1')
  t.equal(written.length, 20, 'limits the lines of one address')
  note('192.0.2.2')
  t.equal(written.at(-1)?.address, '192.0.2.2', 'a different address has its own limit')
  for (let n = 0; n < 1_000; n++) note(`2001:db8:ffff:ffff::${n.toString(16)}`)
  t.equal(written.length, 41, 'all addresses of an IPv6 network share one limit')
  for (let n = 0; n < 10_000; n++) note(`2001:db8:${n.toString(16)}::1`)
  t.ok(written.length > 100 && written.length <= 200, `${written.length} lines in total`)
  const lines = written.length
  log.close()
  t.strictSame(written.slice(lines), [
    { ...written.at(-1)!, event: 'security.more', of: 'security.key_unknown', count: 12_001 - lines },
  ])
  log.close()
  t.equal(written.length, lines + 1, 'the number of omitted lines is logged once')
  t.match(await registry.metrics(), 'transferd_security_events_total{event="security.key_unknown"} 12001')
})

t.test('docs/reference/security-log.md lists exactly the existing events and fields', async (t) => {
  const page = readFileSync('docs/reference/security-log.md', 'utf8')
  const meanings = new Map<string, string>()
  const fieldsOf = new Map<string, string[]>()
  for (const [, event = '', cell = ''] of page.matchAll(/^\| `(security\.\w+)` \| (.*) \|$/gm)) {
    const named = meanings.has(event) ? cell : (/Fields: (.*)$/.exec(cell)?.[1] ?? '')
    if (!meanings.has(event)) meanings.set(event, cell)
    const names = [...named.matchAll(/`(\w+)`/g)].map((match) => match[1]!)
    if (names.length > 0 || !fieldsOf.has(event)) fieldsOf.set(event, names)
  }
  const rows = [...fieldsOf]
  const perRequest = [...securityEvents['security.key_unknown']]
  t.strictSame(
    rows,
    Object.entries(securityEvents).map(([event, fields]) => [
      event,
      [...fields].join() === perRequest.join() ? [] : [...fields],
    ]),
  )
  const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]!)
  t.strictSame(listed, perRequest, 'the page lists the fields of every request')
})
