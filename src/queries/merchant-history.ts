import type { EndpointEvent } from '../domain/callback.js'
import { apiKeyId } from '../domain/merchant/api-key.js'
import type { MerchantEvent } from '../domain/merchant/merchant-events.js'
import { comparePositions, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { shownChangeFields } from './recent-changes.js'

/**
 * Selects, from the events of a merchant and its endpoint in the order of the log, those that concern a transfer: the settings and keys in
 * effect when it was created, and what changed until it ended. An unreadable event is always included.
 */
export function concerningEvents(
  events: readonly RecordedEvent[],
  created: Position,
  ended: Position | undefined,
): readonly RecordedEvent[] {
  const inEffect = latestEvents(events.filter(({ position }) => comparePositions(position, created) < 0))
  return events.filter((recorded) => {
    if (comparePositions(recorded.position, created) < 0) return inEffect.has(recorded)
    if (ended && comparePositions(recorded.position, ended) > 0) return false
    const event = readableEvent(recorded)
    return !event || shownChangeFields(event.type) !== null
  })
}

/** Returns the events that no later event has replaced or ended. */
function latestEvents(events: readonly RecordedEvent[]): ReadonlySet<RecordedEvent> {
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

/** Returns what an event sets, in place of an earlier value, and what it ends. */
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
