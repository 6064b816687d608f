import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { hashCode } from '../../src/security/api-keys.js'
import { settableClock } from '../support/embedded-store.js'
import { long } from '../support/long.js'
import { type CreateKind, createBody, paths, paymentMethods, post, signatureOf } from '../support/merchant-requests.js'
import {
  destroyTestService,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const kinds = Object.keys(paths) as CreateKind[]
const numRuns = long ? 150 : 30

async function service(t: Test, options: TestServiceOptions = {}) {
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  return started
}

/** Changes the merchant and waits until the change applies to requests. */
async function change(service: TestService, merchantId: string, changes: Partial<MerchantSettings>) {
  await service.merchants.execute(merchantId, { type: 'ChangeSettings', changes }, context)
  await service.directory.catchUp()
}

async function rotateSecret(service: TestService, merchantId: string, overlapMinutes: number) {
  await service.merchants.rotateSecret(merchantId, 'secretKey', overlapMinutes, context)
  await service.directory.catchUp()
}

const anyChange = fc.oneof(
  fc.constantFrom<Partial<MerchantSettings>>(
    { minAmountMinor: 900_000_00n },
    { maxAmountMinor: 1n },
    { requireNativeHash: true },
    { requireSignature: 'withdrawals' },
    { requireSignature: 'all' },
    { depositExpiryMinutes: 1440 },
    { callbackOnCreate: true },
    { autoCancelMismatch: true },
  ),
  fc.record({ overlapMinutes: fc.constantFrom(0, 60, 1440) }),
  fc.record({ days: fc.integer({ min: 1, max: 400 }) }),
)

t.test('returns the identical response to a repeat of any accepted create after any change of settings', async (t) => {
  const { clock, set } = settableClock('2026-03-01T10:00:00.000Z')
  const started = await service(t, { clock })
  const catalogues = { full: started.app, empty: await started.otherNode({ paymentMethods: [] }) }
  const creates = fc.record({
    kind: fc.constantFrom(...kinds),
    amountText: fc.constantFrom('100', '100.5', '100.50', '7.00', '7.0'),
    hashedText: fc.constantFrom('own', '100', '100.50', '7', '7.00'),
    hasKey: fc.boolean(),
    hasHash: fc.boolean(),
    isSigned: fc.boolean(),
    changes: fc.array(anyChange, { minLength: 1, maxLength: 4 }),
    catalogue: fc.constantFrom('full', 'empty'),
  })
  let accepted = 0
  let merchantCount = 0
  await fc.assert(
    fc.asyncProperty(
      creates,
      async ({ kind, amountText, hashedText, hasKey, hasHash, isSigned, changes, catalogue }) => {
        // A hosted create without a key needs an address with only one merchant.
        const address = `10.${merchantCount >> 16}.${(merchantCount >> 8) & 255}.${merchantCount++ & 255}`
        const { id, webApiKey, secretKey } = await started.merchant({ allowIps: [address] })
        const referenceId = randomUUID()
        const text = hashedText === 'own' ? amountText : hashedText
        const fields =
          kind === 'native' && !hasHash ? { hashCode: undefined } : { hashCode: hashCode(secretKey, text, referenceId) }
        const body = createBody(kind, secretKey, { referenceId, ...fields }, amountText)
        const seconds = Math.floor(Date.parse(clock()) / 1000)
        const signature = signatureOf(secretKey, body, seconds)
        const options = {
          address,
          ...((hasKey || kind !== 'hosted') && { key: webApiKey }),
          ...(isSigned && { headers: { 'x-signature': signature } }),
        }
        const first = await post(started.app, paths[kind], body, options)
        if (first.statusCode !== 200) return
        accepted++
        for (const one of changes) {
          if ('days' in one) set(new Date(Date.parse(clock()) + one.days * 86_400_000).toISOString())
          else if ('overlapMinutes' in one) await rotateSecret(started, id, one.overlapMinutes)
          else await change(started, id, one)
        }
        const before = (await started.log()).length
        const again = await post(catalogues[catalogue as 'full' | 'empty'], paths[kind], body, options)
        if (again.body !== first.body || again.statusCode !== 200) throw new Error(`${again.body} after ${first.body}`)
        if ((await started.log()).length !== before) throw new Error('a repeat appended an event')
      },
    ),
    { numRuns },
  )
  t.ok(accepted > numRuns / 5, `${accepted} creates were accepted`)
})

t.test('accepts a repeat only if it is authentic', async (t) => {
  const started = await service(t)
  const { app } = started
  for (const kind of kinds) {
    const { id, webApiKey: key, secretKey } = await started.merchant()
    const referenceId = randomUUID()
    const body = createBody(kind, secretKey, { referenceId }, '100.50')
    const first = await post(app, paths[kind], body, { key })
    t.equal(first.statusCode, 200)
    await rotateSecret(started, id, 0)
    t.equal((await post(app, paths[kind], body, { key })).body, first.body, 'a repeat with the accepted hash succeeds')
    for (const [what, other] of [
      ['a different spelling of the amount', createBody(kind, secretKey, { referenceId }, '100.5')],
      ['a guessed hash', createBody(kind, 'sk_guess', { referenceId }, '100.50')],
      ['a different referenceId', createBody(kind, secretKey, {}, '100.50')],
    ] as const) {
      const refused = await post(app, paths[kind], other, { key })
      t.match(refused.json(), { error: { code: 40003 } }, `${kind}: ${what}`)
    }
    const changed = createBody(kind, secretKey, { referenceId, name: 'Grace Hopper' }, '100.50')
    t.match((await post(app, paths[kind], changed, { key })).json(), { error: { code: 40003 } }, 'different content')
  }
})

t.test('repeats a native deposit without a hash, but rejects the repeat with a wrong hash', async (t) => {
  const started = await service(t)
  const { id, webApiKey: key, secretKey } = await started.merchant()
  const fields = { referenceId: randomUUID(), hashCode: undefined }
  const first = await post(started.app, paths.native, createBody('native', secretKey, fields), { key })
  t.equal(first.statusCode, 200)
  await change(started, id, { requireNativeHash: true })
  t.equal((await post(started.app, paths.native, createBody('native', secretKey, fields), { key })).body, first.body)
  const wrong = createBody('native', 'sk_guess', { referenceId: fields.referenceId })
  t.match((await post(started.app, paths.native, wrong, { key })).json(), { error: { code: 40003 } })
  const fresh = createBody('native', secretKey, { hashCode: undefined })
  t.match(
    (await post(started.app, paths.native, fresh, { key })).json(),
    { error: { code: 40001 } },
    'a new create needs a hash',
  )
})

t.test('still applies the settings to requests that were not accepted before', async (t) => {
  const started = await service(t)
  const { id, webApiKey: key, secretKey } = await started.merchant()
  const empty = await started.otherNode({ paymentMethods: paymentMethods.filter(({ code }) => code !== 1) })
  for (const kind of kinds) {
    await change(started, id, { maxAmountMinor: 99_999_999n })
    const referenceId = randomUUID()
    t.equal(
      (await post(started.app, paths[kind], createBody(kind, secretKey, { referenceId }), { key })).statusCode,
      200,
    )
    const refusal = { error: { code: 40001, validationErrors: [{ members: ['paymentMethod'] }] } }
    t.match((await post(empty, paths[kind], createBody(kind, secretKey), { key })).json(), refusal, kind)
    await change(started, id, { maxAmountMinor: 1n })
    const tooMuch = { error: { code: 40001, validationErrors: [{ members: ['amount'] }] } }
    t.match((await post(started.app, paths[kind], createBody(kind, secretKey), { key })).json(), tooMuch)
    const other = createBody(kind, secretKey, { referenceId, name: 'Grace Hopper' })
    t.match((await post(started.app, paths[kind], other, { key })).json(), tooMuch, 'different content is not a repeat')
  }
})

t.test('rejects a suspended merchant and a disallowed address, even for a repeat', async (t) => {
  const started = await service(t)
  for (const kind of kinds) {
    const { id, webApiKey: key, secretKey } = await started.merchant()
    const body = createBody(kind, secretKey)
    t.equal((await post(started.app, paths[kind], body, { key })).statusCode, 200)
    t.equal((await post(started.app, paths[kind], body, { key, address: '198.51.100.1' })).statusCode, 403)
    await started.merchants.suspend(id, context)
    await started.directory.catchUp()
    const refused = await post(started.app, paths[kind], body, { key })
    t.match(refused.json(), { error: { code: 40302 } }, kind)
  }
})

/** Counts the streams that the service reads. */
async function countingReads(t: Test, options: TestServiceOptions = {}) {
  const counted = { reads: 0 }
  const started = await service(t, {
    ...options,
    wrapStore: (store) =>
      new Proxy(store, {
        get(target, name) {
          if (name === 'readStream') counted.reads++
          const value = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
  })
  return { started, counted }
}

// On EventStoreDB, a create reads the transfers that its hashes could match.
const readsTransfers = process.env.TEST_EVENT_STORE === 'protocol'
t.test('reads no stream for a new create on the embedded log', { skip: readsTransfers }, async (t) => {
  const { started, counted } = await countingReads(t)
  const { webApiKey: key, secretKey } = await started.merchant()
  const createEachKind = async () => {
    for (const kind of kinds)
      t.equal((await post(started.app, paths[kind], createBody(kind, secretKey), { key })).statusCode, 200)
  }
  // The first create of a log binds its currency.
  await createEachKind()
  counted.reads = 0
  await createEachKind()
  t.equal(counted.reads, 0)
})

t.test('looks up guessed hashes without a key only up to the failure limit of the address', async (t) => {
  // The clock is stopped, so that no limit recovers.
  const { started, counted } = await countingReads(t, { overrides: { monotonicMs: () => 0 } })
  const address = '10.9.8.7'
  await started.merchant({ allowIps: [address] })
  const statuses = new Set<number>()
  for (let n = 0; n < 600; n++) {
    const guess = createBody('hosted', 'sk_guess')
    statuses.add((await post(started.app, paths.hosted, guess, { address })).statusCode)
  }
  t.same([...statuses], [400, 429])
  t.ok(counted.reads > 0 && counted.reads <= 500, `${counted.reads} streams were read`)
})

t.test('returns the current url to a repeat, because the old one may no longer work', async (t) => {
  const started = await service(t)
  const { webApiKey: key, secretKey } = await started.merchant()
  const moved = await started.otherNode({ publicUrl: 'https://moved.example' })
  const body = createBody('hosted', secretKey)
  const [first, again] = [
    (await post(started.app, paths.hosted, body, { key })).json(),
    (await post(moved, paths.hosted, body, { key })).json(),
  ]
  t.strictSame(again, { ...first, url: first.url.replace('https://pay.example', 'https://moved.example') })
  const page = await moved.inject({ url: new URL(again.url).pathname })
  t.equal(page.statusCode, 200)
})
