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
  /** The last event copied. */
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly source: Position
  readonly target: Position
}

/** How far a copy or its verification has come, kept in the target: written after what it covers, so it has at least come there. */
export class CopyRecord {
  private constructor(
    private readonly target: EventStore,
    private readonly stream: string,
    private revision: ExpectedRevision,
    /** Undefined before the first one. */
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
      // Another copy of the same log keeps it. Both are harmless, one is enough.
      if (!(error instanceof WrongExpectedRevisionError)) throw error
      const { revision: newer, kept } = await CopyRecord.load(this.target, this.stream)
      this.revision = newer
      this.kept = kept
    }
  }
}
