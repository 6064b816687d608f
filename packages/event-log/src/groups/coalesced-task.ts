/**
 * A task that runs at most once at a time. Starting it during a run makes it run again afterwards. A failed run is not repeated
 * automatically: its work remains pending where the body found it, and the next tick starts the task again.
 */
export class CoalescedTask {
  #isActive = false
  #shouldRepeat = false
  #run: Promise<void> = Promise.resolve()

  constructor(
    private readonly body: () => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  get isActive(): boolean {
    return this.#isActive
  }

  start(): void {
    this.#shouldRepeat = true
    if (this.#isActive) return
    this.#isActive = true
    this.#run = this.#loop()
  }

  async settled(): Promise<void> {
    await this.#run
  }

  async #loop(): Promise<void> {
    try {
      while (this.#shouldRepeat) {
        this.#shouldRepeat = false
        await this.body()
      }
    } catch (error) {
      this.onFailure(error)
    } finally {
      this.#isActive = false
    }
  }
}
