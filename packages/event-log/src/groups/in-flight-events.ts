interface Delivery {
  readonly id: string
  ackId: string
}

/** The events in flight, by the ids that acks name, in order of delivery and therefore of their deadlines. */
export class InFlightEvents<E extends Delivery> {
  readonly #byAckId = new Map<string, E>()
  #duplicates = 0

  get size(): number {
    return this.#byAckId.size
  }

  all(): Iterable<E> {
    return this.#byAckId.values()
  }

  /** Adds a delivery. Events of different streams may have the same id: the second one gets a different ackId to distinguish them. */
  add(entry: E): void {
    entry.ackId = entry.id
    if (this.#byAckId.has(entry.id)) {
      this.#duplicates += 1
      entry.ackId = `${entry.id}/${this.#duplicates}`
    }
    this.#byAckId.set(entry.ackId, entry)
  }

  find(ackId: string): E | undefined {
    return this.#byAckId.get(ackId)
  }

  delete(entry: E): void {
    this.#byAckId.delete(entry.ackId)
  }
}

/** The events in flight for clients whose acks name the event's id, which refers to any of several events with that id. */
export class InFlightByEventId<E extends Delivery> extends InFlightEvents<E> {
  readonly #duplicatesOf = new Map<string, Set<E>>()

  override add(entry: E): void {
    super.add(entry)
    if (entry.ackId === entry.id) return
    this.#duplicatesOf.set(entry.id, (this.#duplicatesOf.get(entry.id) ?? new Set()).add(entry))
  }

  override find(ackId: string): E | undefined {
    return super.find(ackId) ?? this.#duplicatesOf.get(ackId)?.values().next().value
  }

  override delete(entry: E): void {
    super.delete(entry)
    const duplicates = this.#duplicatesOf.get(entry.id)
    if (duplicates?.delete(entry) && duplicates.size === 0) this.#duplicatesOf.delete(entry.id)
  }
}
