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
/** Ids in one message. */
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
  /** The port's error for what the call ended with. */
  readonly failed: (error: unknown) => Error
  /** The event itself: what is replayed comes with the position of its parked entry. */
  readonly original: (stream: string, revision: number) => Promise<RecordedEvent | undefined>
}

/** What the server has sent and nobody has taken is in flight there: at most the buffer size. */
export class Consumer implements PersistentConsumer {
  readonly #onAbort = () => void this.close()
  #ended = false

  private constructor(
    private readonly answers: Incoming<ConsumeResponse, ConsumeCall>,
    private readonly options: ConsumerOptions,
  ) {}

  /** Resolves when the server has confirmed. @throws what the call ends with */
  static async open(answers: Incoming<ConsumeResponse, ConsumeCall>, options: ConsumerOptions): Promise<Consumer> {
    const consumer = new Consumer(answers, options)
    const uuids = new ReadReq.Options.UUIDOption().setString(new shared.Empty())
    const wanted = new ReadReq.Options().setAll(new shared.Empty()).setGroupName(options.group).setUuidOption(uuids)
    answers.call.write(new ReadReq().setOptions(wanted.setBufferSize(options.bufferSize)))
    try {
      while (await answers.more()) {
        if (!answers.take()?.hasSubscriptionConfirmation()) continue
        if (options.signal.aborted) await consumer.close()
        else options.signal.addEventListener('abort', consumer.#onAbort)
        return consumer
      }
      throw new Error('the server ended the call')
    } catch (error) {
      answers.cancel()
      throw error
    }
  }

  async ack(...ackIds: string[]): Promise<void> {
    for (const ids of lots(ackIds)) this.#send(new ReadReq().setAck(new ReadReq.Ack().setIdsList(ids)))
  }

  async nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void> {
    for (const ids of lots(ackIds)) {
      const nack = new ReadReq.Nack().setAction(actions[action]).setReason(reason).setIdsList(ids)
      this.#send(new ReadReq().setNack(nack))
    }
  }

  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.options.signal.removeEventListener('abort', this.#onAbort)
    this.answers.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PersistentDelivery> {
    try {
      while (!this.#ended) {
        const answer = this.answers.take()
        const delivery = answer && (await this.#toDelivery(answer))
        if (delivery !== undefined) yield delivery
        else if (answer === undefined && !(await this.answers.more(true)) && !this.#ended)
          throw new Error('the server ended the call')
      }
    } catch (error) {
      if (!this.#ended) throw this.options.failed(error)
    } finally {
      await this.close()
    }
  }

  async #toDelivery(answer: ConsumeResponse): Promise<PersistentDelivery | undefined> {
    const delivered = answer.getEvent()
    const event = delivered?.getEvent()
    const link = delivered?.getLink()
    if (delivered === undefined || (event === undefined && link === undefined)) return undefined
    const ackId = idOf((link ?? event)?.getId())
    if (event === undefined) {
      // A parked event whose stream was truncated meanwhile: there is nothing left to do with it.
      await this.ack(ackId)
      return undefined
    }
    const recorded = toRecordedEvent(event)
    const original = link && (await this.options.original(recorded.stream, recorded.revision))
    return { event: original ?? recorded, retryCount: delivered.getRetryCount(), ackId }
  }

  /** Quiet when the consumer has ended: the events come again. */
  #send(request: ConsumeRequest): void {
    if (!this.#ended && this.answers.call.writable) this.answers.call.write(request)
  }
}

function* lots(ackIds: readonly string[]) {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
  // An id that is no UUID would end the call for all the others.
  const known = ackIds.filter((id) => uuid.test(id))
  for (let from = 0; from < known.length; from += maxIds)
    yield known.slice(from, from + maxIds).map((id) => new shared.UUID().setString(id))
}
