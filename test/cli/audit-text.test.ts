import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { generateSigner, parseSigner, signNote } from '@transferd/transparency-log'
import fc from 'fast-check'
import t from 'tap'
import { checkpointText } from '../../src/cli/checkpoint-text.js'
import { sentenceOf, storyText } from '../../src/cli/event-text.js'
import { fieldTable } from '../../src/cli/field-table.js'
import { namesFrom } from '../../src/cli/names.js'
import { stateText } from '../../src/cli/state-text.js'
import {
  callbackStream,
  endpointStream,
  merchantStream,
  paymentStream,
  payoutsStream,
  transferStream,
  userStream,
  walletAccountStream,
} from '../../src/domain/streams.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { isVisible } from '../../src/kernel/text.js'
import { stateAsOf } from '../../src/queries/state-as-of.js'
import { auditedHistory } from '../../src/queries/transfer-history.js'
import { misleadingMetadata } from '../domain/transfer-samples.js'
import { goldenEvents } from '../event-store/codec/golden-events.js'
import { anyText } from '../support/any-text.js'
import { openTestStore } from '../support/embedded-store.js'

const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'
const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
const names = namesFrom({
  currency: { code: 'EUR', decimals: 2 },
  paymentMethods: [{ code: 1, name: 'Wallet' }],
  user: (id) => (id === '5f1c2a7e-90f1-4a53-8f0e-3a1f6f6f0b11' ? 'Grace Hopper' : undefined),
  merchant: (id) => (id === merchantId ? 'Blue Shop' : undefined),
})
const [transfer, payment, callback] = [
  transferStream(trackingId),
  paymentStream(trackingId),
  callbackStream(trackingId),
]
const [merchant, endpoint, wallet] = [
  merchantStream(merchantId),
  endpointStream(merchantId),
  walletAccountStream(481_920_375_566),
]

type Samples = readonly [stream: string, ...types: string[]]

/** Appends the stored samples of events, one per second of a fixed clock. */
async function appendSamples(store: EventStore, ...happened: readonly Samples[]) {
  const startMs = Date.parse('2026-03-01T10:00:00.250Z')
  const events = happened.flatMap(([stream, ...types]) => types.map((type) => ({ stream, type })))
  for (const [second, { stream, type }] of events.entries()) {
    const stored = goldenEvents.get(`${type}.v1`) ?? { type, data: {}, metadata: { actor: 'program:unknown' } }
    const at = new Date(startMs + second * 1_000).toISOString()
    const revision = (await store.readStream(stream)).length - 1
    const event = { ...stored, id: randomUUID(), data: { ...stored.data, at } }
    await store.append(stream, revision < 0 ? 'no_stream' : revision, [event])
  }
}

/** The file has exactly what a command prints. */
const expected = (name: string) => readFileSync(`test/fixtures/audit/${name}.txt`, 'utf8')

const deposit: readonly Samples[] = [
  [merchant, 'MerchantRegistered', 'ApiKeyCreated'],
  [transfer, 'DepositCreated'],
  [payment, 'WalletLoggedIn', 'WalletCodeAttempted', 'WalletCodeVerified', 'WalletDeviceQuestioned'],
  [payment, 'WalletDeviceConfirmed', 'WalletCollectionStarted'],
  [wallet, 'WalletDebitRefused', 'WalletAccountDebited'],
  [payment, 'WalletCollectionEnded'],
  [transfer, 'TransferSentToManualControl', 'TransferCancelled', 'LateFundsReceived', 'FundsReturned'],
  [transfer, 'FundsReceived', 'AttentionResolved', 'TransferReopened'],
  [merchant, 'MerchantSettingsChanged', 'ApprovalThresholdProposed', 'ApiKeyRotated', 'ApiKeyRevoked'],
  [merchant, 'SecretKeyRotated', 'WebhookSecretRotated', 'MerchantLogoChanged', 'MerchantSuspended'],
  [merchant, 'MerchantResumed', 'CallbackEndpointDisabled', 'CallbackEndpointEnabled'],
  [endpoint, 'CallbackEndpointFailing', 'CallbackRetryRequested', 'CallbackEndpointRecovered'],
  [transfer, 'TransferCompleted', 'CorrectionProposed', 'TransferCorrected'],
  [callback, 'CallbackRecorded', 'CallbackAttemptFailed', 'CallbackParked', 'CallbackRequeued', 'CallbackDelivered'],
]
const withdrawal: readonly Samples[] = [
  [transfer, 'WithdrawalCreated'],
  [payoutsStream(merchantId), 'PayoutCounted'],
  [transfer, 'WithdrawalClaimed', 'WithdrawalReleased', 'WithdrawalAddedToBankFile'],
  [transfer, 'WithdrawalApproved', 'TransferFailed', 'WithdrawalReturned', 'BankPaymentMatched'],
  [payoutsStream(merchantId), 'PayoutUncounted'],
]

t.test('tells every kind of event of a deposit in words, with amounts, people and reasons', async (t) => {
  const store = await openTestStore(t)
  await appendSamples(store, ...deposit)
  t.equal(storyText((await auditedHistory({ store }, { trackingId }))!, names), expected('deposit-story'))
})

t.test('tells every kind of event of a withdrawal, and marks unreadable ones', async (t) => {
  const store = await openTestStore(t)
  await appendSamples(store, ...withdrawal, [transfer, 'PersonalDataErased', 'Foreign'])
  const story = (await auditedHistory({ store }, { trackingId }))!
  // An unreadable event has only the time of the log.
  const fixed = story.map((each) => (each.type === 'Foreign' ? { ...each, at: '2026-03-01T10:00:11.250Z' } : each))
  t.equal(storyText(fixed, names), expected('withdrawal-story'))
})

async function shownState(store: EventStore, of: 'transfer' | 'merchant' | 'user' | 'statement', id: string) {
  const state = await stateAsOf({ store }, { of, id })
  if (!state || state === 'malformed') throw new Error('no state')
  return stateText({ ...state, recordedAt: '2026-03-01T10:01:00.000Z' }, names)
}

t.test('prints the state of a deposit, a merchant and a statement as tables', async (t) => {
  const store = await openTestStore(t)
  await appendSamples(store, ...deposit)
  t.equal(await shownState(store, 'transfer', trackingId), expected('deposit-state'))
  t.equal(await shownState(store, 'merchant', merchantId), expected('merchant-state'))
  t.equal(await shownState(store, 'statement', `${merchantId}/2026-03-01`), expected('statement-state'))
  const empty = await shownState(store, 'statement', `${merchantId}/2026-02-01`)
  t.ok(empty.endsWith('\n\nNo activity.\n'), empty)
})

t.test('prints the state of a withdrawal as a table', async (t) => {
  const store = await openTestStore(t)
  await appendSamples(store, ...withdrawal)
  t.equal(await shownState(store, 'transfer', trackingId), expected('withdrawal-state'))
})

t.test('prints the state of a user as a table, without a secret', async (t) => {
  const store = await openTestStore(t)
  const userId = '5b0d7c52-9a1c-4c66-8a57-0c2f6c1e7d11'
  const changes = ['UserSecondFactorSet', 'UserRecoveryCodesIssued', 'UserSignedIn', 'UserAccessHeld']
  await appendSamples(store, [userStream(userId), 'UserCreated', ...changes])
  t.equal(await shownState(store, 'user', userId), expected('user-state'))
})

t.test('prints a checkpoint as its lines and signatures', async (t) => {
  const [log, witness] = [parseSigner(generateSigner('log.example')), parseSigner(generateSigner('w', 'cosignature'))]
  const note = signNote('log.example\n42\nkF5AQaS0rLlkpEEYTk8cZlB4xWC20fKyWWD5am6/rDc=\n', [log])
  const [origin, size, root, , signature] = note.split('\n')
  t.equal(checkpointText(note), `Checkpoint\n  ${origin}\n  ${size}\n  ${root}\n  ${signature}\n`)
  const second = `— ${witness.name} AAAA`
  t.equal(checkpointText(`${note}${second}\n`), `${checkpointText(note)}  ${second}\n`)
  t.equal(checkpointText('a\r\u001b[2J\n1\nx\n\n'), 'Checkpoint\n  a\\u000d\\u001b[2J\n  1\n  x\n')
})

t.test('names actors with their short ids, and states that one is unknown', async (t) => {
  const actors: readonly [string, string][] = [
    ['user:5f1c2a7e-90f1-4a53-8f0e-3a1f6f6f0b11', 'Grace Hopper (user 5f1c2a7e)'],
    ['user:00000000-90f1-4a53-8f0e-3a1f6f6f0b11', 'unknown user 00000000'],
    [`merchant:${merchantId}`, 'Blue Shop (merchant 6f6a5c0e)'],
    ['merchant:none', 'unknown merchant none'],
    ['cli:grace', 'grace (command line)'],
    ['system:expiry', 'service (expiry)'],
    ['customer', 'customer'],
    ['', 'not recorded'],
    ['cli:a\nb', 'a\\u000ab (command line)'],
  ]
  for (const [actor, shown] of actors) t.equal(names.actor(actor), shown)
})

t.test('prints values with their units', async (t) => {
  const values: readonly [string, unknown, string][] = [
    ['amountMinor', 10_050, '100.50 EUR'],
    ['amountMinor', '5', '0.05 EUR'],
    ['mismatchMinor', '-50', '-0.50 EUR'],
    ['durationMs', 182.4, '182 ms'],
    ['status', 'ManualControl', 'ManualControl (3)'],
    ['status', 2, 'Completed (2)'],
    ['status', 9, '9'],
    ['at', '2026-03-01T10:00:00.250Z', '2026-03-01 10:00:00Z'],
    ['paymentMethod', 1, 'Wallet (1)'],
    ['paymentMethod', 7, '7'],
    ['accountNumber', 999_999_999_999, '[erased]'],
    ['message', 'customer', 'customer'],
    ['message', null, '-'],
    ['scopes', [], '-'],
    ['sandbox', false, 'no'],
    ['proposedBy', 'cli:grace', 'grace (command line)'],
    ['merchantIds', [merchantId], `Blue Shop (${merchantId})`],
    ['merchantIds', null, 'all'],
  ]
  for (const [name, value, shown] of values) t.equal(names.value(name, value), shown, `${name} ${value}`)
  const yen = namesFrom({
    currency: { code: 'JPY', decimals: 0 },
    paymentMethods: [],
    user: () => undefined,
    merchant: () => undefined,
  })
  t.equal(yen.value('amountMinor', 150_000), '1500 JPY')
})

t.test('prints the keys and values of an open record unchanged', async (t) => {
  const json = JSON.stringify(misleadingMetadata)
  t.equal(names.value('metadata', misleadingMetadata), json)
  t.equal(names.value('data', { metadata: misleadingMetadata }), `Metadata ${json}`)
  t.equal(names.value('metadata', {}), '-')
  const created = { type: 'DepositCreated', actor: 'customer', data: { metadata: misleadingMetadata } }
  t.equal(sentenceOf(created, names), `customer: Deposit created; Metadata: ${json}`)
  const erased = { ...created, data: { metadata: {} } }
  t.equal(sentenceOf(erased, names), 'customer: Deposit created')
  const width = 40
  const rows = Object.entries(misleadingMetadata).map(([key, value]) => `  ${key.padEnd(width)}  ${value}\n`)
  t.equal(fieldTable({ metadata: misleadingMetadata }, names), `Metadata\n${rows.join('')}`)
})

/** Texts that try to start a line, to move the cursor, or to look like other text. */
const hostile = fc.oneof(
  anyText({ maxLength: 12 }),
  fc.constantFrom('\n  9  2026-03-01 10:00:00Z  transfer  x', '\u001b[2J\u001b[1;1H', '\r', '\u2028', '\u202e', '\t'),
)
const value = fc.oneof(hostile, fc.integer(), fc.boolean(), fc.constant(null), fc.array(hostile, { maxLength: 2 }))
const nested = fc.dictionary(hostile, value, { maxKeys: 3 })
const record = fc.dictionary(hostile, hostile, { maxKeys: 3 })
const data = fc
  .tuple(fc.dictionary(hostile, fc.oneof(value, nested), { maxKeys: 5 }), record)
  .map(([fields, metadata]) => ({ ...fields, metadata }))
const hasOnlyVisible = (text: string) => text.split('\n').every(isVisible)

t.test('prints a line per event, whatever its values are', async () => {
  const event = fc.record({
    type: fc.oneof(hostile, fc.constant('TransferCompleted')),
    actor: hostile,
    data,
    name: hostile,
  })
  await fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 4 }), (events) => {
      const known = namesFrom({
        currency: { code: 'EUR', decimals: 2 },
        paymentMethods: [],
        user: () => events[0]!.name,
        merchant: () => undefined,
      })
      const at = '2026-03-01T10:00:00.250Z'
      const place = { at, source: 'transfer', stream: 's', revision: 0, recordedAt: at, correlationId: '' } as const
      const story = events.map((each, index) => ({
        ...place,
        ...each,
        position: String(index + 1),
        actor: `user:${each.actor}`,
      }))
      const text = storyText(story, known)
      if (!text.endsWith('\n') || !hasOnlyVisible(text)) return false
      const time = events.length > 1 ? '2026-03-01 10:00:00.250Z' : '2026-03-01 10:00:00Z'
      const before = (position: number) => `${String(position).padStart(8)}  ${time}  transfer  `
      const continued = ' '.repeat(before(1).length)
      const [head, ...lines] = text
        .slice(0, -1)
        .split('\n')
        .filter((line) => !line.startsWith(continued))
      const isWhole = lines.every((line, index) => line.startsWith(before(index + 1)))
      return /^POSITION {2}TIME +SOURCE {4}EVENT$/.test(head!) && isWhole && lines.length === events.length
    }),
  )
})

t.test('prints the fields of an object and no other lines, whatever they are', async (t) => {
  await fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), hostile, { minKeys: 1, maxKeys: 5 }), (fields) => {
      const text = fieldTable(fields, names)
      const lines = text.slice(0, -1).split('\n')
      const labels = lines.filter((line) => !line.startsWith('   '))
      return hasOnlyVisible(text) && labels.length === Object.keys(fields).length
    }),
  )
  await fc.assert(fc.property(data, (fields) => hasOnlyVisible(fieldTable(fields, names))))
  const forged = {
    type: 'TransferReopened',
    actor: 'cli:x\u001b[2K',
    data: { reason: 'ok”\n4  forged', by: 'user:\n' },
  }
  t.equal(
    sentenceOf(forged, names),
    'x\\u001b[2K (command line): Reopened; By unknown user \\u000a; “ok”\\u000a4  forged”',
  )
})
