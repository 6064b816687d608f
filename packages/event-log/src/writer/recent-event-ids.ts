/** The number of a stream's last events that are read at its first lookup. */
const lookBack = 2_000
const maxIds = 200_000

interface StreamIds {
  /** The last revision whose id is in `revisions`. */
  through: number
  /** The first revision with each id. */
  readonly revisions: Map<string, number>
}

/** Reads the ids of a stream's events in `[from, to]`, in order. */
type ReadIds = (stream: number, from: number, to: number) => Iterable<{ revision: number; id: string }>

/**
 * Remembers event ids for appends without an expected revision. EventStoreDB forgets these ids at a restart. This class reads the
 * stream's last events from the log, so it recognizes a repeated append regardless of crashes.
 */
export class RecentEventIds {
  /** The streams, least recently used first. */
  readonly #streams = new Map<number, StreamIds>()
  #count = 0

  constructor(private readonly read: ReadIds) {}

  firstRevisionOf(stream: number, current: number, id: string): number | undefined {
    const known = this.#streams.get(stream) ?? { through: Math.max(-1, current - lookBack), revisions: new Map() }
    this.#streams.delete(stream)
    this.#streams.set(stream, known)
    if (known.through < current) {
      const { revisions } = known
      const sizeBefore = revisions.size
      for (const { revision, id } of this.read(stream, known.through + 1, current)) {
        if (!revisions.has(id)) revisions.set(id, revision)
      }
      known.through = current
      this.#count += revisions.size - sizeBefore
      this.#shrink()
    }
    return known.revisions.get(id)
  }

  #shrink(): void {
    for (const [stream, { revisions }] of this.#streams) {
      if (this.#count <= maxIds) return
      this.#streams.delete(stream)
      this.#count -= revisions.size
    }
  }
}
