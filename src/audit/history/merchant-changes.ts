import type { EndpointEvent } from '../../domain/callback/endpoint-decider.js'
import { apiKeyId } from '../../domain/merchant/api-key.js'
import type { MerchantEvent } from '../../domain/merchant/merchant-events.js'
import { endpointStream, merchantStream } from '../../domain/streams.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import { fieldsTold } from '../../queries/changes.js'
import { inOrder, type PlacedEntry, toldEntry } from '../../queries/transfer-history.js'

/** `to`: absent while it goes on. */
interface Span {
  readonly from: Position
  readonly to?: Position
}

/**
 * What bore on a transfer of the merchant that went on so long: what was in force as it began, and what changed meanwhile. Events that
 * cannot be read are told of, whenever they were. @throws StoreUnavailableError
 */
export async function merchantEntries(
  store: Pick<EventStore, 'readStream'>,
  merchantId: string,
  { from, to }: Span,
): Promise<PlacedEntry<'merchant'>[]> {
  const streams = [merchantStream(merchantId), endpointStream(merchantId)]
  const events = (await Promise.all(streams.map((stream) => store.readStream(stream)))).flat()
  const entries = inOrder(
    events.map((recorded) => toldEntry('merchant', recorded, ({ type }) => fieldsTold(type) ?? [])),
  )
  const before = entries.filter(({ recorded }) => comparePositions(recorded.position, from) < 0)
  const meanwhile = entries.filter(
    ({ recorded: { position } }) =>
      comparePositions(position, from) >= 0 && (!to || comparePositions(position, to) <= 0),
  )
  const inForce = standing(before.map(({ recorded }) => recorded))
  return [
    ...before.filter(({ recorded }) => inForce.has(recorded)),
    ...meanwhile.filter(({ recorded }) => {
      const event = readableEvent(recorded)
      return !event || fieldsTold(event.type) !== null
    }),
  ]
}

/** Those that nothing has replaced or ended. */
function standing(events: readonly RecordedEvent[]): ReadonlySet<RecordedEvent> {
  const latest = new Map<string, RecordedEvent>()
  for (const recorded of events) {
    const event = readableEvent(recorded) as MerchantEvent | EndpointEvent | undefined
    const { sets, ends } = event ? effectOf(event) : { sets: [`${recorded.stream}@${recorded.revision}`], ends: [] }
    for (const each of sets) latest.set(each, recorded)
    for (const each of ends) latest.delete(each)
  }
  return new Set(latest.values())
}

interface Effect {
  readonly sets: readonly string[]
  readonly ends: readonly string[]
}

/** What an event puts in the place of what was there before, and what it puts an end to. */
function effectOf(event: MerchantEvent | EndpointEvent): Effect {
  const sets = (...names: string[]): Effect => ({ sets: names, ends: [] })
  const ends = (name: string): Effect => ({ sets: [], ends: [name] })
  switch (event.type) {
    case 'MerchantRegistered':
      return sets('registration')
    case 'MerchantSettingsChanged':
      return sets(...Object.keys(event.data.changes).map((name) => `setting ${name}`))
    case 'ApiKeyRotated':
      return sets('main key')
    case 'ApiKeyCreated':
      return sets(`key ${apiKeyId({ sha256: event.data.apiKeySha256 })}`)
    case 'ApiKeyRevoked':
      return ends(`key ${event.data.keyId}`)
    case 'SecretKeyRotated':
      return sets('SecretKey')
    case 'WebhookSecretRotated':
      return sets('webhook secret')
    case 'SecretKeyTakenUp':
    case 'MerchantSecretsResealed':
      return sets()
    case 'MerchantSuspended':
      return sets('suspended')
    case 'MerchantResumed':
      return ends('suspended')
    case 'CallbackEndpointDisabled':
      return sets('endpoint disabled')
    case 'CallbackEndpointEnabled':
      return ends('endpoint disabled')
    case 'CallbackEndpointFailing':
      return sets('endpoint failing')
    case 'CallbackEndpointRecovered':
      return ends('endpoint failing')
    default:
      return event satisfies never
  }
}
