import { readdirSync, readFileSync } from 'node:fs'
import { type DomainEvent, decodeEvent, eventSchemas, olderVersions } from '../../../src/event-store/event-codec.js'
import type { NewEvent, RecordedEvent } from '../../../src/event-store/event-store.js'

export type StoredEvent = Omit<NewEvent, 'id'>

const folder = new URL('../../../../test/fixtures/events/', import.meta.url)

/** The stored JSON of each version of each event type. The keys have the form `<type>.v<version>`. */
export const goldenEvents: ReadonlyMap<string, StoredEvent> = new Map(
  readdirSync(folder).map((file) => {
    const stored = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as StoredEvent
    return [file.replace(/\.json$/, ''), stored]
  }),
)

/** Every version of every event type, in the order of the schemas. */
export const knownVersions = Object.entries(eventSchemas).flatMap(([type, newest]) =>
  [...(olderVersions[type] ?? []).map(({ schema }) => schema), newest].map((schema, index, { length }) => ({
    type,
    version: index + 1,
    name: `${type}.v${index + 1}`,
    isNewest: index + 1 === length,
    schema,
  })),
)

export function recorded(stored: StoredEvent): RecordedEvent {
  const id = '00000000-0000-4000-8000-000000000001'
  return { ...stored, id, stream: 'some-stream', revision: 7, position: { commit: 1n, prepare: 1n }, recordedAtMs: 0 }
}

/** Returns the first version's fixture of a type as an event of the domain. */
export function sampleEvent<Type extends DomainEvent['type']>(type: Type): Extract<DomainEvent, { type: Type }> {
  return decodeEvent(recorded(goldenEvents.get(`${type}.v1`)!)) as Extract<DomainEvent, { type: Type }>
}
