import { callbackStream, paymentStream, transferStream } from '../domain/streams.js'
import { type DomainEvent, type EventMetadata, shownType } from '../event-store/event-codec.js'
import { comparePositions, type EventStore, type RecordedEvent } from '../event-store/event-store.js'
import { readableEvent, whyUnreadable } from '../event-store/read-event.js'
import { shownFields } from './shown-fields.js'

export interface StoryEntry {
  readonly at: string
  readonly source: 'transfer' | 'payment' | 'callback'
  readonly type: string
  readonly revision: number
  readonly actor: string
  readonly correlationId: string
  readonly data: { readonly [field: string]: unknown }
}

/** With the event that it tells. */
export interface PlacedEntry<Source extends string> {
  readonly recorded: RecordedEvent
  readonly shown: Omit<StoryEntry, 'source'> & { readonly source: Source }
}

/** The latest; a transfer has a few dozen. */
const maxEntries = 2_000

/** What names the transfer, and is said above the story. */
const common = new Set(['trackingId', 'merchantId', 'kind', 'referenceId', 'at'])
/** The id of a log-in is what its tokens are known by: `challengeId` is shown to nobody. */
const ofPayments = [
  'attempt',
  'expiresAt',
  'collection',
  'amountMinor',
  'outcome',
  'collectedAmountMinor',
  'receiptUrl',
]
const ofCallbacks = [
  ...['webhookId', 'transferRevision', 'payload'],
  ...['attempt', 'httpStatus', 'durationMs', 'reason', 'nextAttemptAt'],
]

interface StoryOptions {
  /** The customer's wallet account, which is the wallet's to know and not the merchant's. */
  readonly showsAccounts: boolean
  /** Events that cannot be read and those that are skipped: left out, or told of as such. */
  readonly unread: 'leave out' | 'tell'
}

/** All that happened to a transfer, how it was paid and what was told of it, in the order of the log. @throws StoreUnavailableError */
export async function storyOf(
  store: Pick<EventStore, 'readStream'>,
  trackingId: string,
  { showsAccounts }: Pick<StoryOptions, 'showsAccounts'>,
): Promise<readonly StoryEntry[]> {
  const entries = await storyEntries(store, trackingId, { showsAccounts, unread: 'leave out' })
  return inOrder(entries)
    .slice(-maxEntries)
    .map(({ shown }) => shown)
}

/** The same in no order. @throws StoreUnavailableError */
export async function storyEntries(
  store: Pick<EventStore, 'readStream'>,
  trackingId: string,
  { showsAccounts, unread }: StoryOptions,
): Promise<readonly PlacedEntry<StoryEntry['source']>[]> {
  const [transfer, payment, callbacks] = await Promise.all([
    store.readStream(transferStream(trackingId)),
    store.readStream(paymentStream(trackingId)),
    store.readStream(callbackStream(trackingId)),
  ])
  const paymentFields = [...ofPayments, 'reason', ...(showsAccounts ? ['accountNumber'] : [])]
  const entry = unread === 'tell' ? toldEntry : readEntry
  return [
    ...transfer.flatMap((each) => entry('transfer', each, ({ data }) => fieldsBut(common, data)) ?? []),
    ...payment.flatMap((each) => entry('payment', each, () => paymentFields) ?? []),
    ...callbacks.flatMap((each) => entry('callback', each, () => ofCallbacks) ?? []),
  ]
}

export function inOrder<Source extends string>(entries: readonly PlacedEntry<Source>[]): PlacedEntry<Source>[] {
  return [...entries].sort((a, b) => comparePositions(a.recorded.position, b.recorded.position))
}

function fieldsBut(left: ReadonlySet<string>, data: object): string[] {
  return Object.keys(data).filter((field) => !left.has(field))
}

/** Undefined for an event that does not count, or cannot be read. */
export function readEntry<Source extends string>(
  source: Source,
  recorded: RecordedEvent,
  fieldsOf: (event: DomainEvent) => readonly string[],
): PlacedEntry<Source> | undefined {
  const event = readableEvent(recorded)
  if (!event) return undefined
  const { at } = event.data as { readonly at: string }
  return placed(source, recorded, event.type, at, shownFields(event.data, fieldsOf(event)))
}

/** What cannot be told of is there all the same: where it stands, and why. */
export function toldEntry<Source extends string>(
  source: Source,
  recorded: RecordedEvent,
  fieldsOf: (event: DomainEvent) => readonly string[],
): PlacedEntry<Source> {
  const entry = readEntry(source, recorded, fieldsOf)
  if (entry) return entry
  const unreadable = whyUnreadable(recorded)
  const data = {
    ...(recorded.isSkipped && { skipped: true }),
    ...(unreadable !== undefined && { unreadable }),
  }
  return placed(source, recorded, shownType(recorded.type), new Date(recorded.recordedAtMs).toISOString(), data)
}

function placed<Source extends string>(
  source: Source,
  recorded: RecordedEvent,
  type: string,
  at: string,
  data: StoryEntry['data'],
): PlacedEntry<Source> {
  const { revision, metadata } = recorded
  const { actor = '', $correlationId: correlationId = '' } = metadata as Partial<EventMetadata>
  return { recorded, shown: { at, source, type, revision, actor, correlationId, data } }
}
