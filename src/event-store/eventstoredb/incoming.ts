import type { ClientReadableStream } from '@grpc/grpc-js'
import { DeadlineError } from './within.js'

/**
 * What a call answers, taken message by message: what is not taken fills the few places of its buffer and then holds the
 * server back.
 */
export class Incoming<Message> {
  #wake: (() => void) | undefined
  #ended = false
  #cancelled = false
  #error: Error | undefined

  constructor(private readonly call: ClientReadableStream<Message>) {
    const wake = () => this.#wake?.()
    const end = () => {
      this.#ended = true
      wake()
    }
    call.on('readable', wake).on('end', end).on('close', end)
    call.on('error', (error: Error) => {
      this.#error ??= error
      end()
    })
  }

  /** Undefined: nothing has come yet, or nothing will. */
  take(): Message | undefined {
    if (this.#cancelled) return undefined
    if (this.#error) throw this.#error
    return (this.call.read() as Message | null) ?? undefined
  }

  /** Nothing can be taken just now. */
  get isDrained(): boolean {
    return this.call.readableLength === 0
  }

  /**
   * Resolves with true when there may be something to take, with false when there will not.
   * @throws what the call ended with, DeadlineError when nothing comes for so long
   */
  async more(what: string, deadlineMs?: number): Promise<boolean> {
    if (this.isDrained && !this.#ended) await this.#woken(what, deadlineMs)
    if (this.#cancelled) return false
    if (this.#error) throw this.#error
    return !(this.#ended && this.isDrained)
  }

  /** Never throws, however often. */
  cancel(): void {
    this.#ended = true
    this.#cancelled = true
    // Cancelled within the turn it began in, a call would not tell the server (grpc-node issue 1652).
    setImmediate(() => this.call.cancel())
    this.#wake?.()
  }

  #woken(what: string, deadlineMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new DeadlineError(`${what}: nothing for ${deadlineMs} ms`))
      const timer = deadlineMs === undefined ? undefined : setTimeout(late, deadlineMs)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}
