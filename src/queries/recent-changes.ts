import type { EndpointEvent } from '../domain/callback.js'
import type { PayoutEvent } from '../domain/counted-payouts.js'
import type { MerchantEvent } from '../domain/merchant/merchant-events.js'
import { merchantStream, userStream } from '../domain/streams.js'
import type { UserEvent } from '../domain/user/user.js'
import type { EventMetadata } from '../event-store/event-codec.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'

interface Change {
  readonly at: string
  readonly actor: string
  readonly type: string
  readonly subject: string
  readonly data: { readonly [field: string]: unknown }
}

/** The fields that are shown of each event. All other fields are hidden, and null marks an event that is not a change. */
const shown: {
  readonly [Type in (MerchantEvent | EndpointEvent | PayoutEvent | UserEvent)['type']]: readonly string[] | null
} = {
  MerchantRegistered: ['settings'],
  MerchantSettingsChanged: ['changes'],
  ApprovalThresholdProposed: ['approvalAboveMinor', 'withdrawalLimits', 'approvalOverDay'],
  ApiKeyRotated: ['previousValidUntil'],
  ApiKeyCreated: ['name', 'scopes', 'validUntil'],
  ApiKeyRevoked: ['keyId'],
  SecretKeyRotated: ['previousValidUntil'],
  SecretKeyTakenUp: null,
  WebhookSecretRotated: ['previousValidUntil'],
  MerchantSecretsResealed: null,
  MerchantLogoChanged: ['sha256'],
  MerchantSuspended: [],
  MerchantResumed: [],
  CallbackEndpointDisabled: ['reason'],
  CallbackEndpointEnabled: [],
  CallbackEndpointFailing: ['since'],
  CallbackEndpointRecovered: [],
  CallbackRetryRequested: [],
  PayoutCounted: ['amountMinor', 'exceeded'],
  PayoutUncounted: [],
  UserCreated: ['name', 'role', 'merchantIds'],
  UserRoleChanged: ['role', 'merchantIds'],
  UserDisabled: [],
  UserEnabled: [],
  UserPasswordSet: ['temporary'],
  UserSecondFactorSet: [],
  UserSecondFactorRemoved: [],
  UserRecoveryCodesIssued: [],
  UserRecoveryCodeUsed: [],
  UserAccessHeld: [],
  UserAccessConfirmed: [],
  UserSignedIn: null,
  UserConfirmed: null,
  UserSessionsEnded: [],
  UserSecretsResealed: null,
}

const maxChanges = 200
const pageSize = 200
/** The limit per stream and response. */
const maxEventsRead = 2_000
const streamsPerBatch = 16

/** Returns the latest changes of these merchants and users, newest first, at most {@link maxChanges}. @throws StoreUnavailableError */
export async function changesOf(
  { store }: { readonly store: Pick<EventStore, 'readStream'> },
  { merchantIds, userIds }: { readonly merchantIds: readonly string[]; readonly userIds: readonly string[] },
): Promise<readonly Change[]> {
  const streams = [
    ...merchantIds.map((id) => ({ stream: merchantStream(id), subject: id })),
    ...userIds.map((id) => ({ stream: userStream(id), subject: id })),
  ]
  let found: PositionedChange[] = []
  for (let from = 0; from < streams.length; from += streamsPerBatch) {
    const some = streams.slice(from, from + streamsPerBatch)
    const batch = some.map(({ stream, subject }) => newest(store, stream, subject))
    found = [...found, ...(await Promise.all(batch)).flat()]
      .sort((a, b) => comparePositions(b.position, a.position))
      .slice(0, maxChanges)
  }
  return found.map(({ position, ...change }) => change)
}

type PositionedChange = Change & { readonly position: Position }

async function newest(store: Pick<EventStore, 'readStream'>, stream: string, subject: string) {
  const found: PositionedChange[] = []
  let fromRevision: number | undefined
  for (let read = 0; read < maxEventsRead && found.length < maxChanges; read += pageSize) {
    const before = fromRevision === undefined ? {} : { fromRevision }
    const page = await store.readStream(stream, { direction: 'backwards', maxCount: pageSize, ...before })
    found.push(...page.flatMap((recorded) => changeOf(recorded, subject) ?? []))
    const last = page.at(-1)
    if (!last || last.revision === 0) break
    fromRevision = last.revision - 1
  }
  return found
}

function changeOf(recorded: RecordedEvent, subject: string): PositionedChange | undefined {
  const event = readableEvent(recorded)
  const fields = event && shownChangeFields(event.type)
  if (!event || !fields) return undefined
  const { at } = event.data as { readonly at: string }
  const { actor } = recorded.metadata as EventMetadata
  const { position } = recorded
  return { at, actor, type: event.type, subject, data: shownFields(event.data, fields), position }
}

/** Returns the shown fields of an event type, or `null` if it is not a change. */
export function shownChangeFields(type: string): readonly string[] | null {
  return Object.hasOwn(shown, type) ? shown[type as keyof typeof shown] : null
}

/** Returns the named fields as JSON: amounts (bigint, of at most 15 digits) become numbers. */
export function shownFields(data: object, fields: readonly string[]): { readonly [field: string]: unknown } {
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(data, field)).map((field) => [field, withNumbers(Reflect.get(data, field))]),
  )
}

function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(withNumbers)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withNumbers(each)]))
}
