import type { ClientReadableStream } from '@grpc/grpc-js'
import { StoreUnavailableError } from '../event-store.js'

/** Nobody answered in time. Whether what was asked for was done is not known. */
export class DeadlineError extends StoreUnavailableError {}

/** The promise, or a {@link DeadlineError} when it takes longer. The promise may still be rejected later: nobody hears of it. */
export function within<Value>(deadlineMs: number, what: string, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(`${what}: no answer within ${deadlineMs} ms`)), deadlineMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * The answers of a call, taken one by one. Those not yet taken fill the call's small buffer, and a full buffer holds the
 * server back.
 */
export class Incoming<Message, Call extends ClientReadableStream<Message> = ClientReadableStream<Message>> {
  #wake: (() => void) | undefined
  #ended = false
  #cancelled = false
  #error: Error | undefined

  constructor(
    readonly call: Call,
    private readonly what: string,
    private readonly deadlineMs: number,
  ) {
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

  /** Undefined when nothing has arrived yet, or nothing more will. */
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
   * Resolves with true when there may be something to take, with false when there will not. `patient`: however long it takes.
   * @throws what the call ended with, DeadlineError when nothing comes for so long
   */
  async more(patient = false): Promise<boolean> {
    if (this.isDrained && !this.#ended) await this.#woken(patient)
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

  #woken(patient: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new DeadlineError(`${this.what}: nothing for ${this.deadlineMs} ms`))
      const timer = patient ? undefined : setTimeout(late, this.deadlineMs)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}
