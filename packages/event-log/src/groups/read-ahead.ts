import type { GroupSettings } from './group-definition.js'

/** What the real server reads when a group's readBatchSize is 0. */
const fallbackBatchSize = 20
/** With so many bytes read and not finished a group reads no further, whatever its buffers are set to. */
const maxHeldBytes = 64 * 1024 * 1024

/** When a group reads on, and how much: in batches while it is behind, whatever there is room for at the end of the log. */
export class ReadAhead {
  readonly #settings: GroupSettings
  #reading = false
  #live = false
  #woken = false

  constructor(settings: GroupSettings) {
    this.#settings = settings
  }

  /** At the end of what there is. */
  get isLive(): boolean {
    return this.#live
  }

  /** Something was recorded. */
  wake(): void {
    this.#woken = true
  }

  /** How many events to read now; undefined: none. Never waits for an ack while a consumer has slots. */
  next(buffered: number, heldBytes: number): number | undefined {
    if (this.#reading || heldBytes >= maxHeldBytes || (this.#live && !this.#woken)) return undefined
    const { historyBufferSize, liveBufferSize, readBatchSize } = this.#settings
    const batch = readBatchSize > 0 ? readBatchSize : fallbackBatchSize
    const liveRoom = liveBufferSize - buffered
    if (liveRoom < 1) this.#live = false // the live buffer overflows: fall back to reading in batches
    if (!this.#live && buffered > 0 && buffered + batch > historyBufferSize) return undefined
    this.#reading = true
    this.#woken = false
    return this.#live ? liveRoom : batch
  }

  loaded(atEnd: boolean): void {
    this.#reading = false
    this.#live = atEnd
  }

  /** It is asked for again. */
  failed(): void {
    this.#reading = false
    this.#woken = true
  }
}
