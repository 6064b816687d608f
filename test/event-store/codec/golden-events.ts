import { readdirSync, readFileSync } from 'node:fs'
import { type DomainEvent, decodeEvent, eventSchemas, schemasOf } from '../../../src/event-store/event-codec.js'
import type { JsonObject, NewEvent, RecordedEvent } from '../../../src/event-store/event-store.js'

type StoredEvent = Omit<NewEvent, 'id'>

/** `decoded`: the data in the newest version, with amounts such as `10050n`; by default, the stored data. Each older version has it. */
interface GoldenEvent extends StoredEvent {
  readonly decoded?: JsonObject
}

const folder = new URL('../../../../test/fixtures/events/', import.meta.url)

const files = new Map(
  readdirSync(folder).map((file) => {
    const golden = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as GoldenEvent
    return [file.replace(/\.json$/, ''), golden]
  }),
)

/** The stored JSON of each version of each event type. The keys have the form `<type>.v<version>`. */
export const goldenEvents: ReadonlyMap<string, StoredEvent> = new Map(
  [...files].map(([name, { decoded: _, ...stored }]) => [name, stored]),
)

/** Returns the data that the program must read from a fixture. */
export function decodedData(name: string): unknown {
  const { data, decoded } = files.get(name)!
  const isAmount = (field: string, value: unknown) =>
    decoded ? /^\d+n$/.test(String(value)) : field.endsWith('Minor') && value !== null
  return JSON.parse(JSON.stringify(decoded ?? data), (field, value) =>
    isAmount(field, value) ? BigInt(String(value).replace(/n$/, '')) : value,
  )
}

/** Returns whether a fixture states what the program must read from it. */
export function statesDecodedData(name: string): boolean {
  return files.get(name)?.decoded !== undefined
}

/** Every version of every event type, in the order of the schemas. */
export const knownVersions = Object.entries(eventSchemas).flatMap(([type, newest]) =>
  schemasOf(type, newest).map((schema, index, { length }) => ({
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

/** Returns the fixture of the newest version of a type as an event of the domain. */
export function sampleEvent<Type extends DomainEvent['type']>(type: Type): Extract<DomainEvent, { type: Type }> {
  const newest = knownVersions.findLast((each) => each.type === type)!
  return decodeEvent(recorded(goldenEvents.get(newest.name)!)) as Extract<DomainEvent, { type: Type }>
}
