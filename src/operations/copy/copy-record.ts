import { randomUUID } from 'node:crypto'
import {
  type EventStore,
  type ExpectedRevision,
  formatPosition,
  type Position,
  parsePosition,
  WrongExpectedRevisionError,
} from '../../event-store/event-store.js'
import type { EqualUpTo } from './compare-logs.js'

export interface KeptCopy {
  readonly events: number
  readonly streams: number
  /** The last copied event. */
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly source: Position
  readonly target: Position
}

/** The progress of a copy or of its verification, stored in the target. It is written after the events that it covers. */
export class CopyRecord {
  private constructor(
    private readonly target: EventStore,
    private readonly stream: string,
    private revision: ExpectedRevision,
    /** `undefined` before the first record. */
    public kept: KeptCopy | undefined,
  ) {}

  /** @throws StoreUnavailableError */
  static async load(target: EventStore, stream: string): Promise<CopyRecord> {
    const [newest] = await target.readStream(stream, { direction: 'backwards', maxCount: 1 })
    const data = newest?.data as { [name in keyof KeptCopy]: KeptCopy[name] } | undefined
    const source = parsePosition(String(newest?.data.source))
    const at = parsePosition(String(newest?.data.target))
    return new CopyRecord(
      target,
      stream,
      newest?.revision ?? 'no_stream',
      data && source && at ? { ...data, source, target: at } : undefined,
    )
  }

  /** @throws StoreUnavailableError */
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
