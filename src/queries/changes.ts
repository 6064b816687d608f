import type { EndpointEvent } from '../domain/callback/endpoint-decider.js'
import type { MerchantEvent } from '../domain/merchant/merchant-events.js'
import { merchantStream, userStream } from '../domain/streams.js'
import type { UserEvent } from '../domain/user/user-events.js'
import type { EventMetadata } from '../event-store/event-codec.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { shownFields } from './shown-fields.js'

/** One change of a merchant or a user. */
export interface Change {
  readonly at: string
  readonly actor: string
  readonly type: string
  /** The merchant's or the user's id. */
  readonly subject: string
  readonly data: { readonly [field: string]: unknown }
}

/** What is told of each event; a field that is not named here is told to nobody, and null is no change. */
const told: { readonly [Type in (MerchantEvent | EndpointEvent | UserEvent)['type']]: readonly string[] | null } = {
  MerchantRegistered: ['settings'],
  MerchantSettingsChanged: ['changes'],
  ApiKeyRotated: ['previousValidUntil'],
  ApiKeyCreated: ['name', 'scopes', 'validUntil'],
  ApiKeyRevoked: ['keyId'],
  SecretKeyRotated: ['previousValidUntil'],
  SecretKeyTakenUp: null,
  WebhookSecretRotated: ['previousValidUntil'],
  MerchantSecretsResealed: null,
  MerchantSuspended: [],
  MerchantResumed: [],
  CallbackEndpointDisabled: ['reason'],
  CallbackEndpointEnabled: [],
  CallbackEndpointFailing: ['since'],
  CallbackEndpointRecovered: [],
  UserCreated: ['name', 'role', 'merchantIds'],
  UserRoleChanged: ['role', 'merchantIds'],
  UserDisabled: [],
  UserEnabled: [],
  UserPasswordSet: ['temporary'],
  UserSecondFactorSet: [],
  UserSecondFactorRemoved: [],
  UserSignedIn: null,
  UserConfirmed: null,
  UserSessionsEnded: [],
  UserSecretsResealed: null,
}

export const maxChanges = 200
const pageSize = 200
/** Of one stream, for one answer. */
const maxEventsLookedAt = 2_000
const streamsAtOnce = 16

/** The newest changes of these merchants and users, newest first, at most {@link maxChanges}. @throws StoreUnavailableError */
export async function changesOf(
  store: Pick<EventStore, 'readStream'>,
  { merchantIds, userIds }: { readonly merchantIds: readonly string[]; readonly userIds: readonly string[] },
): Promise<readonly Change[]> {
  const streams = [
    ...merchantIds.map((id) => ({ stream: merchantStream(id), subject: id })),
    ...userIds.map((id) => ({ stream: userStream(id), subject: id })),
  ]
  let found: Placed[] = []
  for (let from = 0; from < streams.length; from += streamsAtOnce) {
    const lot = streams.slice(from, from + streamsAtOnce).map(({ stream, subject }) => newest(store, stream, subject))
    found = [...found, ...(await Promise.all(lot)).flat()]
      .sort((a, b) => comparePositions(b.position, a.position))
      .slice(0, maxChanges)
  }
  return found.map(({ change }) => change)
}

interface Placed {
  readonly position: Position
  readonly change: Change
}

async function newest(store: Pick<EventStore, 'readStream'>, stream: string, subject: string): Promise<Placed[]> {
  const found: Placed[] = []
  let fromRevision: number | undefined
  for (let lookedAt = 0; lookedAt < maxEventsLookedAt && found.length < maxChanges; lookedAt += pageSize) {
    const before = fromRevision === undefined ? {} : { fromRevision }
    const page = await store.readStream(stream, { direction: 'backwards', maxCount: pageSize, ...before })
    found.push(...page.flatMap((recorded) => changeOf(recorded, subject) ?? []))
    const last = page.at(-1)
    if (!last || last.revision === 0) break
    fromRevision = last.revision - 1
  }
  return found
}

function changeOf(recorded: RecordedEvent, subject: string): Placed | undefined {
  const event = readableEvent(recorded)
  const fields = event && fieldsTold(event.type)
  if (!event || !fields) return undefined
  const { at } = event.data as { readonly at: string }
  const { actor } = recorded.metadata as EventMetadata
  const change = { at, actor, type: event.type, subject, data: shownFields(event.data, fields) }
  return { position: recorded.position, change }
}

/** Null for what is no change. */
export function fieldsTold(type: string): readonly string[] | null {
  return Object.hasOwn(told, type) ? told[type as keyof typeof told] : null
}
