import { copiedStream, verifiedStream } from '../../domain/streams.js'
import { endOfLog } from '../../event-store/end-of-log.js'
import {
  type EventStore,
  type Position,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../event-store/event-store.js'
import { compareLogs, type EqualUpTo, LogsDifferError, nothingYet, pageSize } from './compare-logs.js'
import { CopyRecord } from './copy-record.js'

/** The copy cannot be made, or go on, as things are; the message says what to change. */
export class CopyRefusedError extends Error {
  override readonly name = 'CopyRefusedError'
}

export interface CopyProgress {
  readonly doing: 'comparing' | 'copying' | 'verifying'
  /** Of the whole log, those copied by an earlier run included. */
  readonly events: number
  /** Where in the source that is, and where the source ended at the start. */
  readonly at: Position
  readonly end: Position
}

export interface CopyReport {
  /** In the target now, each of them compared with the source's by this run or an earlier one. */
  readonly events: number
  readonly streams: number
  /** By this run; the others were there. */
  readonly copied: number
  /** By this run, likewise. */
  readonly verified: number
  /** Something was appended to the source after the copy had reached its end. */
  readonly sourceHasGrown: boolean
}

/** A record is kept after so many events: what a run that was killed leaves to be compared. */
const recordEvery = 10_000

export interface CopyOptions {
  readonly source: EventStore
  readonly target: EventStore
  readonly signal: AbortSignal
  readonly onProgress: (progress: CopyProgress) => void
  /** Called with the events that are about to be appended to the target. */
  readonly beforeAppend?: (events: readonly RecordedEvent[]) => Promise<void>
}

/**
 * Copies a log into another one, in the global order, one append an event: ids, types, data, metadata, streams and revisions stay,
 * positions and the time of recording are the target's. System streams (`$…`) are the engine's own and are left out. May be ended
 * at any moment and begun again: it goes on behind the last event that the target has. Several at once do no harm.
 * @throws CopyRefusedError, LogsDifferError when the target holds anything but the beginning of the source, StoreUnavailableError
 */
export async function copyLog({ source, target, signal, onProgress, beforeAppend }: CopyOptions): Promise<CopyReport> {
  const end = await endOfLog(source)
  const tell = (doing: CopyProgress['doing']) => (events: number, at: Position) =>
    onProgress({ doing, events, at, end: end ?? at })

  const record = await CopyRecord.load(target, copiedStream)
  const from = await resumeAt(source, record)
  const before = await compareLogs(source, target, from, { signal, onProgress: tell('comparing') })
  const after = await copyRest({ source, target, record, before, signal, beforeAppend, onProgress: tell('copying') })
  stopIfAsked(signal)
  // What an earlier run has copied was perhaps never read back; what one has verified was, and a log only grows.
  const verifiedRecord = await CopyRecord.load(target, verifiedStream)
  const verifiedBefore = await resumeAt(source, verifiedRecord)
  const verified = await compareLogs(source, target, verifiedBefore, {
    signal,
    onProgress: tell('verifying'),
  })
  stopIfAsked(signal)
  if (verified.events < after.events) {
    throw new LogsDifferError(`the target ends after ${verified.events} events, but ${after.events} were copied`)
  }
  await verifiedRecord.keep(verified)
  const next = await source.readAll({ maxCount: 1, ...(verified.source && { after: verified.source }) })
  return {
    events: verified.events,
    streams: verified.streams,
    copied: after.events - before.events,
    verified: verified.events - verifiedBefore.events,
    sourceHasGrown: next.events.length > 0 || !next.atEnd,
  }
}

function stopIfAsked(signal: AbortSignal): void {
  if (signal.aborted) throw new CopyRefusedError('interrupted; run it again, it goes on where it was')
}

/** @throws CopyRefusedError when the record was made by a copy of another log */
async function resumeAt(source: EventStore, record: CopyRecord): Promise<EqualUpTo> {
  const { kept } = record
  if (!kept) return nothingYet
  const [last] = await source.readStream(kept.stream, { fromRevision: kept.revision, maxCount: 1 })
  // The same log in another engine has it elsewhere: then everything is compared from the start.
  if (last?.id === kept.id && last.position.commit === kept.source.commit) return { ...kept, last }
  if (last?.id === kept.id) return nothingYet
  throw new CopyRefusedError(
    `the target was copied from another log: that one had ${kept.id} as ${kept.stream}@${kept.revision}`,
  )
}

async function copyRest(options: {
  readonly source: EventStore
  readonly target: EventStore
  readonly record: CopyRecord
  readonly before: EqualUpTo
  readonly signal: AbortSignal
  readonly beforeAppend: CopyOptions['beforeAppend']
  readonly onProgress: (events: number, at: Position) => void
}): Promise<EqualUpTo> {
  const { source, target, record, before, signal, beforeAppend, onProgress } = options
  let reached = before
  while (!signal.aborted) {
    const page = await source.readAll({ maxCount: pageSize, ...(reached.source && { after: reached.source }) })
    const last = page.events.at(-1)
    if (last) {
      await beforeAppend?.(page.events)
      const position = await append(target, page.events)
      const streams = reached.streams + page.events.filter(({ revision }) => revision === 0).length
      const events = reached.events + page.events.length
      reached = { events, streams, last, source: last.position, target: position }
      onProgress(events, last.position)
    }
    if (page.atEnd) break
    // Nothing but system streams in this page.
    if (!last && page.checkpoint) reached = { ...reached, source: page.checkpoint }
    if (reached.events - (record.kept?.events ?? 0) >= recordEvery) await record.keep(reached)
  }
  await record.keep(reached)
  return reached
}

/**
 * One append an event: a part of a list that is stored is never completed by appending the list again. All of them at once, as a round trip for
 * each was most of what a copy to a server took; what a refusal leaves out of order is found when the target is read back.
 */
async function append(target: EventStore, events: readonly RecordedEvent[]): Promise<Position | undefined> {
  const appends = events.map(({ stream, revision, id, type, data, metadata }) => ({
    stream,
    expectedRevision: revision === 0 ? ('no_stream' as const) : revision - 1,
    events: [{ id, type, data, metadata }],
  }))
  try {
    return (await target.appendInOrder(appends, { pipelined: true })).at(-1)?.position
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError)) throw error
    throw new CopyRefusedError(
      `${error.message}. Either something else writes to the target, or the source no longer has the beginning of this stream`,
    )
  }
}
