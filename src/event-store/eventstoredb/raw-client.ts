import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient } from '@eventstore/db-client'
import persistentServices from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import type {
  ReadReq as ConsumeRequest,
  ReadResp as ConsumeResponse,
} from '@eventstore/db-client/generated/persistent_pb.js'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { Channel, type ClientDuplexStream, type ClientReadableStream } from '@grpc/grpc-js'
import { StoreUnavailableError } from '../event-store.js'
import { countInLog } from '../log-counts.js'
import { type AppendResponse, decodeResponse } from './append-wire.js'
import { type ConnectionTarget, channelCredentials, type Endpoint, isOfThisMachine, uriOf } from './eventstoredb-url.js'
import type { WireEvent } from './recorded-event.js'

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

  /** Waits for a response, without a deadline if `patient` is set. Resolves to false if none will follow. @throws the error of the call, DeadlineError */
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

const endsWithinMs = 1_000
const channelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
  // A server stores events of up to 16 MiB.
  'grpc.max_receive_message_length': 17 * 1024 * 1024,
  // Otherwise a new client would wait for the back-off of an earlier one, which grows during an outage.
  'grpc.use_local_subchannel_pool': 1,
}
const batchAppendPath = '/event_store.client.streams.Streams/BatchAppend'

export type ConsumeCall = ClientDuplexStream<ConsumeRequest, ConsumeResponse>

/**
 * Makes the calls of the client without its own API. The client's `appendToStream` stores the pending appends of the process in one table:
 * an error of one stream rejects all of them, and a later response throws outside any promise, which ends the process. The client's event
 * streams separate checkpoints from the events between which they arrive.
 */
export class RawClient extends EventStoreDBClient {
  #channel: Channel | undefined

  constructor(
    target: ConnectionTarget,
    readonly endpoint: Endpoint,
    private readonly deadlineMs: number,
  ) {
    const { tls, credentials, connectionName } = target
    super(
      { endpoint, defaultDeadline: deadlineMs, ...(connectionName && { connectionName }) },
      { insecure: !tls },
      tls ? credentials : undefined,
    )
    if (credentials && !tls && isOfThisMachine(endpoint)) this.#sendOnEachCall(credentials)
    // The connection replaces a client that fails. The client would reconnect too, and an error without an endpoint would end the process.
    this.handleError = async () => undefined
    this.getChannel = async () => {
      this.#channel ??= new Channel(uriOf(endpoint), channelCredentials(target), channelOptions)
      return this.#channel
    }
  }

  /** Subscribes until the call is cancelled, or reads to the end. */
  read(what: string, request: ReadReq): Promise<Incoming<ReadResp>> {
    const options = request.getOptions()
    countInLog(options?.hasSubscription() ? 'subscribe' : options?.hasStream() ? 'read_stream' : 'read_all')
    const call = this.GRPCStreamCreator(streamsServices.StreamsClient, 'read', (client) =>
      client.read(request, ...this.#endless()),
    )
    return this.#opened(what, call())
  }

  async readEvents(what: string, request: ReadReq): Promise<readonly WireEvent[]> {
    const responses = await this.read(what, request)
    const events: WireEvent[] = []
    try {
      while (await responses.more()) {
        const event = responses.take()?.getEvent()?.getEvent()
        if (event !== undefined) events.push(event)
      }
      countInLog('event_received', events.length)
      return events
    } finally {
      responses.cancel()
    }
  }

  batchAppend(): Promise<ClientDuplexStream<Buffer, AppendResponse>> {
    return this.GRPCStreamCreator(streamsServices.StreamsClient, 'batchAppend', (client) =>
      client.makeBidiStreamRequest(batchAppendPath, (message: Buffer) => message, decodeResponse, ...this.#endless()),
    )()
  }

  consume(what: string): Promise<Incoming<ConsumeResponse, ConsumeCall>> {
    countInLog('subscribe')
    const call = this.GRPCStreamCreator(persistentServices.PersistentSubscriptionsClient, 'consume', (client) =>
      client.read(...this.#endless()),
    )
    return this.#opened(what, call())
  }

  /** Resolves when a server responds, which requires no login. */
  async probe(): Promise<void> {
    await this.capabilities
  }

  async end(): Promise<void> {
    // A call that ignores its cancellation must not delay the next connection.
    await Promise.race([this.dispose(), sleep(endsWithinMs, undefined, { ref: false })])
    this.#channel?.close()
  }

  async #opened<Message, Call extends ClientReadableStream<Message>>(what: string, call: Promise<Call>) {
    return new Incoming<Message, Call>(await within(this.deadlineMs, what, call), what, this.deadlineMs)
  }

  /** Sends the credentials without TLS, which the client does not do: a server on this machine may require them anyway. */
  #sendOnEachCall({ username, password }: NonNullable<ConnectionTarget['credentials']>): void {
    const { callArguments } = this
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    this.callArguments = (...given) => {
      const [metadata, options] = callArguments(...given)
      metadata.set('authorization', authorization)
      return [metadata, options]
    }
  }

  /** Disables the deadline of the call, which would end long reads and subscriptions. The wait for a response has its own deadline. */
  #endless() {
    return this.callArguments({}, { deadline: Number.POSITIVE_INFINITY })
  }
}
