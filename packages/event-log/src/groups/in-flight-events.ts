interface Delivery {
  readonly id: string
  ackId: string
}

/** What is in flight, in order of delivery (hence of deadline), under the ids that acks name. */
export class InFlight<E extends Delivery> {
  readonly #byAckId = new Map<string, E>()
  #duplicates = 0

  get size(): number {
    return this.#byAckId.size
  }

  all(): Iterable<E> {
    return this.#byAckId.values()
  }

  /** Two streams may hold events of the same id: the second gets an ackId of its own, as an ack must tell which one it means. */
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

/** For clients whose acks name the event's id: of several events of one id in flight, any is meant. */
export class InFlightByEventId<E extends Delivery> extends InFlight<E> {
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
