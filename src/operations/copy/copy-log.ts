import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { copiedStream, verifiedStream } from '../../domain/streams.js'
import {
  type EventStore,
  endOfLog,
  firstEventIn,
  formatPosition,
  KeyReservedError,
  logPages,
  type Position,
  parsePosition,
  type RecordedEvent,
  reservationIn,
  type StreamRevision,
  WrongExpectedRevisionError,
} from '../../event-store/event-store.js'

/** The copy cannot start or continue. The message states what to change. */
export class CopyRefusedError extends Error {
  override readonly name = 'CopyRefusedError'
}

export interface CopyProgress {
  readonly doing: 'comparing' | 'copying' | 'verifying'
  /** The events of the whole log, including those that an earlier run copied. */
  readonly events: number
  /** The current position in the source, and the end of the source at the start. */
  readonly at: Position
  readonly end: Position
}

/** The number of events between two records, which is also the most that is compared again after a killed run. */
const recordEvery = 10_000

export interface CopyOptions {
  readonly source: EventStore
  readonly target: EventStore
  readonly signal: AbortSignal
  readonly onProgress: (progress: CopyProgress) => void
  /** Called with events before they are appended to the target. */
  readonly beforeAppend?: (events: readonly RecordedEvent[]) => Promise<void>
}

/**
 * Copies a log in the global order, with one append per event. Ids, types, data, metadata, streams and revisions stay the same; positions and
 * recording times are the target's. System streams (`$…`) belong to the engine and are omitted. An interrupted copy can be repeated, and
 * continues after the target's last event. Concurrent copies are harmless.
 * @throws CopyRefusedError, LogsDifferError if the target is not the start of the source, StoreUnavailableError
 */
export async function copyLog(options: CopyOptions) {
  const { source, target, signal, onProgress } = options
  const end = await endOfLog(source)
  const report = (doing: CopyProgress['doing']) => (events: number, at: Position) =>
    onProgress({ doing, events, at, end: end ?? at })

  const record = await CopyRecord.load(target, copiedStream)
  const from = await resumeAt(source, record)
  const before = await compareLogs(source, target, from, { signal, onProgress: report('comparing') })
  const after = await copyRest(options, record, before, report('copying'))
  stopIfAsked(signal)
  // An earlier run may have copied events without reading them back. Verified events need no second check, because a log only grows.
  const verifiedRecord = await CopyRecord.load(target, verifiedStream)
  const verifiedBefore = await resumeAt(source, verifiedRecord)
  const verified = await compareLogs(source, target, verifiedBefore, { signal, onProgress: report('verifying') })
  stopIfAsked(signal)
  if (verified.events < after.events) {
    throw new LogsDifferError(`the target ends after ${verified.events} events, but ${after.events} were copied`)
  }
  await verifiedRecord.keep(verified)
  const next = await firstEventIn(source, { after: verified.source })
  return {
    /** The events in the target. This run or an earlier one has compared each with the source. */
    events: verified.events,
    streams: verified.streams,
    /** The events that this run copied and verified. */
    copied: after.events - before.events,
    verified: verified.events - verifiedBefore.events,
    /** Whether events were appended to the source after the copy reached its end. */
    sourceHasGrown: next !== undefined,
  }
}

function stopIfAsked(signal: AbortSignal): void {
  if (signal.aborted) throw new CopyRefusedError('interrupted: run it again to continue')
}

/** @throws CopyRefusedError if a copy of a different log left the record */
async function resumeAt(source: EventStore, record: CopyRecord): Promise<EqualUpTo> {
  const { kept } = record
  if (!kept) return nothingYet
  const [last] = await source.readStream(kept.stream, { fromRevision: kept.revision, maxCount: 1 })
  // In a different engine, the same log has other positions. Then everything is compared from the start.
  if (last?.id === kept.id && last.position.commit === kept.source.commit) return { ...kept, last }
  if (last?.id === kept.id) return nothingYet
  throw new CopyRefusedError(
    `the target is a copy of a different log, in which ${kept.stream}@${kept.revision} is ${kept.id}`,
  )
}

async function copyRest(
  { source, target, signal, beforeAppend }: CopyOptions,
  record: CopyRecord,
  before: EqualUpTo,
  onProgress: ReadingOptions['onProgress'],
): Promise<EqualUpTo> {
  let reached = before
  for await (const page of logPages(source, { after: before.source })) {
    if (signal.aborted) break
    const last = page.events.at(-1)
    if (last) {
      await beforeAppend?.(page.events)
      const position = await append(target, page.events)
      const streams = reached.streams + page.events.filter(({ revision }) => revision === 0).length
      const events = reached.events + page.events.length
      reached = { events, streams, last, source: last.position, target: position }
      onProgress(events, last.position)
    }
    if (reached.events - (record.kept?.events ?? 0) >= recordEvery) await record.keep(reached)
  }
  await record.keep(reached)
  return reached
}

/**
 * Appends each event on its own, because a partially stored list could not be completed by appending it again. The appends are pipelined:
 * a round trip per event took most of the time of a copy to a server. Reading the target back finds events that are out of order.
 */
async function append(target: EventStore, events: readonly RecordedEvent[]): Promise<Position | undefined> {
  const appends = events.map(({ stream, revision, id, type, data, metadata }) => ({
    stream,
    expectedRevision: revision === 0 ? ('no_stream' as const) : revision - 1,
    events: [{ id, type, data, metadata }],
    ...(revision === 0 && reservationIn(metadata)),
  }))
  try {
    return (await target.appendInOrder(appends, { pipelined: true })).at(-1)?.position
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError || error instanceof KeyReservedError)) throw error
    throw new CopyRefusedError(
      `${error.message}. Either another program writes to the target, or the source no longer has the start of this stream`,
    )
  }
}

/** The point up to which two logs are known to be equal. */
interface EqualUpTo {
  /** The number of events up to this point. */
  readonly events: number
  /** The number of streams that start before this point. */
  readonly streams: number
  readonly last: RecordedEvent | undefined
  readonly source: Position | undefined
  readonly target: Position | undefined
}

export const nothingYet: EqualUpTo = { events: 0, streams: 0, last: undefined, source: undefined, target: undefined }

/** The target differs from the source. The message states where. */
export class LogsDifferError extends Error {
  override readonly name = 'LogsDifferError'
}

type ReadingOptions = { readonly signal: AbortSignal; readonly onProgress: (events: number, at: Position) => void }

/** Yields the events in the global order, without system streams, to the end of the log. */
async function* eventsAfter(store: EventStore, after: Position | undefined): AsyncGenerator<RecordedEvent> {
  for await (const { events } of logPages(store, { after })) yield* events
}

/**
 * Reads both logs in parallel up to the target's end. Every event must be the source's next one, except for the position and the recording
 * time. Ends early if the signal aborts. @throws LogsDifferError, StoreUnavailableError
 */
export async function compareLogs(
  source: EventStore,
  target: EventStore,
  from: EqualUpTo,
  { signal, onProgress }: ReadingOptions,
): Promise<EqualUpTo> {
  let equal = from
  const originals = eventsAfter(source, from.source)
  for await (const copy of eventsAfter(target, from.target)) {
    const { value: original } = (await originals.next()) as { value?: RecordedEvent }
    const problem = original ? difference(original, copy) : 'which the source does not have'
    if (!original || problem) throw new LogsDifferError(`${placeOf(copy)} of the target, ${problem}`)
    const streams = equal.streams + (original.revision === 0 ? 1 : 0)
    const reached = { source: original.position, target: copy.position }
    equal = { events: equal.events + 1, streams, last: original, ...reached }
    onProgress(equal.events, original.position)
    if (signal.aborted) break
  }
  return equal
}

/** Returns the rest of a sentence. It never contains a value, because some are secrets. */
function difference(original: RecordedEvent, copy: RecordedEvent): string | undefined {
  if (original.stream !== copy.stream || original.revision !== copy.revision || original.id !== copy.id) {
    return `where the source has ${placeOf(original)}`
  }
  for (const field of ['type', 'data', 'metadata'] as const) {
    if (isDeepStrictEqual(original[field], copy[field])) continue
    return `whose ${field} differs from the source's`
  }
  return undefined
}

function placeOf({ stream, revision, id, position }: RecordedEvent): string {
  return `${stream}@${revision} (${id}, position ${formatPosition(position)})`
}

/** The point that a copy has reached, with the last copied event. */
type KeptCopy = Pick<EqualUpTo, 'events' | 'streams'> &
  Pick<RecordedEvent, 'stream' | 'revision' | 'id'> & { readonly source: Position; readonly target: Position }

/** The progress of a copy or of its verification, stored in the target. It is written after the events that it covers. */
class CopyRecord {
  private constructor(
    private readonly target: EventStore,
    private readonly stream: string,
    private revision: StreamRevision,
    /** `undefined` before the first record. */
    public kept: KeptCopy | undefined,
  ) {}

  static async load(target: EventStore, stream: string): Promise<CopyRecord> {
    const [newest] = await target.readStream(stream, { direction: 'backwards', maxCount: 1 })
    const data = newest?.data as KeptCopy | undefined
    const [from, to] = [newest?.data.source, newest?.data.target].map((text) => parsePosition(String(text)))
    const kept = data && from && to ? { ...data, source: from, target: to } : undefined
    return new CopyRecord(target, stream, newest?.revision ?? 'no_stream', kept)
  }

  async keep({ events, streams, last, source, target }: EqualUpTo): Promise<void> {
    if (!last || !source || !target || events === this.kept?.events) return
    const { stream: lastStream, revision, id } = last
    const place = { events, streams, stream: lastStream, revision, id }
    const data = { ...place, source: formatPosition(source), target: formatPosition(target) }
    try {
      const appended = await this.target.append(this.stream, this.revision, [
        { id: randomUUID(), type: 'CopyReached', data, metadata: {} },
      ])
      this.revision = appended.revision
      this.kept = { ...place, source, target }
    } catch (error) {
      // A concurrent copy of the same log has written the record, which is sufficient.
      if (!(error instanceof WrongExpectedRevisionError)) throw error
      const { revision: newer, kept } = await CopyRecord.load(this.target, this.stream)
      this.revision = newer
      this.kept = kept
    }
  }
}
