import { callbackDecider, type EndpointEvent } from '../domain/callback.js'
import { apiKeyId } from '../domain/merchant/api-key.js'
import type { MerchantEvent } from '../domain/merchant/merchant-events.js'
import {
  callbackStream,
  endpointStream,
  merchantStream,
  paymentStream,
  payoutsStream,
  transferStream,
  walletAccountStream,
} from '../domain/streams.js'
import { isTerminal } from '../domain/transfer/status.js'
import { needsAttention } from '../domain/transfer/transfer.js'
import { transferDecider } from '../domain/transfer/transfer-decider.js'
import { type EventMetadata, shownType, UnreadableEventError } from '../event-store/event-codec.js'
import {
  comparePositions,
  type EventStore,
  formatPosition,
  type Position,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { readableEvent, unreadableReason } from '../event-store/read-event.js'
import { foldAsOf, isRecordedBy, type PointInTime } from './point-in-time.js'
import { shownChangeFields, shownFields } from './recent-changes.js'

type Store = Pick<EventStore, 'readStream'>

/** One event in the history of a transfer, which happened at `at` and was recorded at `recordedAt` by the clock of the log. */
interface HistoryEntry<Source extends string = 'transfer' | 'payment' | 'callback'> {
  readonly at: string
  readonly source: Source
  readonly type: string
  readonly stream: string
  readonly revision: number
  /** As `formatPosition` prints it. */
  readonly position: string
  readonly recordedAt: string
  readonly actor: string
  readonly correlationId: string
  readonly data: { readonly [field: string]: unknown }
}

export type AuditedEntry = HistoryEntry<HistoryEntry['source'] | 'wallet' | 'merchant'>

/** The limit of entries, of which the latest are kept; a transfer has a few dozen. */
const maxEntries = 2_000
/** Fields that the page of the transfer shows once. */
const commonFields = new Set(['trackingId', 'merchantId', 'kind', 'referenceId', 'at'])
/** Without `challengeId`, which identifies the tokens of a login. */
const paymentFields = 'attempt expiresAt collection amountMinor outcome collectedAmountMinor receiptUrl reason'.split(
  ' ',
)
const callbackFields =
  'webhookId transferRevision payload dueAt attempt httpStatus durationMs reason nextAttemptAt'.split(' ')
const walletFields = ['accountNumber', 'amountMinor', 'description']

/**
 * Returns the readable events of a transfer, its payment and its callbacks, in the order of the log. The customer's wallet account is
 * hidden from merchants. @throws StoreUnavailableError
 */
export async function transferHistory(
  store: Store,
  trackingId: string,
  { showsAccounts }: { readonly showsAccounts: boolean },
) {
  const events = (await transferEvents(store, trackingId)).filter(({ recorded }) => readableEvent(recorded))
  return inOrder(events)
    .slice(-maxEntries)
    .map((event) => entryOf(event, showsAccounts))
}

/**
 * Returns the complete history of a transfer in the order of the log: its own events, its payment, the wallet accounts that took part, and
 * the changes of its merchant and endpoint that concern it, and its counts against the merchant's limits. Unreadable events are included without their data. Returns `undefined` if the
 * transfer did not exist. @throws StoreUnavailableError
 */
export async function auditedHistory(
  { store }: { readonly store: Store },
  { trackingId, asOf }: { readonly trackingId: string; readonly asOf?: PointInTime | undefined },
) {
  const known = <Event extends SourcedEvent<string>>(events: readonly Event[]) =>
    events.filter(({ recorded }) => isRecordedBy(recorded, asOf))
  const own = known(await transferEvents(store, trackingId))
  const created = inOrder(own).find(({ source }) => source === 'transfer')?.recorded
  if (!created) return undefined
  const events: SourcedEvent<AuditedEntry['source']>[] = [...own, ...known(await walletEvents(store, trackingId))]
  const { merchantId } = created.data
  if (typeof merchantId !== 'string') return inOrder(events).map((event) => entryOf(event))
  const counts = await sourced(store, 'merchant', [payoutsStream(merchantId)])
  events.push(...known(counts.filter(({ recorded }) => recorded.data.trackingId === trackingId)))
  const ofMerchant = await sourced(store, 'merchant', [merchantStream(merchantId), endpointStream(merchantId)])
  const last = inOrder(events).at(-1)!.recorded.position
  const ended = (await hasEnded(store, trackingId, asOf)) ? last : undefined
  const isConcerning = concerning(inOrder(ofMerchant), created.position, ended)
  return inOrder([...events, ...known(ofMerchant.filter(isConcerning))]).map((event) => entryOf(event))
}

interface SourcedEvent<Source extends string> {
  readonly source: Source
  readonly recorded: RecordedEvent
}

async function sourced<Source extends string>(store: Store, source: Source, streams: readonly string[]) {
  const events = await Promise.all(streams.map((stream) => store.readStream(stream)))
  return events.flat().map((recorded) => ({ source, recorded }))
}

async function transferEvents(store: Store, trackingId: string) {
  const found = await Promise.all([
    sourced(store, 'transfer', [transferStream(trackingId)]),
    sourced(store, 'payment', [paymentStream(trackingId)]),
    sourced(store, 'callback', [callbackStream(trackingId)]),
  ])
  return found.flat()
}

/** Returns the transfer's events in the accounts of the built-in wallet with which the customer logged in. */
async function walletEvents(store: Store, trackingId: string): Promise<readonly SourcedEvent<'wallet'>[]> {
  const accounts = (await store.readStream(paymentStream(trackingId))).flatMap((recorded) => {
    const data = readableEvent(recorded)?.data
    return data && 'accountNumber' in data && typeof data.accountNumber === 'number' ? [data.accountNumber] : []
  })
  const events = await sourced(store, 'wallet', [...new Set(accounts)].map(walletAccountStream))
  return events.filter(({ recorded }) => recorded.data.trackingId === trackingId)
}

/** Returns whether nothing more is expected of the transfer, so that later changes of its merchant do not concern it. */
async function hasEnded(store: Store, trackingId: string, asOf: PointInTime | undefined): Promise<boolean> {
  try {
    const { state: transfer } = await foldAsOf(store, transferDecider, transferStream(trackingId), asOf)
    if (transfer.kind === 'none' || !isTerminal(transfer.status) || needsAttention(transfer)) return false
    const { state: lane } = await foldAsOf(store, callbackDecider, callbackStream(trackingId), asOf)
    return lane.deliveries.every(({ status }) => status === 'delivered')
  } catch (error) {
    // The unreadable event still needs a decision, and the history shows it.
    if (error instanceof UnreadableEventError) return false
    throw error
  }
}

function inOrder<Event extends SourcedEvent<string>>(events: readonly Event[]): Event[] {
  return [...events].sort((a, b) => comparePositions(a.recorded.position, b.recorded.position))
}

function entryOf<Source extends AuditedEntry['source']>(
  { source, recorded }: SourcedEvent<Source>,
  showsAccounts = true,
): HistoryEntry<Source> {
  const { stream, revision, position, recordedAtMs, metadata } = recorded
  const { actor = '', $correlationId: correlationId = '' } = metadata as Partial<EventMetadata>
  const recordedAt = new Date(recordedAtMs).toISOString()
  const event = readableEvent(recorded)
  const place = { stream, revision, position: formatPosition(position), recordedAt, actor, correlationId }
  if (event) {
    const { at } = event.data as { readonly at: string }
    const fields = fieldsOf(source, event, showsAccounts)
    return { at, source, type: event.type, ...place, data: shownFields(event.data, fields) }
  }
  const unreadable = unreadableReason(recorded)
  const data = { ...(recorded.isSkipped && { skipped: true }), ...(unreadable !== undefined && { unreadable }) }
  return { at: recordedAt, source, type: shownType(recorded.type), ...place, data }
}

function fieldsOf(
  source: AuditedEntry['source'],
  { type, data }: { readonly type: string; readonly data: object },
  showsAccounts: boolean,
): readonly string[] {
  switch (source) {
    case 'transfer':
      return Object.keys(data).filter((field) => !commonFields.has(field))
    case 'payment':
      return showsAccounts ? [...paymentFields, 'accountNumber'] : paymentFields
    case 'callback':
      return callbackFields
    case 'wallet':
      return walletFields
    case 'merchant':
      return shownChangeFields(type) ?? []
    default:
      return source satisfies never
  }
}

/**
 * Selects, from the events of a merchant and its endpoint in the order of the log, those that concern a transfer: the settings and keys in
 * effect when it was created, and what changed until it ended. An unreadable event is always included.
 */
function concerning(events: readonly SourcedEvent<string>[], created: Position, ended: Position | undefined) {
  const isBefore = ({ position }: RecordedEvent) => comparePositions(position, created) < 0
  const inEffect = latestEvents(events.map(({ recorded }) => recorded).filter(isBefore))
  return ({ recorded }: SourcedEvent<string>): boolean => {
    if (isBefore(recorded)) return inEffect.has(recorded)
    if (ended && comparePositions(recorded.position, ended) > 0) return false
    const event = readableEvent(recorded)
    return !event || shownChangeFields(event.type) !== null
  }
}

function latestEvents(events: readonly RecordedEvent[]): ReadonlySet<RecordedEvent> {
  const latest = new Map<string, RecordedEvent>()
  for (const recorded of events) {
    const event = readableEvent(recorded) as MerchantEvent | EndpointEvent | undefined
    if (!event) latest.set(`${recorded.stream}@${recorded.revision}`, recorded)
    else if (ending.has(event.type)) latest.delete(subjectsOf(event)[0]!)
    else for (const subject of subjectsOf(event)) latest.set(subject, recorded)
  }
  return new Set(latest.values())
}

/** The subject that an event replaces or ends; `null` if it depends on the event's data ({@link subjectsOf}), or if there is no subject. */
const subjects: { readonly [type in (MerchantEvent | EndpointEvent)['type']]: string | null } = {
  MerchantRegistered: 'registration',
  MerchantSettingsChanged: null,
  ApprovalThresholdProposed: null,
  ApiKeyRotated: 'main key',
  ApiKeyCreated: null,
  ApiKeyRevoked: null,
  SecretKeyRotated: 'SecretKey',
  WebhookSecretRotated: 'webhook secret',
  SecretKeyTakenUp: null,
  MerchantSecretsResealed: null,
  MerchantLogoChanged: 'logo',
  MerchantSuspended: 'suspended',
  MerchantResumed: 'suspended',
  CallbackEndpointDisabled: 'endpoint disabled',
  CallbackEndpointEnabled: 'endpoint disabled',
  CallbackEndpointFailing: 'endpoint failing',
  CallbackEndpointRecovered: 'endpoint failing',
  CallbackRetryRequested: 'callback retry',
}
const ending: ReadonlySet<string> = new Set([
  ...['ApiKeyRevoked', 'MerchantResumed', 'CallbackEndpointEnabled', 'CallbackEndpointRecovered'],
])

function subjectsOf(event: MerchantEvent | EndpointEvent): readonly string[] {
  if (event.type === 'MerchantSettingsChanged') return Object.keys(event.data.changes).map((name) => `setting ${name}`)
  if (event.type === 'ApiKeyCreated') return [`key ${apiKeyId({ sha256: event.data.apiKeySha256 })}`]
  if (event.type === 'ApiKeyRevoked') return [`key ${event.data.keyId}`]
  const subject = subjects[event.type]
  return subject === null ? [] : [subject]
}
