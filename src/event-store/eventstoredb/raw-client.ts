import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient, type SingleNodeOptions } from '@eventstore/db-client'
import type {
  ReadReq as ConsumeRequest,
  ReadResp as ConsumeResponse,
} from '@eventstore/db-client/generated/persistent_pb.js'
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { Channel, ClientDuplexStream, ClientReadableStream } from '@grpc/grpc-js'
import { type Answer, decodeAnswer } from './append-wire.js'
import { type ConnectionTarget, type Endpoint, isOfThisMachine } from './eventstoredb-url.js'
import { persistentServices, streamsServices } from './generated.js'
import { Incoming, within } from './incoming.js'
import type { WireEvent } from './recorded-event.js'

const endsWithinMs = 1_000
const batchAppendPath = '/event_store.client.streams.Streams/BatchAppend'

export type ConsumeCall = ClientDuplexStream<ConsumeRequest, ConsumeResponse>

/**
 * The client, and the calls it would make for its own API, as they are. Its `appendToStream` keeps the pending appends of the
 * whole process in one table: an error of one stream rejects those of all, and an answer that comes after it throws outside
 * any promise, which ends the process. Its streams of events tell checkpoints apart from the events they belong between.
 */
export class RawClient extends EventStoreDBClient {
  #channel: Channel | undefined

  constructor(
    target: ConnectionTarget,
    private readonly deadlineMs: number,
  ) {
    super(
      settingsOf(target, deadlineMs),
      {
        insecure: !target.tls,
        ...(target.tlsCaFile !== undefined && { rootCertificate: readFileSync(target.tlsCaFile) }),
        ...(target.userCertFile !== undefined && { userCertFile: readFileSync(target.userCertFile) }),
        ...(target.userKeyFile !== undefined && { userKeyFile: readFileSync(target.userKeyFile) }),
      },
      target.tls ? target.credentials : undefined,
    )
    const { credentials } = target
    if (credentials && !target.tls && isOfThisMachine(target)) this.#sendOnEachCall(credentials)
    const { getChannel } = this
    this.getChannel = async () => {
      const channel = await getChannel()
      this.#channel = channel
      return channel
    }
  }

  /** Follows until it is cancelled, or reads until there is no more. */
  read(what: string, request: ReadReq): Promise<Incoming<ReadResp>> {
    const call = this.GRPCStreamCreator(streamsServices.StreamsClient, 'read', (client) =>
      client.read(request, ...this.#endless()),
    )
    return this.#opened(what, call())
  }

  /** All events of a read. */
  async readEvents(what: string, request: ReadReq): Promise<readonly WireEvent[]> {
    const answers = await this.read(what, request)
    const events: WireEvent[] = []
    try {
      while (await answers.more()) {
        const event = answers.take()?.getEvent()?.getEvent()
        if (event !== undefined) events.push(event)
      }
      return events
    } finally {
      answers.cancel()
    }
  }

  batchAppend(): Promise<ClientDuplexStream<Buffer, Answer>> {
    return this.GRPCStreamCreator(streamsServices.StreamsClient, 'batchAppend', (client) =>
      client.makeBidiStreamRequest(batchAppendPath, (message: Buffer) => message, decodeAnswer, ...this.#endless()),
    )()
  }

  consume(what: string): Promise<Incoming<ConsumeResponse, ConsumeCall>> {
    const call = this.GRPCStreamCreator(persistentServices.PersistentSubscriptionsClient, 'consume', (client) =>
      client.read(...this.#endless()),
    )
    return this.#opened(what, call())
  }

  /** Resolves when a server answers; nobody need be logged in for it. */
  async probe(): Promise<void> {
    await this.capabilities
  }

  /** Ends all calls and the connection. */
  async end(): Promise<void> {
    // A call that does not end when it is cancelled must not keep the next connection from being made.
    await Promise.race([this.dispose(), sleep(endsWithinMs, undefined, { ref: false })])
    this.#channel?.close()
  }

  async #opened<Message, Call extends ClientReadableStream<Message>>(what: string, call: Promise<Call>) {
    return new Incoming<Message, Call>(await within(this.deadlineMs, what, call), what, this.deadlineMs)
  }

  /** The client sends no credentials without TLS; a server of this machine may ask for them all the same. */
  #sendOnEachCall({ username, password }: NonNullable<ConnectionTarget['credentials']>): void {
    const { callArguments } = this
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    this.callArguments = (...given) => {
      const [metadata, options] = callArguments(...given)
      metadata.set('authorization', authorization)
      return [metadata, options]
    }
  }

  /** Waiting for an answer has a deadline of its own: one of the call would end long reads and subscriptions. */
  #endless() {
    return this.callArguments({}, { deadline: Number.POSITIVE_INFINITY })
  }
}

/** The constructor has an overload for each kind, and tells them apart by the key. */
function settingsOf({ kind, endpoints, ...target }: ConnectionTarget, deadlineMs: number): SingleNodeOptions {
  const { nodePreference, connectionName } = target
  const settings = {
    defaultDeadline: deadlineMs,
    nodePreference,
    ...(connectionName !== undefined && { connectionName }),
  }
  const [endpoint] = endpoints as [Endpoint]
  switch (kind) {
    case 'node':
      return { ...settings, endpoint }
    case 'cluster':
      return { ...settings, endpoints: [...endpoints] } as unknown as SingleNodeOptions
    case 'discover':
      return { ...settings, discover: endpoint } as unknown as SingleNodeOptions
    default:
      return kind satisfies never
  }
}
