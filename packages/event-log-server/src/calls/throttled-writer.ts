import { ServerInterceptingCall, type ServerInterceptingCallInterface } from '@grpc/grpc-js'

/** The limits for messages in flight to a client. */
const maxPendingMessages = 256
const maxPendingBytes = 1024 * 1024
/** The size at which a batch of responses is sent. */
const batchMessages = 64
const batchBytes = 64 * 1024

/** Writes responses and makes the caller wait for a slow client, so that unread responses use limited memory. */
export class ThrottledWriter<Response> {
  #batch: Response[] = []
  #batchBytes = 0
  #messages = 0
  #bytes = 0
  #wake: (() => void) | undefined

  constructor(
    private readonly call: { write(batch: unknown, sent: () => void): unknown },
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.#wake?.())
  }

  /** Returns `false` if the caller must wait for {@link drained} before the next write. */
  write(response: Response, bytes = 0): boolean {
    if (this.signal.aborted) return false
    this.#messages += 1
    this.#bytes += bytes
    if (this.#batch.push(response) === 1) queueMicrotask(() => this.#flush())
    this.#batchBytes += bytes
    if (this.#batch.length >= batchMessages || this.#batchBytes >= batchBytes) this.#flush()
    return this.#messages < maxPendingMessages && this.#bytes < maxPendingBytes
  }

  /** Waits for the client. Returns `false` if it has disconnected. */
  async drained(): Promise<boolean> {
    if (!this.signal.aborted && this.#messages > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    return !this.signal.aborted
  }

  #flush(): void {
    const [batch, bytes] = [this.#batch, this.#batchBytes]
    if (batch.length === 0) return
    this.#batch = []
    this.#batchBytes = 0
    this.call.write(batch, () => {
      this.#messages -= batch.length
      this.#bytes -= bytes
      if (this.#messages * 2 <= maxPendingMessages && this.#bytes * 2 <= maxPendingBytes) this.#wake?.()
    })
  }
}

/**
 * Sends the responses of a batch together. The gRPC server itself sends the next response of a call only after the transport has taken
 * the last one, which would double the processor time of a read.
 */
export class BatchingCall extends ServerInterceptingCall {
  constructor(private readonly call: ServerInterceptingCallInterface) {
    super(call)
  }

  override sendMessage(message: unknown, sent: () => void): void {
    if (!Array.isArray(message)) {
      super.sendMessage(message, sent)
      return
    }
    let left = message.length
    for (const each of message)
      this.call.sendMessage(each, () => {
        left -= 1
        if (left === 0) sent()
      })
  }
}
