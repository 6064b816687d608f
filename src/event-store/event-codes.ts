import { hash } from 'node:crypto'
import { digestKeyStream, streamKind } from '../domain/streams.js'
import {
  type Append,
  comparePositions,
  type EventLog,
  type EventStore,
  eventText,
  jsonText,
  type LogAppend,
  type NewEvent,
  type Page,
  type Place,
  type Position,
  type SerializedEvent,
  type StreamRevision,
  type UnparsedEvent,
  withReservedKeys,
} from './event-store.js'
import { readableEvent } from './read-event.js'

/** The key of the codes that authenticate events. It fills a block of BLAKE2b (docs/decisions/0039-event-codes.md). */
export interface EventKey {
  readonly id: string
  readonly block: string
}

const blockLength = 128
/** The characters of base64url in a code: 132 bits. */
const codeLength = 22
/** The length of the end of the stored text, from the name of the member `mac` on, which is the last one of the metadata. */
const memberLength = '"mac":"kkkkkkkk."}]'.length + codeLength

/** Returns the key for a secret of 32 bytes in base64url. */
export function eventKeyOf(secret: string): EventKey {
  return { id: hash('sha256', `event key ${secret}`).slice(0, 8), block: secret.padEnd(blockLength, '.') }
}

/**
 * Returns the code of an event in a place. It covers the stored text up to the code itself, and not the position, which the engine assigns
 * after the append. The length of the name separates the name from the text.
 */
function codeOf({ id, block }: EventKey, { stream, revision }: Place, coveredText: string): string {
  const covered = `${block}${revision} ${stream.length} ${stream}${coveredText}`
  return `${id}.${hash('blake2b512', covered, 'base64url').slice(0, codeLength)}`
}

/** Decorates the log: each appended event of the service's streams carries its code in `metadata.mac`. It is serialized only here. */
export function addEventCodes(raw: EventLog, key: EventKey): EventStore {
  const withCodes = (stream: string, expected: StreamRevision, events: readonly NewEvent[]) => {
    if (streamKind(stream) === undefined) return events
    const first = expected === 'no_stream' ? 0 : expected + 1
    return events.map(({ id, type, data, metadata }, index): SerializedEvent => {
      const dataText = jsonText(data, 'data', type)
      const text = jsonText(metadata, 'metadata', type)
      const members = text === '{}' ? '{' : `${text.slice(0, -1)},`
      const covered = eventText(id, type, dataText, members).slice(0, -1)
      const code = codeOf(key, { stream, revision: first + index }, covered)
      return { id, type, data: dataText, metadata: `${members}"mac":"${code}"}` }
    })
  }
  const withCode = (append: Append): LogAppend => {
    const { stream, expectedRevision, events } = withReservedKeys(append)
    return { ...append, events: withCodes(stream, expectedRevision, events) }
  }
  return {
    ...raw,
    append: (stream, expected, events) => raw.append(stream, expected, withCodes(stream, expected, events)),
    appendInOrder: (appends, options) => raw.appendInOrder(appends.map(withCode), options),
  }
}

/**
 * Decorates the store: events of the service's streams without a valid code are marked as forged, so that they are unreadable, and
 * `onForged` receives them. Persistent subscriptions deliver events as stored: their consumers read the streams before they act.
 */
export function checkEventCodes(raw: EventStore, key: EventKey, onForged?: (event: Place) => void): EventStore {
  let replacement: Promise<Position | undefined> | undefined
  /** Whether the event carries a code of a key that an operator later declared lost (`master-keys give-up`), so that no one can check it. */
  const hasLostKey = async (event: UnparsedEvent): Promise<boolean> => {
    const keyId = eventKeyIdOf(event)
    if (keyId === undefined || keyId === key.id) return false
    replacement ??= giveUpPosition(raw, key)
    const position = await replacement
    return position !== undefined && comparePositions(event.position, position) < 0
  }
  const check = async <Event extends UnparsedEvent>(events: readonly Event[]): Promise<readonly Event[]> => {
    let marked: Event[] | undefined
    for (const [index, event] of events.entries()) {
      if (hasCode(key, event) || streamKind(event.stream) === undefined || (await hasLostKey(event))) continue
      marked ??= [...events]
      marked[index] = { ...event, isForged: true }
      onForged?.(event)
    }
    return marked ?? events
  }
  const checkPage = async <Event extends UnparsedEvent>(page: Page<Event>): Promise<Page<Event>> => {
    return { ...page, events: await check(page.events) }
  }
  return {
    ...raw,
    readStream: async (stream, options) => check(await raw.readStream(stream, options)),
    readEvents: async (places) => check(await raw.readEvents(places)),
    readAll: async (options) => checkPage(await raw.readAll(options)),
    readUnparsed: async (options) => checkPage(await raw.readUnparsed(options)),
    async *subscribeToAll(options) {
      for await (const page of raw.subscribeToAll(options)) yield await checkPage(page)
    },
  }
}

/** Returns the id of the key of an event's code, which ends the stored text, or `undefined` without a code. */
export function eventKeyIdOf({ text }: Pick<UnparsedEvent, 'text'>): string | undefined {
  return /"mac":"([0-9a-f]{8})\.[\w-]*"\}\]$/.exec(text ?? '')?.[1]
}

function hasCode(key: EventKey, event: UnparsedEvent): boolean {
  const { text } = event
  if (text === undefined) return false
  const codeAt = text.length - memberLength
  return text.slice(codeAt) === `"mac":"${codeOf(key, event, text.slice(0, codeAt))}"}]`
}

/** Returns the position of the last decision to give up a master key, which the present key authenticates. @throws StoreUnavailableError */
export async function giveUpPosition(raw: EventStore, key: EventKey): Promise<Position | undefined> {
  const decisions = (await raw.readStream(digestKeyStream)).filter((recorded) => {
    const event = readableEvent(recorded)
    return event?.type === 'DigestKeySealed' && event.data.reason !== null && hasCode(key, recorded)
  })
  return decisions.at(-1)?.position
}
