import type {
  ReadReq as ConsumeRequest,
  ReadResp as ConsumeResponse,
} from '@eventstore/db-client/generated/persistent_pb.js'
import type { NackAction, PersistentConsumer, PersistentDelivery, RecordedEvent } from '../event-store.js'
import { persistent, shared } from './generated.js'
import type { Incoming } from './incoming.js'
import type { ConsumeCall } from './raw-client.js'
import { idOf, toRecordedEvent } from './recorded-event.js'

const { ReadReq } = persistent
/** The largest number of ids in one message. */
const maxIds = 2_000

const actions = {
  park: ReadReq.Nack.Action.PARK,
  retry: ReadReq.Nack.Action.RETRY,
  skip: ReadReq.Nack.Action.SKIP,
} satisfies { readonly [action in NackAction]: number }

export interface ConsumerOptions {
  readonly group: string
  readonly bufferSize: number
  readonly signal: AbortSignal
  /** Returns the port's error for the error of the call. */
  readonly failed: (error: unknown) => Error
  /** Reads the event itself: a replayed event has the position of its parked entry. */
  readonly original: (stream: string, revision: number) => Promise<RecordedEvent | undefined>
}

/** A consumer of a group. Events that were sent but not taken are in flight on the server, at most as many as the buffer size. */
export class Consumer implements PersistentConsumer {
  readonly #onAbort = () => void this.close()
  #ended = false

  private constructor(
    private readonly responses: Incoming<ConsumeResponse, ConsumeCall>,
    private readonly options: ConsumerOptions,
  ) {}

  /** Resolves when the server has confirmed the subscription. @throws the error of the call */
  static async open(responses: Incoming<ConsumeResponse, ConsumeCall>, options: ConsumerOptions): Promise<Consumer> {
    const consumer = new Consumer(responses, options)
    const uuids = new ReadReq.Options.UUIDOption().setString(new shared.Empty())
    const wanted = new ReadReq.Options().setAll(new shared.Empty()).setGroupName(options.group).setUuidOption(uuids)
    responses.call.write(new ReadReq().setOptions(wanted.setBufferSize(options.bufferSize)))
    try {
      while (await responses.more()) {
        if (!responses.take()?.hasSubscriptionConfirmation()) continue
        if (options.signal.aborted) await consumer.close()
        else options.signal.addEventListener('abort', consumer.#onAbort)
        return consumer
      }
      throw new Error('the server ended the call')
    } catch (error) {
      responses.cancel()
      throw error
    }
  }

  async ack(...ackIds: string[]): Promise<void> {
    for (const ids of batches(ackIds)) this.#send(new ReadReq().setAck(new ReadReq.Ack().setIdsList(ids)))
  }

  async nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void> {
    for (const ids of batches(ackIds)) {
      const nack = new ReadReq.Nack().setAction(actions[action]).setReason(reason).setIdsList(ids)
      this.#send(new ReadReq().setNack(nack))
    }
  }

  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.options.signal.removeEventListener('abort', this.#onAbort)
    this.responses.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PersistentDelivery> {
    try {
      while (!this.#ended) {
        const response = this.responses.take()
        const delivery = response && (await this.#toDelivery(response))
        if (delivery !== undefined) yield delivery
        else if (response === undefined && !(await this.responses.more(true)) && !this.#ended)
          throw new Error('the server ended the call')
      }
    } catch (error) {
      if (!this.#ended) throw this.options.failed(error)
    } finally {
      await this.close()
    }
  }

  async #toDelivery(response: ConsumeResponse): Promise<PersistentDelivery | undefined> {
    const delivered = response.getEvent()
    const event = delivered?.getEvent()
    const link = delivered?.getLink()
    if (delivered === undefined || (event === undefined && link === undefined)) return undefined
    const ackId = idOf((link ?? event)?.getId())
    if (event === undefined) {
      // The stream of the parked event was truncated, so nothing is left to process.
      await this.ack(ackId)
      return undefined
    }
    const recorded = toRecordedEvent(event)
    const original = link && (await this.options.original(recorded.stream, recorded.revision))
    return { event: original ?? recorded, retryCount: delivered.getRetryCount(), ackId }
  }

  /** Does nothing if the consumer has ended: the events are redelivered. */
  #send(request: ConsumeRequest): void {
    if (!this.#ended && this.responses.call.writable) this.responses.call.write(request)
  }
}

function* batches(ackIds: readonly string[]) {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
  // An id that is not a UUID would end the call for all others.
  const known = ackIds.filter((id) => uuid.test(id))
  for (let from = 0; from < known.length; from += maxIds)
    yield known.slice(from, from + maxIds).map((id) => new shared.UUID().setString(id))
}
