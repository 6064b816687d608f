import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/persistent_pb.js'
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js'
import type { NackAction } from '@transferd/event-log'
import type { Delivered, GroupConsumer, Membership } from '@transferd/event-log/groups'
import { type GroupName, wholeLog } from '@transferd/event-log/groups'
import type { User } from '../access/stored-users.js'
import { duplex, endWith, signalOf } from '../calls/call-handlers.js'
import { unexpectedError } from '../wire/call-error.js'
import { encodeEvent } from '../wire/event-encoder.js'
import { persistent } from '../wire/generated-protocol.js'
import { linkOrEvent, type ResolvedEvent } from '../wire/resolved-event.js'
import { parseId, parseStream } from '../wire/wire-values.js'
import { asGroupError, type GroupContext, groupsOf, requireChangeable } from './group-context.js'

type Call = ServerDuplexStream<ReadReq, ReadResp | Buffer>

/** Handles `PersistentSubscriptions.Read`: a consumer of a group. Its first message names the group, and the others are acks. */
export function consumeCall(context: GroupContext): handleBidiStreamingCall<ReadReq, ReadResp> {
  return duplex(context, (call: Call, user) => new ClientConsumer(context, call, user).start())
}

/** A call that consumes a group until either side ends it. */
export class ClientConsumer implements GroupConsumer<ResolvedEvent> {
  bufferSize = 0
  totalItems = 0
  readonly user: string
  readonly connectionName: string
  #name: GroupName | undefined
  #structuredIds = false
  #membership: Membership<ResolvedEvent> | undefined
  #hasEnded = false

  constructor(
    private readonly context: GroupContext,
    private readonly call: Call,
    private readonly caller: User | undefined,
  ) {
    this.user = caller?.login ?? (context.access.isOpen ? 'system' : 'anonymous')
    this.connectionName = String(call.metadata.get('connection-name')[0] ?? '<unknown>')
  }

  start(): void {
    const { call } = this
    signalOf(call).addEventListener('abort', () => this.#leave())
    call.on('end', () => {
      if (!this.#hasEnded) call.end()
      this.#leave()
    })
    call.on('data', (request: ReadReq) => {
      try {
        this.#receive(request)
      } catch (error) {
        this.end(error)
      }
    })
  }

  joined(membership: Membership<ResolvedEvent>): void {
    this.#membership = membership
    if (this.#hasEnded) {
      this.#leave()
      return
    }
    const id = `${this.#name?.source}::${this.#name?.group}`
    const confirmation = new persistent.ReadResp.SubscriptionConfirmation().setSubscriptionId(id)
    this.call.write(new persistent.ReadResp().setSubscriptionConfirmation(confirmation))
  }

  /** Sends an event. It need not wait for the client, which chose the buffer size that limits the events in flight. */
  deliver({ event, retryCount }: Delivered<ResolvedEvent>): void {
    this.totalItems += 1
    const shown = this.#canSee(event) ? event : { link: linkOrEvent(event) }
    this.call.write(encodeEvent(shown, this.#structuredIds, retryCount))
  }

  end(error?: unknown): void {
    if (this.#hasEnded) return
    this.#leave()
    if (error === undefined) this.call.end()
    else endWith(this.call, this.#name ? asGroupError(error, this.#name) : error, this.context)
  }

  /** Returns whether this consumer can see an event that the group may have found through a link. */
  #canSee({ event, link }: ResolvedEvent): boolean {
    const isLinked = event !== undefined && link !== undefined && event.stream !== this.#name?.source
    return !isLinked || this.context.access.canFollowLink(this.caller, event.stream)
  }

  #receive(request: ReadReq): void {
    const options = request.getOptions()
    const ack = request.getAck()
    const nack = request.getNack()
    if (options) this.#join(options)
    else if (ack) this.#membership?.ack(parseIds(ack.getIdsList()))
    else if (nack) this.#membership?.nack(parseAction(nack.getAction()), nack.getReason(), parseIds(nack.getIdsList()))
  }

  #join(options: ReadReq.Options): void {
    if (this.#name || this.#hasEnded) return
    const source = options.hasAll() ? wholeLog : parseStream(options.getStreamIdentifier())
    this.#name = { source, group: options.getGroupName() }
    this.#structuredIds = options.getUuidOption()?.hasStructured() ?? false
    this.bufferSize = options.getBufferSize()
    this.context.access.requireRight(this.caller, 'read', source)
    if (this.bufferSize < 0) throw unexpectedError()
    requireChangeable(this.context, this.#name)
    groupsOf(this.context)
      .consume(this.#name, this)
      .catch((error) => this.end(error))
  }

  #leave(): void {
    this.#hasEnded = true
    this.#membership?.leave()
    this.#membership = undefined
  }
}

function parseIds(list: readonly UUID[]): string[] {
  return list.map((uuid) => parseId(uuid)).filter((id) => id !== undefined)
}

/** Returns the action of a nack. An unknown action counts as retry, and stop counts as skip, so the subscription continues. */
function parseAction(action: ReadReq.Nack.Action): NackAction {
  const { PARK, SKIP, STOP } = persistent.ReadReq.Nack.Action
  if (action === PARK) return 'park'
  return action === SKIP || action === STOP ? 'skip' : 'retry'
}
