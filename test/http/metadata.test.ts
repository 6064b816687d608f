import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { trackingIdOf } from '../../src/commands/ids.js'
import { transferStream } from '../../src/domain/streams.js'
import { eraseCustomer } from '../../src/privacy/customer-erasure.js'
import { exportCustomer } from '../../src/privacy/customer-export.js'
import { goldenEvents } from '../event-store/codec/golden-events.js'
import { type CreateKind, createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { until } from '../support/until.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const kinds = Object.keys(paths) as CreateKind[]

/** The keys that a program could take for something else. */
const hostile: { readonly [key: string]: string } = JSON.parse(
  `{"totalMinor": "ten", "__proto__": "1", "constructor": "2", "toString": "3", "amount": "1e9", "🕌": "‮4‬", " ": "",
    "$where": "a.b", "a.b": "$c", "${'k'.repeat(40)}": "${'v'.repeat(200)}", "<script>": "</script>", "0": "n", "\\"": "\\\\"}`,
)

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { app } = service
const merchant = await service.merchant()

function send(kind: CreateKind, fields: { readonly [name: string]: unknown }, { webApiKey, secretKey } = merchant) {
  return post(app, paths[kind], createBody(kind, secretKey, fields), { key: webApiKey })
}

async function create(fields: { readonly [name: string]: unknown }, kind: CreateKind = 'native', issued = merchant) {
  const response = await send(kind, fields, issued)
  if (response.statusCode !== 200) throw new Error(response.body)
  const json = response.json()
  return String(json.trackingId ?? json.result.trackingId)
}

/** Returns a parsed response, and its text, because tap ignores a key such as `__proto__`. */
async function get(url: string, { webApiKey } = merchant) {
  const response = await app.inject({ url, headers: { webapikey: webApiKey } })
  return { status: response.statusCode, text: response.body, ...response.json() }
}

const textOf = (metadata: unknown) => JSON.stringify({ metadata }).slice(1, -1)

async function listed(query: string, count: number, issued = merchant) {
  let list = await get(`/v1/transfers?${query}`, issued)
  await until(async () => {
    list = await get(`/v1/transfers?${query}`, issued)
    return list.items?.length === count
  })
  return list
}

for (const kind of kinds) {
  t.test(`${kind}: keeps and returns any texts, in each view and in no callback`, async (t) => {
    const userId = randomUUID()
    const trackingId = await create({ userId, metadata: hostile }, kind)
    const expected = textOf(hostile)
    t.ok((await get(`/v1/transfers/${trackingId}`)).text.includes(expected))
    t.ok((await get(`/v1/transfers/${trackingId}/events`)).text.includes(expected))
    const { text } = await listed(
      `metadata[totalMinor]=ten&kind=${kind === 'withdrawal' ? kind : 'deposit'}&limit=1`,
      1,
    )
    t.ok(text.includes(expected))
    let after = ''
    await until(async () => {
      const feed = await get(`/v1/events?limit=100${after}`)
      const isFound = feed.items.some((each: { trackingId: string }) => each.trackingId === trackingId)
      if (isFound) t.ok(feed.text.includes(expected))
      // Null until the feed contains an event.
      if (feed.next !== null) after = `&after=${feed.next}`
      return isFound
    })
    const log = await service.log()
    const callbacks = log.filter(({ stream }) => stream === `callback-${trackingId}`)
    t.notMatch(JSON.stringify(callbacks), 'ten')
    t.notMatch(service.logLines.join(''), 'v'.repeat(200))
  })
}

t.test('keeps any printable texts', async () => {
  const unit = fc.string({ unit: 'grapheme' })
  const printable = unit.filter((text) => !/[\p{Cc}\p{Cs}]/u.test(text))
  const keys = printable.filter((text) => text !== '' && Array.from(text).length <= 40)
  await fc.assert(
    fc.asyncProperty(fc.dictionary(keys, printable, { maxKeys: 20 }), async (metadata) => {
      const trackingId = await create({ metadata })
      const { text } = await get(`/v1/transfers/${trackingId}`)
      const none = Object.keys(metadata).length === 0
      if (!text.includes(textOf(none ? null : metadata))) throw new Error(text)
    }),
    { numRuns: 30 },
  )
})

t.test('names the key or value that is invalid, and stores nothing', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, '']))
  const cases: [metadata: unknown, field: string, message: RegExp][] = [
    [{ order: 'x'.repeat(201) }, 'metadata.order', /at most 200 characters/],
    [{ order: 7 }, 'metadata.order', /type string/],
    [{ order: null }, 'metadata.order', /type string/],
    [{ order: { id: 'a' } }, 'metadata.order', /type string/],
    [{ 'an order': 'a\u0000' }, 'metadata["an order"]', /control characters/],
    [{ ['k'.repeat(41)]: 'a' }, 'metadata', /at most 40 characters/],
    [{ '': 'a' }, 'metadata', /./],
    [{ 'a\u0007': 'a' }, 'metadata', /control characters/],
    [many, 'metadata', /at most 20/],
    ['order', 'metadata', /type object/],
    [[], 'metadata', /type object/],
  ]
  for (const [metadata, field, message] of cases) {
    const referenceId = randomUUID()
    const response = await send('native', { referenceId, metadata })
    t.equal(response.statusCode, 400, field)
    const [error] = response.json().error.validationErrors
    t.strictSame(error.members, [field])
    t.match(error.message, message)
    t.strictSame((await get(`/v1/transfers?referenceId=${referenceId}`)).items, [])
  }
  t.equal((await send('native', { metadata: null })).statusCode, 200, 'null means none')
})

t.test('a repeat must have the same metadata, regardless of the order of the keys', async (t) => {
  const withTexts = { referenceId: randomUUID(), metadata: { a: '1', b: '2' } }
  const without = { referenceId: randomUUID() }
  const first = [await send('native', withTexts), await send('native', without)]
  t.strictSame(
    first.map(({ statusCode }) => statusCode),
    [200, 200],
  )
  t.equal((await send('native', { ...withTexts, metadata: { b: '2', a: '1' } })).body, first[0]!.body)
  for (const metadata of [undefined, {}, { a: '1' }, { a: '1', b: '3' }, { a: '1', c: '2' }, { a: '1', b: '2', c: '' }])
    t.match((await send('native', { ...withTexts, metadata })).json().error, { code: 40901 }, JSON.stringify(metadata))
  for (const metadata of [undefined, null, {}])
    t.equal((await send('native', { ...without, metadata })).body, first[1]!.body, JSON.stringify(metadata))
  t.match((await send('native', { ...without, metadata: { a: '1' } })).json().error, { code: 40901 })
})

t.test('a repeat of a create from before the service knew metadata gets the first response', async (t) => {
  const { id: merchantId } = merchant
  const referenceId = randomUUID()
  const trackingId = trackingIdOf(merchantId, 'deposit', referenceId)
  const request = { merchantId, referenceId, amountMinor: '10050', userId: '8412', name: 'Ada Lovelace' }
  const { data: known } = goldenEvents.get('DepositCreated.v1')!
  const data = { ...known, ...request, trackingId, username: 'ada', channel: 'native' }
  const event = { id: randomUUID(), type: 'DepositCreated', data, metadata: { ...context, schemaVersion: 1 } }
  await service.store.append(transferStream(trackingId), 'no_stream', [event])

  const ignored = { referenceId, metadata: { order: '4711' } }
  for (const fields of [{ referenceId }, ignored, { ...ignored, metadata: { order: '4712' } }]) {
    const response = await send('native', fields)
    t.equal(response.statusCode, 200, response.body)
    t.equal(response.json().result.trackingId, trackingId)
  }
  t.match((await send('native', { ...ignored, name: 'Grace' })).json().error, { code: 40901 })
  t.equal((await get(`/v1/transfers/${trackingId}`)).metadata, null)
  t.equal((await get(`/v1/transfers/${trackingId}/events`)).items.length, 1)
})

t.test('lists the transfers with exactly these texts', async (t) => {
  const [own, other] = [await service.merchant(), await service.merchant()]
  const order = { order: 'A 1+&=ü', shop: 'x' }
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.push(await create({ metadata: { ...order, n: String(n) } }, 'native', own))
  await create({ metadata: { order: 'a 1+&=ü' } }, 'native', own)
  await create({ metadata: { shop: order.order } }, 'native', own)
  await create({ metadata: order }, 'native', other)
  await create({ metadata: order }, 'withdrawal', own)
  const query = (texts: { readonly [key: string]: string }) =>
    new URLSearchParams(
      Object.entries(texts).map(([key, value]) => [`metadata[${key}]`, value] as [string, string]),
    ).toString()
  const all = await listed(query({ order: order.order }), 6, own)
  t.strictSame(
    all.items.slice(1).map(({ trackingId }: { trackingId: string }) => trackingId),
    ids.toReversed(),
  )
  t.equal((await listed(query({ ...order, n: '3' }), 1, own)).items[0].trackingId, ids[3])
  t.equal((await listed(`${query(order)}&kind=withdrawal`, 1, own)).items[0].kind, 'withdrawal')
  await service.transfers.act(ids[2]!, { type: 'Cancel', message: null }, context)
  t.equal((await listed(`${query(order)}&status=Cancelled`, 1, own)).items[0].trackingId, ids[2])
  t.strictSame((await get(`/v1/transfers?${query(order)}&to=2026-01-01`, own)).items, [])
  const pages: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Awaited<ReturnType<typeof get>> = await get(
      `/v1/transfers?${query(order)}&limit=2${cursor && `&cursor=${cursor}`}`,
      own,
    )
    pages.push(...page.items.map(({ trackingId }: { trackingId: string }) => trackingId))
    cursor = page.nextCursor
  }
  t.strictSame(
    pages,
    all.items.map(({ trackingId }: { trackingId: string }) => trackingId),
  )

  for (const [wrong, member] of [
    [`${query(order)}&referenceId=r`, 'metadata'],
    [`${query(order)}&cursor=x`, 'cursor'],
    ['metadata[order]=1&metadata[order]=2', 'metadata.order'],
    ['metadata[]=1', 'metadata'],
    ...[
      'metadata=1',
      'metadata',
      'metadata.order=1',
      'metadata[order=1',
      'metadata[order]x=1',
      'metadata]order[=1',
    ].map((mistyped) => [mistyped, 'metadata'] as const),
    ['metadata=1&metadata[order]=1', 'metadata'],
  ] as const) {
    const response = await get(`/v1/transfers?${wrong}`, own)
    t.equal(response.status, 400, wrong)
    t.strictSame(response.error.validationErrors[0].members, [member])
  }
})

t.test('an erasure erases the metadata with the customer', async (t) => {
  const issued = await service.merchant()
  const customer = { merchantId: issued.id, userId: randomUUID() }
  const canary = `canary${randomUUID().replaceAll('-', '')}`
  const fields = { userId: customer.userId, referenceId: randomUUID(), metadata: { [canary]: canary } }
  const trackingId = await create(fields, 'native', issued)
  await listed(`metadata[${canary}]=${canary}`, 1, issued)
  const { privacy } = app.services
  const exported = JSON.stringify(await exportCustomer(privacy, customer))
  t.match(exported, canary, 'the export of the customer has it')
  t.notMatch(JSON.stringify((await service.log()).map(({ data }) => ({ ...data, metadata: undefined }))), canary)

  await service.transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  t.match(await eraseCustomer(privacy, customer, 'requested', context), { accepted: true })
  await listed(`metadata[${canary}]=${canary}`, 0, issued)
  const { items } = await listed('', 1, issued)
  t.strictSame(items[0].metadata, {})
  t.strictSame((await get(`/v1/transfers/${trackingId}`, issued)).metadata, {})
  const history = await get(`/v1/transfers/${trackingId}/events`, issued)
  t.strictSame(history.items[0].data.metadata, {})
  t.notMatch(JSON.stringify([items, history]), canary)
  t.equal((await send('native', { ...fields, metadata: { a: 'b' } }, issued)).statusCode, 200, 'it is not compared')
})
