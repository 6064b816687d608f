const maxValues = 50
const rest = 'other'

/** Limits the values of a metric label that clients choose: the first fifty have their own series while the process runs, all others share one. */
export class BoundedLabel {
  readonly #own = new Set<string>()

  of(value: string): string {
    if (this.#own.has(value)) return value
    if (this.#own.size === maxValues) return rest
    this.#own.add(value)
    return value
  }
}
