import type { RecordedEvent } from '../event-log-types.js'
import type { NameRange } from '../file/name-ranges.js'

/** The number of events to keep. Subscribers of the same streams stay within a page or two of each other. */
const maxEvents = 2_000
/** The size to keep, in UTF-16 units. */
const maxSize = 8 * 1024 * 1024
/** The number of scans to keep. A scan without events counts too: it records that there were none. */
const maxScans = 200
const maxFilters = 4
/** The number of reads for others with a filter whose own readers do not read. */
const maxLent = 100

/** The events that one read of the log found after `after`, up to and including `through`. */
export interface Scan {
  readonly after: number
  readonly through: number
  readonly events: readonly RecordedEvent[]
  /** The size in UTF-16 units. */
  readonly size: number
}

/**
 * The events that a thread read last, for each filter. Reading and parsing an event costs as much as handling it, and subscribers of
 * the same streams stay close to each other, so the first one reads and the others share its events. They never become outdated,
 * because the log only grows.
 */
export class RecentEvents {
  /** The scans of each filter, without gaps, oldest first. */
  readonly #scans = new Map<string, Scan[]>()
  /** How often each filter was lent to other readers since its own readers last read. */
  readonly #lent = new Map<string, number>()

  /** Returns at most `maxCount` known events after `after`, and the position up to which they are known. */
  after(filter: string, after: number, maxCount: number): { events: RecordedEvent[]; through: number } {
    const events: RecordedEvent[] = []
    let through = after
    for (const scan of this.#scans.get(filter) ?? []) {
      if (through < scan.after || through >= scan.through) continue
      for (const event of scan.events) {
        if (Number(event.position.commit) <= through) continue
        if (events.length === maxCount) return { events, through: Number(events.at(-1)?.position.commit ?? after) }
        events.push(event)
      }
      through = scan.through
    }
    return { events, through }
  }

  /**
   * Returns the ranges of a wider filter whose events around `after` are known. A read with the wider filter reads and parses each
   * event once for the readers of both filters.
   */
  findWider(ranges: readonly NameRange[], after: number): readonly NameRange[] | undefined {
    const own = filterOf(ranges)
    this.#lent.delete(own)
    for (const [filter, scans] of this.#scans) {
      const lent = this.#lent.get(filter) ?? 0
      const [oldest, newest] = [scans[0], scans.at(-1)]
      if (filter === own || lent >= maxLent || !oldest || !newest) continue
      if (after < oldest.after || after > newest.through) continue
      const others: readonly NameRange[] = JSON.parse(filter)
      if (!ranges.every(({ from, to }) => others.some((other) => other.from === from && other.to === to))) continue
      this.#lent.set(filter, lent + 1)
      return others
    }
    return undefined
  }

  add(filter: string, scan: Scan): void {
    const scans = this.#scans.get(filter) ?? []
    const known = scans.at(-1)?.through ?? 0
    // Ignore a reader that is far behind: its events would displace those that the other readers need next.
    if (scan.after < known) return
    if (scan.after > known) scans.length = 0
    scans.push(scan)
    while (isTooLarge(scans)) scans.shift()
    if (!this.#scans.has(filter) && this.#scans.size === maxFilters) this.#scans.clear()
    this.#scans.set(filter, scans)
  }
}

export function filterOf(ranges: readonly NameRange[]): string {
  return JSON.stringify(ranges)
}

function isTooLarge(scans: readonly Scan[]): boolean {
  let count = 0
  let size = 0
  for (const scan of scans) {
    count += scan.events.length
    size += scan.size
  }
  return scans.length > maxScans || count > maxEvents || size > maxSize
}
