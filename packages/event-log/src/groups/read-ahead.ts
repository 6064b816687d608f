import type { GroupSettings } from './group-definition.js'

/** The batch size for a readBatchSize of 0, as in EventStoreDB. */
const fallbackBatchSize = 20
/** The size of unfinished events at which a group stops reading, regardless of its buffer settings. */
const maxHeldBytes = 64 * 1024 * 1024

/** Decides when a group reads, and how much: batches while it is behind, and as much as fits at the end of the log. */
export class ReadAhead {
  #isReading = false
  #isLive = false
  #isWoken = false

  constructor(private readonly settings: GroupSettings) {}

  get isLive(): boolean {
    return this.#isLive
  }

  /** Records that there may be new events. */
  wake(): void {
    this.#isWoken = true
  }

  /** Returns the number of events to read now, or `undefined` for none. It never waits for an ack while a consumer has free slots. */
  next(buffered: number, heldBytes: number): number | undefined {
    if (this.#isReading || heldBytes >= maxHeldBytes || (this.#isLive && !this.#isWoken)) return undefined
    const { historyBufferSize, liveBufferSize, readBatchSize } = this.settings
    const batch = readBatchSize > 0 ? readBatchSize : fallbackBatchSize
    const liveRoom = liveBufferSize - buffered
    if (liveRoom < 1) this.#isLive = false // the live buffer is full: return to reading in batches
    if (!this.#isLive && buffered > 0 && buffered + batch > historyBufferSize) return undefined
    this.#isReading = true
    this.#isWoken = false
    return this.#isLive ? liveRoom : batch
  }

  readSucceeded(atEnd: boolean): void {
    this.#isReading = false
    this.#isLive = atEnd
  }

  /** Requests the same read again. */
  readFailed(): void {
    this.#isReading = false
    this.#isWoken = true
  }
}
