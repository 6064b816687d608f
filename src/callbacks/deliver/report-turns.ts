const gatherMs = 20
const maxGathered = 128

/**
 * Has the reports of attempts begin together, so that they share a message to the log and an fsync, and whoever follows the log gets them in
 * one page. None waits for longer than twenty milliseconds, and none for others that there are not.
 */
export class ReportTurns {
  #gathered: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  /** Resolves at its turn. `awaited`: attempts under way, of which reports may come. */
  next(awaited: number): Promise<void> {
    return new Promise((resolve) => {
      this.#gathered.push(resolve)
      if (awaited === 0 || this.#gathered.length >= maxGathered) this.#begin()
      else this.#timer ??= setTimeout(() => this.#begin(), gatherMs)
    })
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const gathered = this.#gathered
    this.#gathered = []
    for (const resolve of gathered) resolve()
  }
}
