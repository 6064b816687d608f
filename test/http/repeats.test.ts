import { randomUUID } from 'node:crypto'
import t from 'tap'
import { deviceIdOf } from '../../src/commands/ids.js'
import type { AttemptOutcome } from '../../src/domain/callback.js'
import type { Position } from '../../src/event-store/event-store.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { WalletUnavailableError } from '../../src/wallet/wallet.js'
import { long } from '../support/long.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, manualDeposits, paths, paymentMethods, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

/** Twice the allowed number of events, so that even one event per two requests is detected, or far more in the long form. */
const times = long ? 300 : 60
/** The number of concurrent requests, which is low enough that none fails because of the others. */
const concurrency = 5
/** The maximum number of events for one kind of request. The 20 logins of a deposit come closest. */
const maxEvents = 25
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

interface Repeated {
  readonly url: string
  readonly body?: string
  /** The pattern that one of the responses must match, which proves that the intended case was repeated. */
  readonly answers: RegExp
  /** The work that the service does automatically after some of the requests. */
  readonly betweenRepeats?: () => Promise<void>
}

const wallet = new MemoryWallet()
const walletCalls = new Map<string, number>()
let unavailableCall = ''
wallet.before = (call) => {
  walletCalls.set(call, (walletCalls.get(call) ?? 0) + 1)
  if (call === unavailableCall) throw new WalletUnavailableError('unavailable')
}
const service = await startTestService({
  wallet,
  configuration: { paymentMethods: [...paymentMethods, manualDeposits] },
})
t.teardown(() => destroyTestService(service))
const { app, store, callbacks } = service
let worlds = 0
let caller = 0

/** Creates a merchant, and a customer whose account has almost no money. */
async function world(sandbox: boolean) {
  const customer = { email: `customer${worlds++}@example.com`, password: '734219' }
  const account = wallet.open(customer.email, customer.password, 1n)
  const merchant = await service.merchant({ sandbox })
  let key = merchant.webApiKey
  unavailableCall = ''
  const send = (url: string, body: string | undefined) =>
    app.inject({
      method: 'POST',
      url,
      // Each request has its own address, because other tests cover the limits of an address.
      remoteAddress: /^.(pay|device)/.test(url)
        ? `10.${caller >> 16}.${(caller >> 8) & 255}.${caller++ & 255}`
        : '127.0.0.1',
      headers: { webapikey: key, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { payload: body }),
    })
  const create = async (kind: 'native' | 'hosted', fields = {}) => {
    const response = (await send(paths[kind], createBody(kind, merchant.secretKey, fields))).json()
    return { trackingId: String((response.result ?? response).trackingId), url: String(response.url) }
  }
  const logIn = async (trackingId: string) => {
    const body = JSON.stringify({ trackingId, userName: customer.email, password: customer.password })
    return String((await send(walletPaths.logIn, body)).json().result)
  }
  const verified = async (trackingId: string) => {
    const body = JSON.stringify({ trackingId, token: await logIn(trackingId), code: wallet.lastCode() })
    return String((await send(walletPaths.code, body)).json().result.token)
  }
  const trust = () => account.trusted.add(deviceIdOf(createSecretBox(service.masterKey), merchant.id, '8412'))
  const use = (another: string) => {
    key = another
  }
  return { customer, merchant, send, use, create, logIn, verified, trust }
}

/** Counts the events of the whole log. */
async function size(): Promise<number> {
  let count = 0
  let after: Position | undefined
  for (;;) {
    const page = await store.readAll({ maxCount: 10_000, ...(after && { after }) })
    count += page.events.length
    if (page.atEnd) return count
    after = page.checkpoint
  }
}

type World = Awaited<ReturnType<typeof world>>

const attempted = (result: AttemptOutcome) => ({ attempt: 1, httpStatus: 500, durationMs: 1, outcome: result })
const fates: { readonly [fate: string]: AttemptOutcome } = {
  delivered: { result: 'delivered' },
  parked: { result: 'parked', reason: 'HTTP 500' },
  failing: { result: 'failed', reason: 'HTTP 500', nextAttemptAt: new Date(Date.now() + 60_000).toISOString() },
}

/** Creates a callback of a deposit for which every attempt has this result. */
async function resent(w: World, outcome: AttemptOutcome): Promise<Repeated> {
  const { trackingId } = await w.create('native')
  const webhookId = randomUUID()
  const payload = {
    status: 2,
    referenceId: 'r',
    message: null,
    amountMinor: 1n,
    transactionAmountMinor: 1n,
    hasAmountMismatch: false,
    receiptUrl: null,
  }
  const request = { webhookId, trackingId, merchantId: w.merchant.id, transferRevision: 1, payload }
  await callbacks.record(request, context)
  const betweenRepeats = async () => {
    await callbacks.reportAttempt(trackingId, webhookId, attempted(outcome), context)
  }
  await betweenRepeats()
  const body = json({ callbacks: [{ trackingId, webhookId }] })
  return { url: `/v1/transfers/${trackingId}/callbacks/resend`, answers: /"requeued":1/, betweenRepeats, body }
}

/** Creates a withdrawal, optionally claimed by the key of the program, for the action in `repeated`. */
async function settled(
  w: World,
  repeated: { readonly action: string; readonly body: object; readonly claimed: boolean },
) {
  const body = createBody('withdrawal', w.merchant.secretKey)
  const trackingId = String((await w.send(paths.withdrawal, body)).json().result.trackingId)
  await giveSettlementKey(w)
  const url = (action: string) => `/v1/withdrawals/${trackingId}/${action}`
  if (repeated.claimed) await w.send(url('claim'), json({ revision: 0 }))
  return { url: url(repeated.action), body: json(repeated.body), answers: /"statusDescription"/ }
}

async function giveSettlementKey(w: World): Promise<void> {
  const key = { name: 'settles', scopes: ['settlement'], validUntil: null } as const
  const created = await service.merchants.createApiKey(w.merchant.id, key, context)
  if (!created.accepted) throw new Error('the key was rejected')
  await service.directory.catchUp()
  w.use(created.webApiKey)
}

const json = JSON.stringify
const payPath = (url: string) => new URL(url).pathname
const native = (w: World) => w.create('native').then(({ trackingId }) => trackingId)

/** Every route that can write, in each relevant state. */
const cases: { readonly [route: string]: { readonly [what: string]: (w: World) => Promise<Repeated> } } = {
  [paths.hosted]: {
    'the same create': async (w) => ({
      url: paths.hosted,
      body: createBody('hosted', w.merchant.secretKey),
      answers: /"url"/,
    }),
  },
  [paths.native]: {
    'the same create': async (w) => ({
      url: paths.native,
      body: createBody('native', w.merchant.secretKey),
      answers: /"success":true/,
    }),
    'a referenceId with different content': async (w) => {
      const referenceId = randomUUID()
      await w.send(paths.native, createBody('native', w.merchant.secretKey, { referenceId }))
      const body = createBody('native', w.merchant.secretKey, { referenceId }, '7.00')
      return { url: paths.native, body, answers: /40901/ }
    },
  },
  [paths.withdrawal]: {
    'the same create': async (w) => ({
      url: paths.withdrawal,
      body: createBody('withdrawal', w.merchant.secretKey),
      answers: /"success":true/,
    }),
  },
  [walletPaths.logIn]: {
    'the right password': async (w) => {
      const body = json({ trackingId: await native(w), userName: w.customer.email, password: w.customer.password })
      return { url: walletPaths.logIn, body, answers: /"success":true/ }
    },
    'a wrong password': async (w) => {
      const body = json({ trackingId: await native(w), userName: w.customer.email, password: '111111' })
      return { url: walletPaths.logIn, body, answers: /40006/ }
    },
    'an unknown email': async (w) => {
      const body = json({ trackingId: await native(w), userName: 'unknown@example.com', password: '111111' })
      return { url: walletPaths.logIn, body, answers: /40006/ }
    },
  },
  [walletPaths.code]: {
    'a wrong code': async (w) => {
      const trackingId = await native(w)
      const token = await w.logIn(trackingId)
      const code = wallet.lastCode() === '000000' ? '000001' : '000000'
      return { url: walletPaths.code, body: json({ trackingId, token, code }), answers: /40010/ }
    },
    'the right code, of an account without money': async (w) => {
      w.trust()
      const trackingId = await native(w)
      const token = await w.logIn(trackingId)
      const body = json({ trackingId, token, code: wallet.lastCode() })
      return { url: walletPaths.code, body, answers: /40906/ }
    },
  },
  [walletPaths.device]: {
    'a device that is not confirmed': async (w) => {
      const trackingId = await native(w)
      return {
        url: walletPaths.device,
        body: json({ trackingId, token: await w.verified(trackingId) }),
        answers: /20001/,
      }
    },
    'a trusted device of an account without money': async (w) => {
      const trackingId = await native(w)
      const token = await w.verified(trackingId)
      w.trust()
      return { url: walletPaths.device, body: json({ trackingId, token }), answers: /40906/ }
    },
    'a wallet that is unavailable when the money is collected': async (w) => {
      const trackingId = await native(w)
      const token = await w.verified(trackingId)
      w.trust()
      unavailableCall = 'collect'
      return { url: walletPaths.device, body: json({ trackingId, token }), answers: /50302/ }
    },
    'a wallet that is unavailable when the device is checked': async (w) => {
      const trackingId = await native(w)
      const token = await w.verified(trackingId)
      unavailableCall = 'isTrusted'
      return { url: walletPaths.device, body: json({ trackingId, token }), answers: /50302/ }
    },
  },
  '/v1/transfers/:trackingId/callbacks/resend': Object.fromEntries(
    Object.entries(fates).map(([fate, outcome]) => [
      `a callback that is ${fate}`,
      async (w: World) => ({ ...(await resent(w, outcome)), body: json({}) }),
    ]),
  ),
  '/v1/callbacks/resend': Object.fromEntries(
    Object.entries(fates).map(([fate, outcome]) => [
      `a callback that is ${fate}`,
      async (w: World) => ({ ...(await resent(w, outcome)), url: '/v1/callbacks/resend' }),
    ]),
  ),
  '/v1/callbacks/endpoint/test': {
    'an endpoint that refuses connections': async () => ({
      url: '/v1/callbacks/endpoint/test',
      answers: /"delivered":false/,
    }),
  },
  '/v1/callbacks/endpoint/enable': {
    'an endpoint that is disabled before each request': async (w) => {
      const betweenRepeats = async () => {
        await service.merchants.execute(w.merchant.id, { type: 'DisableCallbacks', reason: 'gone' }, context)
        await service.directory.catchUp()
      }
      await betweenRepeats()
      return { url: '/v1/callbacks/endpoint/enable', answers: /"state":"healthy"/, betweenRepeats }
    },
  },
  '/v1/deposits/:trackingId/receive': {
    'the same payment': async (w) => {
      const trackingId = await w.create('native', { paymentMethod: 7 }).then((created) => created.trackingId)
      await giveSettlementKey(w)
      const body = json({ revision: 0, amount: 60, reference: 'FT-1' })
      return { url: `/v1/deposits/${trackingId}/receive`, body, answers: /"receivedAmount":60/ }
    },
  },
  '/v1/transfers/:trackingId/correct': {
    'the same correction': async (w) => {
      const trackingId = await native(w)
      await service.transfers.act(trackingId, { type: 'Complete' }, context)
      await giveSettlementKey(w)
      const body = json({ revision: 1, amount: 99, reason: 'mistyped' })
      return { url: `/v1/transfers/${trackingId}/correct`, body, answers: /"transactionAmount":99/ }
    },
  },
  '/v1/transfers/:trackingId/refunds': {
    'the same refund': async (w) => {
      const trackingId = await native(w)
      await service.transfers.act(trackingId, { type: 'Complete' }, context)
      await giveSettlementKey(w)
      const body = json({ revision: 1, amount: 30, referenceId: randomUUID(), accountNumber: 'TR33' })
      return { url: `/v1/transfers/${trackingId}/refunds`, body, answers: /"reservedAmount":30/ }
    },
  },
  '/v1/withdrawals/:trackingId/repayments': {
    'the same repayment': async (w) => {
      const body = createBody('withdrawal', w.merchant.secretKey)
      const trackingId = String((await w.send(paths.withdrawal, body)).json().result.trackingId)
      await service.transfers.act(trackingId, { type: 'Complete' }, context)
      const back = { returnedAmountMinor: 60_00n, reasonCode: 'AC04', reference: 'RT-1' } as const
      await service.transfers.act(trackingId, { type: 'ReturnPayout', ...back }, context)
      await giveSettlementKey(w)
      const repayment = { revision: 2, amount: 60, referenceId: randomUUID(), accountNumber: 'TR33' }
      const url = `/v1/withdrawals/${trackingId}/repayments`
      return { url, body: json(repayment), answers: /"reservedAmount":60/ }
    },
  },
  '/v1/withdrawals/:trackingId/claim': {
    'the same claim': (w) => settled(w, { action: 'claim', body: { revision: 0 }, claimed: false }),
  },
  '/v1/withdrawals/:trackingId/release': {
    'the same release': (w) => settled(w, { action: 'release', body: { revision: 1 }, claimed: true }),
  },
  '/v1/withdrawals/:trackingId/complete': {
    'the same completion': (w) => settled(w, { action: 'complete', body: { revision: 1 }, claimed: true }),
  },
  '/v1/withdrawals/:trackingId/cancel': {
    'the same cancellation': (w) =>
      settled(w, { action: 'cancel', body: { revision: 1, message: 'No account.' }, claimed: true }),
  },
  '/v1/withdrawals/:trackingId/returned': {
    'the same return': async (w) => {
      const body = { revision: 2, amount: 60, reasonCode: 'AC04', reference: 'RT-1' }
      const repeated = await settled(w, { action: 'returned', body, claimed: true })
      await w.send(repeated.url.replace('returned', 'complete'), json({ revision: 1 }))
      return { ...repeated, answers: /"returnedAmount":60/ }
    },
  },
  '/pay/:link/login': {
    'the right password': async (w) => ({
      url: `${payPath((await w.create('hosted')).url)}/login`,
      body: json(w.customer),
      answers: /"next":"code"/,
    }),
    'a wrong password': async (w) => ({
      url: `${payPath((await w.create('hosted')).url)}/login`,
      body: json({ ...w.customer, password: '111111' }),
      answers: /wrongLogin/,
    }),
  },
  '/pay/:link/code': {
    'a wrong code': async (w) => {
      const path = payPath((await w.create('hosted')).url)
      const { token } = (await w.send(`${path}/login`, json(w.customer))).json()
      const code = wallet.lastCode() === '000000' ? '000001' : '000000'
      return { url: `${path}/code`, body: json({ token, code }), answers: /wrongCode/ }
    },
  },
  '/pay/:link/device': {
    'a trusted device of an account without money': async (w) => {
      const path = payPath((await w.create('hosted')).url)
      const { token } = (await w.send(`${path}/login`, json(w.customer))).json()
      const verified = (await w.send(`${path}/code`, json({ token, code: wallet.lastCode() }))).json()
      w.trust()
      return { url: `${path}/device`, body: json({ token: verified.token }), answers: /insufficientBalance/ }
    },
  },
  '/device/:link': {
    'a confirmation': async (w) => {
      await w.verified(await native(w))
      return { url: payPath(wallet.confirmUrls.at(-1)!), answers: /Confirmed/ }
    },
  },
}

t.test('bounds the events and wallet calls of a request that is repeated without limit', async (t) => {
  for (const [route, states] of Object.entries(cases)) {
    for (const [what, prepare] of Object.entries(states)) {
      await t.test(`${route}: ${what}`, async (t) => {
        // The resends of a sandbox merchant are limited by its rate only.
        const w = await world(!route.endsWith('/callbacks/resend'))
        const { url, body, answers, betweenRepeats } = await prepare(w)
        const before = await size()
        walletCalls.clear()
        const startedMs = performance.now()
        const seen: string[] = []
        for (let sent = 0; sent < times; sent += concurrency) {
          const batch = await Promise.all(Array.from({ length: concurrency }, () => w.send(url, body)))
          seen.push(...batch.map((response) => response.body))
          await betweenRepeats?.()
        }
        t.ok(
          seen.some((response) => answers.test(response)),
          `the response was ${seen[0]?.slice(0, 200)}`,
        )
        t.notOk(
          seen.some((response) => /5000\d|50301/.test(response)),
          'no response is a server error',
        )
        const appended = (await size()) - before
        t.ok(before > 0 && appended <= maxEvents, `${appended} events`)
        const seconds = Math.ceil((performance.now() - startedMs) / 1000)
        for (const [call, count] of walletCalls)
          t.ok(count <= maxEvents + 2 * seconds, `${call} was called ${count} times`)
      })
    }
  }
})

t.test('covers every route that accepts writes without a signed-in user', async (t) => {
  const asking = ['GET', 'HEAD', 'OPTIONS']
  // The dashboard's routes need a signed-in user. The limits of its sign-in are in dashboard/sign-in.test.ts.
  const writing = app.knownRoutes.filter(({ method, url }) => !asking.includes(method) && !url.startsWith('/dashboard'))
  t.ok(writing.length > 8)
  for (const { url } of writing) t.ok(url in cases, `the cases of this test contain ${url}`)
})
