/**
 * Work of which one run is under way at a time; asked for again meanwhile, it runs once more. A run that fails is not
 * repeated by itself: what was to be done is still noted where the body found it, and whoever ticks asks again.
 */
export class Task {
  #active = false
  #again = false
  #run: Promise<void> = Promise.resolve()

  constructor(
    private readonly body: () => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  get isActive(): boolean {
    return this.#active
  }

  start(): void {
    this.#again = true
    if (this.#active) return
    this.#active = true
    this.#run = this.#loop()
  }

  /** Until the run under way, if any, is over. */
  async settled(): Promise<void> {
    await this.#run
  }

  async #loop(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false
        await this.body()
      }
    } catch (error) {
      this.onFailure(error)
    } finally {
      this.#active = false
    }
  }
}
