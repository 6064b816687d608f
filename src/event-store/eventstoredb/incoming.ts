import type { ClientReadableStream } from '@grpc/grpc-js'
import { StoreUnavailableError } from '../event-store.js'

/** No response arrived in time. The outcome of the request is unknown. */
export class DeadlineError extends StoreUnavailableError {}

/** Rejects with a {@link DeadlineError} if the promise takes longer. A later rejection of the promise is ignored. */
export function within<Value>(deadlineMs: number, what: string, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new DeadlineError(`${what}: no response within ${deadlineMs} ms`)),
      deadlineMs,
    )
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The responses of a call, taken individually. The others fill the call's small buffer, and a full buffer makes the server wait. */
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

  /** Returns `undefined` if no response is available now. */
  take(): Message | undefined {
    if (this.#cancelled) return undefined
    if (this.#error) throw this.#error
    return (this.call.read() as Message | null) ?? undefined
  }

  /** Whether no response is available now. */
  get isDrained(): boolean {
    return this.call.readableLength === 0
  }

  /**
   * Waits for a response, without a deadline if `patient` is set. Resolves to false if none will follow.
   * @throws the error of the call, DeadlineError
   */
  async more(patient = false): Promise<boolean> {
    if (this.isDrained && !this.#ended) await this.#woken(patient)
    if (this.#cancelled) return false
    if (this.#error) throw this.#error
    return !(this.#ended && this.isDrained)
  }

  /** Cancels the call. Never throws, even if it is repeated. */
  cancel(): void {
    this.#ended = true
    this.#cancelled = true
    // A call that is cancelled in the turn in which it started does not notify the server (grpc-node issue 1652).
    setImmediate(() => this.call.cancel())
    this.#wake?.()
  }

  #woken(patient: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new DeadlineError(`${this.what}: no message for ${this.deadlineMs} ms`))
      const timer = patient ? undefined : setTimeout(late, this.deadlineMs)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}
