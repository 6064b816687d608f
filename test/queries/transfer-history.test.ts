import t from 'tap'
import {
  callbackStream,
  endpointStream,
  merchantStream,
  paymentStream,
  transferStream,
} from '../../src/domain/streams.js'
import { type DomainEvent, encodeEvent } from '../../src/event-store/event-codec.js'
import type { EventStore, NewEvent } from '../../src/event-store/event-store.js'
import { auditedHistory } from '../../src/queries/transfer-history.js'
import { depositCreated } from '../domain/transfer-samples.js'
import { openTestStore } from '../support/embedded-store.js'
import { merchantSettings } from '../support/merchant-requests.js'

const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'
const at = '2026-11-20T10:00:00.000Z'
const sealed = 'v1.ab2e5015.LiXsDVxFyXW8g41z6j0BXfWJvkEgLZo25poQuWdoN1nESSdXfUxHQ2cUWsBlZb_q40sPzdr1'
const accountNumber = 481_920_375_566
const ofMerchant = { merchantId, at }
const transfer = { trackingId, merchantId, kind: 'deposit', referenceId: 'order-1', amountMinor: 10_050n, at } as const
const challenge = { trackingId, merchantId, at, challengeId: '6e0b5e1c-6f0d-4d9e-8c55-0d6a3b1f7a21' }
const keyOf = (digit: string) => digit.repeat(64)
const callback = { webhookId: 'b7d7c1de-58d1-4e0a-8f6c-2c4f6a0c9e21', trackingId, merchantId, at }

const events = {
  registered: {
    type: 'MerchantRegistered',
    data: {
      ...ofMerchant,
      settings: merchantSettings,
      ...{ apiKeySha256: keyOf('a'), secretKey: sealed, webhookSecret: sealed },
    },
  },
  settings: (name: string): DomainEvent => ({
    type: 'MerchantSettingsChanged',
    data: { ...ofMerchant, changes: { name } },
  }),
  key: (name: string, digit: string): DomainEvent => ({
    type: 'ApiKeyCreated',
    data: { ...ofMerchant, name, apiKeySha256: keyOf(digit), scopes: ['read'], validUntil: null },
  }),
  revoked: (digit: string): DomainEvent => ({
    type: 'ApiKeyRevoked',
    data: { ...ofMerchant, keyId: keyOf(digit).slice(0, 12) },
  }),
  created: { ...depositCreated, data: { ...depositCreated.data, ...transfer, name: 'Ada' } },
  loggedIn: { type: 'WalletLoggedIn', data: { ...challenge, accountNumber } },
  debited: (of: string): DomainEvent => ({
    type: 'WalletAccountDebited',
    data: { accountNumber, trackingId: of, amountMinor: 10_050n, description: 'Shop', at },
  }),
  completed: {
    type: 'TransferCompleted',
    data: {
      ...transfer,
      ...{ transactionAmountMinor: 10_050n, receivedAmountMinor: 10_050n, hasAmountMismatch: false },
      ...{ receiptUrl: null, message: null, reason: null },
    },
  },
  callback: {
    type: 'CallbackRecorded',
    data: {
      ...callback,
      transferRevision: 1,
      payload: {
        ...{ status: 2, referenceId: 'order-1', message: null, amountMinor: 10_050n, transactionAmountMinor: 10_050n },
        ...{ hasAmountMismatch: false, receiptUrl: null },
      },
    },
  },
  delivered: { type: 'CallbackDelivered', data: { ...callback, attempt: 1, httpStatus: 200, durationMs: 4 } },
  failing: { type: 'CallbackEndpointFailing', data: { ...ofMerchant, since: at } },
  recovered: { type: 'CallbackEndpointRecovered', data: ofMerchant },
} as const satisfies { readonly [name: string]: DomainEvent | ((...args: string[]) => DomainEvent) }

const metadata = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }

/** Appends the events sequentially, each at the end of its stream. */
async function appendAll(store: EventStore, ...happened: (readonly [stream: string, event: DomainEvent | NewEvent])[]) {
  for (const [stream, event] of happened) {
    const revision = (await store.readStream(stream)).length - 1
    const recorded = 'id' in event ? event : encodeEvent(event, metadata)
    await store.append(stream, revision < 0 ? 'no_stream' : revision, [recorded])
  }
}

const [ofTransfer, ofEndpoint, merchant] = [
  transferStream(trackingId),
  endpointStream(merchantId),
  merchantStream(merchantId),
]

async function storyIn(store: EventStore) {
  return (await auditedHistory({ store }, { trackingId }))?.map(({ source, type, data }) => ({ source, type, data }))
}

t.test(
  'includes every stream with events of the transfer, and the changes of the merchant that affected it',
  async (t) => {
    const store = await openTestStore(t)
    await appendAll(
      store,
      [merchant, events.registered],
      [merchant, events.settings('First')],
      [merchant, events.settings('Second')],
      [merchant, events.key('gone', 'b')],
      [merchant, events.key('valid', 'c')],
      [merchant, events.revoked('b')],
      [ofEndpoint, events.failing],
      [ofEndpoint, events.recovered],
      [ofTransfer, events.created],
      [paymentStream(trackingId), events.loggedIn],
      [merchant, events.settings('Meanwhile')],
      [`wallet-${accountNumber}`, events.debited('another')],
      [`wallet-${accountNumber}`, events.debited(trackingId)],
      [ofTransfer, events.completed],
      [callbackStream(trackingId), events.callback],
      [ofEndpoint, events.failing],
      [callbackStream(trackingId), events.delivered],
      [merchant, events.settings('Afterwards')],
    )
    const story = (await auditedHistory({ store }, { trackingId }))!
    t.strictSame(
      story.map(({ source, type, data }) => [source, type, data.changes ?? data.name ?? null]),
      [
        ['merchant', 'MerchantRegistered', null],
        ['merchant', 'MerchantSettingsChanged', { name: 'Second' }],
        ['merchant', 'ApiKeyCreated', 'valid'],
        ['transfer', 'DepositCreated', 'Ada'],
        ['payment', 'WalletLoggedIn', null],
        ['merchant', 'MerchantSettingsChanged', { name: 'Meanwhile' }],
        ['wallet', 'WalletAccountDebited', null],
        ['transfer', 'TransferCompleted', null],
        ['callback', 'CallbackRecorded', null],
        ['merchant', 'CallbackEndpointFailing', null],
        ['callback', 'CallbackDelivered', null],
      ],
    )
    t.match(story[3], { stream: ofTransfer, revision: 0, actor: 'cli:grace', correlationId: 'job-1', at })
    const positions = story.map(({ position }) => Number(position))
    t.strictSame(
      positions,
      [...positions].sort((a, b) => a - b),
    )
    const text = JSON.stringify(story)
    for (const secret of [sealed, keyOf('a'), keyOf('c'), challenge.challengeId]) t.notOk(text.includes(secret))
    const then = await auditedHistory(
      { store },
      {
        trackingId,
        asOf: { position: { commit: BigInt(positions[4]!), prepare: BigInt(positions[4]!) } },
      },
    )
    t.strictSame(then, story.slice(0, 5), 'equals the history at that time')
  },
)

t.test('includes changes of the merchant while the transfer is expected to change', async (t) => {
  const store = await openTestStore(t)
  await appendAll(store, [merchant, events.registered], [ofTransfer, events.created], [ofTransfer, events.completed])
  await appendAll(store, [callbackStream(trackingId), events.callback], [merchant, events.settings('While it waits')])
  t.match((await storyIn(store))?.at(-1), { type: 'MerchantSettingsChanged' })
  await appendAll(store, [callbackStream(trackingId), events.delivered], [merchant, events.settings('Afterwards')])
  t.match((await storyIn(store))?.at(-1), { type: 'CallbackDelivered' })
})

t.test('reports an unreadable event and shows all others', async (t) => {
  const store = await openTestStore(t)
  const id = '3f0c4c7e-8f6b-4d0a-9a52-6a4b6e5d1c01'
  const unknownEvent: NewEvent = {
    id,
    type: 'TransferVanished',
    data: { secret: 'tk_1' },
    metadata: { schemaVersion: 1 },
  }
  await appendAll(store, [merchant, events.registered], [ofTransfer, events.created], [ofTransfer, unknownEvent])
  await appendAll(store, [ofTransfer, events.completed])
  const story = await storyIn(store)
  t.strictSame(
    story?.map(({ type }) => type),
    ['MerchantRegistered', 'DepositCreated', 'TransferVanished', 'TransferCompleted'],
  )
  t.match(story?.[2]?.data, { unreadable: /unknown event/ })
  t.notMatch(JSON.stringify(story), 'tk_1')
  t.equal(await auditedHistory({ store }, { trackingId: 'unknown' }), undefined)
})
