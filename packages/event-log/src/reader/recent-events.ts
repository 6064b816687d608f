import type { RecordedEvent } from '../event-log-types.js'
import type { NameRange } from '../file/name-ranges.js'

/** Those who follow the same streams stay within a page or two of each other. */
const maxEvents = 2_000
/** UTF-16 units. */
const maxSize = 8 * 1024 * 1024
/** A stretch without events counts too: it says that there were none. */
const maxStretches = 200
const maxFilters = 4
/** Reads for others with a filter that its own readers do not ask for any more. */
const maxLent = 100

/** What was found by one look at the log: everything behind `after`, up to and including `through`. */
export interface Stretch {
  readonly after: number
  readonly through: number
  readonly events: readonly RecordedEvent[]
  /** UTF-16 units. */
  readonly size: number
}

/**
 * The events a thread read last, by the filter they were read with. Followers of the same streams stay close to each
 * other, and reading and parsing an event costs as much as handling it: the first one reads, the others share. What was read
 * stays true, since the log only grows.
 */
export class RecentEvents {
  /** Of one filter each without a gap, oldest first. */
  readonly #stretches = new Map<string, Stretch[]>()
  /** How often each filter was lent since its own readers asked. */
  readonly #lent = new Map<string, number>()

  /** At most `maxCount` events behind `after`, and how far they go: no further than `after` when none are known. */
  behind(filter: string, after: number, maxCount: number): { events: RecordedEvent[]; through: number } {
    const events: RecordedEvent[] = []
    let through = after
    for (const stretch of this.#stretches.get(filter) ?? []) {
      if (through < stretch.after || through >= stretch.through) continue
      for (const event of stretch.events) {
        if (Number(event.position.commit) <= through) continue
        if (events.length === maxCount) return { events, through: Number(events.at(-1)?.position.commit ?? after) }
        events.push(event)
      }
      through = stretch.through
    }
    return { events, through }
  }

  /**
   * The ranges of a filter that takes in all of these and is known around `after`, if there is one: read with it, an event is read and
   * parsed once for the readers of both.
   */
  wider(ranges: readonly NameRange[], after: number): readonly NameRange[] | undefined {
    const own = filterOf(ranges)
    this.#lent.delete(own)
    for (const [filter, stretches] of this.#stretches) {
      const lent = this.#lent.get(filter) ?? 0
      const [oldest, newest] = [stretches[0], stretches.at(-1)]
      if (filter === own || lent >= maxLent || !oldest || !newest) continue
      if (after < oldest.after || after > newest.through) continue
      const others: readonly NameRange[] = JSON.parse(filter)
      if (!ranges.every(({ from, to }) => others.some((other) => other.from === from && other.to === to))) continue
      this.#lent.set(filter, lent + 1)
      return others
    }
    return undefined
  }

  add(filter: string, stretch: Stretch): void {
    const stretches = this.#stretches.get(filter) ?? []
    const known = stretches.at(-1)?.through ?? 0
    // A reader far behind: its events would push out what the others are about to ask for.
    if (stretch.after < known) return
    if (stretch.after > known) stretches.length = 0
    stretches.push(stretch)
    while (isTooMuch(stretches)) stretches.shift()
    if (!this.#stretches.has(filter) && this.#stretches.size === maxFilters) this.#stretches.clear()
    this.#stretches.set(filter, stretches)
  }
}

export function filterOf(ranges: readonly NameRange[]): string {
  return JSON.stringify(ranges)
}

function isTooMuch(stretches: readonly Stretch[]): boolean {
  let count = 0
  let size = 0
  for (const stretch of stretches) {
    count += stretch.events.length
    size += stretch.size
  }
  return stretches.length > maxStretches || count > maxEvents || size > maxSize
}
