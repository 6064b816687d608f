import Denque from 'denque'
import type { NackAction, PersistentConsumer, PersistentDelivery, RecordedEvent } from '../event-log-types.js'
import type { Delivered } from './group.js'
import type { GroupConsumer, Membership } from './running-group.js'

interface PendingRead {
  resolve(result: IteratorResult<PersistentDelivery>): void
  reject(error: Error): void
}

const finished: IteratorResult<PersistentDelivery> = { done: true, value: undefined }

/** Buffers deliveries. The group never has more of them in flight than the buffer size. */
export class EmbeddedConsumer
  implements PersistentConsumer, AsyncIterator<PersistentDelivery>, GroupConsumer<RecordedEvent>
{
  readonly #queue = new Denque<PersistentDelivery>()
  #membership: Membership<RecordedEvent> | undefined
  #pending: PendingRead | undefined
  #stopListening: (() => void) | undefined
  #hasEnded = false
  #error: Error | undefined

  constructor(readonly bufferSize: number) {}

  joined(membership: Membership<RecordedEvent>): void {
    this.#membership = membership
  }

  closeOn(signal: AbortSignal): void {
    const close = () => void this.close()
    if (signal.aborted) close()
    else signal.addEventListener('abort', close)
    this.#stopListening = () => signal.removeEventListener('abort', close)
  }

  deliver({ event, retryCount, ackId }: Delivered<RecordedEvent>): void {
    const delivery = { event, retryCount, ackId }
    const pending = this.#pending
    if (!pending) {
      this.#queue.push(delivery)
      return
    }
    this.#pending = undefined
    pending.resolve({ done: false, value: delivery })
  }

  /** Ends the consumer. The group redelivers the events that are still buffered. */
  end(error?: Error): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#error = error
    this.#stopListening?.()
    this.#queue.clear()
    const pending = this.#pending
    this.#pending = undefined
    if (error) pending?.reject(error)
    else pending?.resolve(finished)
  }

  async ack(...ackIds: string[]): Promise<void> {
    this.#membership?.ack(ackIds)
  }

  async nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void> {
    this.#membership?.nack(action, reason, ackIds)
  }

  async close(): Promise<void> {
    if (this.#hasEnded) return
    this.end()
    this.#membership?.leave()
  }

  [Symbol.asyncIterator](): AsyncIterator<PersistentDelivery> {
    return this
  }

  /** Returns the next delivery. It is not an async function, so that a buffered delivery costs a single settled promise. */
  next(): Promise<IteratorResult<PersistentDelivery>> {
    const delivery = this.#queue.shift()
    if (delivery) return Promise.resolve({ done: false, value: delivery })
    if (this.#error) return Promise.reject(this.#error)
    if (this.#hasEnded) return Promise.resolve(finished)
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
    })
  }

  async return(): Promise<IteratorResult<PersistentDelivery>> {
    await this.close()
    return finished
  }
}
