/** How many of a stream's last events are read when it is first asked for. */
const lookBack = 2_000
const maxIds = 200_000

interface Known {
  /** Everything up to here is in `first`, from `lookBack` before the stream was first asked for. */
  through: number
  readonly first: Map<string, number>
}

/** Reads the ids of a stream's events in `[from, to]`, in order. */
export type ReadIds = (stream: number, from: number, to: number) => Iterable<{ revision: number; id: string }>

/**
 * The ids of appends that name no revision. EventStoreDB forgets them at a restart; here the stream's last events
 * are read from the log, so a repeated append is recognised however often the server was killed in between.
 */
export class RecentIds {
  /** Least recently asked for first. */
  readonly #streams = new Map<number, Known>()
  #count = 0
  readonly #read: ReadIds

  constructor(read: ReadIds) {
    this.#read = read
  }

  firstWith(stream: number, current: number, id: string): number | undefined {
    return this.#known(stream, current).first.get(id)
  }

  #known(stream: number, current: number): Known {
    const known = this.#streams.get(stream) ?? { through: Math.max(-1, current - lookBack), first: new Map() }
    this.#streams.delete(stream)
    this.#streams.set(stream, known)
    if (known.through < current) {
      const before = known.first.size
      for (const { revision, id } of this.#read(stream, known.through + 1, current)) {
        if (!known.first.has(id)) known.first.set(id, revision)
      }
      known.through = current
      this.#count += known.first.size - before
      this.#shrink()
    }
    return known
  }

  #shrink(): void {
    for (const [stream, { first }] of this.#streams) {
      if (this.#count <= maxIds) return
      this.#streams.delete(stream)
      this.#count -= first.size
    }
  }
}
