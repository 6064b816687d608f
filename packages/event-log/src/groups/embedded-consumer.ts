import Denque from 'denque'
import type { NackAction, PersistentConsumer, PersistentDelivery, RecordedEvent } from '../event-log-types.js'
import type { Delivered } from './group.js'
import type { GroupConsumer, Membership } from './running-group.js'

interface Waiting {
  resolve(result: IteratorResult<PersistentDelivery>): void
  reject(error: Error): void
}

const finished: IteratorResult<PersistentDelivery> = { done: true, value: undefined }

/** Holds at most its buffer size of deliveries: the group never has more of them in flight. */
export class Consumer implements PersistentConsumer, AsyncIterator<PersistentDelivery>, GroupConsumer<RecordedEvent> {
  readonly #queue = new Denque<PersistentDelivery>()
  #membership: Membership<RecordedEvent> | undefined
  #waiting: Waiting | undefined
  #stopListening: (() => void) | undefined
  #ended = false
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
    const waiting = this.#waiting
    if (!waiting) {
      this.#queue.push(delivery)
      return
    }
    this.#waiting = undefined
    waiting.resolve({ done: false, value: delivery })
  }

  /** What it was given but did not take goes back to the group. */
  end(error?: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#error = error
    this.#stopListening?.()
    this.#queue.clear()
    const waiting = this.#waiting
    this.#waiting = undefined
    if (error) waiting?.reject(error)
    else waiting?.resolve(finished)
  }

  async ack(...ackIds: string[]): Promise<void> {
    this.#membership?.ack(ackIds)
  }

  async nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void> {
    this.#membership?.nack(action, reason, ackIds)
  }

  async close(): Promise<void> {
    if (this.#ended) return
    this.end()
    this.#membership?.leave()
  }

  [Symbol.asyncIterator](): AsyncIterator<PersistentDelivery> {
    return this
  }

  /** Not an async function: what is buffered costs one settled promise, with no generator to resume. */
  next(): Promise<IteratorResult<PersistentDelivery>> {
    const delivery = this.#queue.shift()
    if (delivery) return Promise.resolve({ done: false, value: delivery })
    if (this.#error) return Promise.reject(this.#error)
    if (this.#ended) return Promise.resolve(finished)
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  async return(): Promise<IteratorResult<PersistentDelivery>> {
    await this.close()
    return finished
  }
}
