import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/persistent_pb.js'
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js'
import type { NackAction } from '@transferd/event-log'
import type { Delivered, GroupConsumer, Membership } from '@transferd/event-log/groups'
import { type GroupName, wholeLog } from '@transferd/event-log/groups'
import type { User } from '../access/stored-users.js'
import { duplex, endWith, signalOf } from '../calls/call-handlers.js'
import { unforeseen } from '../wire/call-error.js'
import { deliveryResponse, placeOfResolved, type ResolvedEvent } from '../wire/event-messages.js'
import { persistent } from '../wire/generated-protocol.js'
import { idOf, streamName } from '../wire/wire-values.js'
import { asGroupError, groupsOf, mayChange, type PersistentContext } from './group-context.js'

type Call = ServerDuplexStream<ReadReq, ReadResp>

/** `PersistentSubscriptions.Read`: a consumer of a group. Its first message says of which, the others ack. */
export function consumeCall(context: PersistentContext): handleBidiStreamingCall<ReadReq, ReadResp> {
  return duplex(context, (call: Call, user) => new ClientConsumer(context, call, user).start())
}

/** A call that consumes a group, until one of the two sides ends it. */
export class ClientConsumer implements GroupConsumer<ResolvedEvent> {
  bufferSize = 0
  totalItems = 0
  readonly user: string
  readonly connectionName: string
  #name: GroupName | undefined
  #structuredIds = false
  #membership: Membership<ResolvedEvent> | undefined
  #isOver = false

  constructor(
    private readonly context: PersistentContext,
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
      if (!this.#isOver) call.end()
      this.#leave()
    })
    call.on('data', (request: ReadReq) => {
      try {
        this.#take(request)
      } catch (error) {
        this.end(error)
      }
    })
  }

  joined(membership: Membership<ResolvedEvent>): void {
    this.#membership = membership
    if (this.#isOver) {
      this.#leave()
      return
    }
    const id = `${this.#name?.source}::${this.#name?.group}`
    const confirmation = new persistent.ReadResp.SubscriptionConfirmation().setSubscriptionId(id)
    this.call.write(new persistent.ReadResp().setSubscriptionConfirmation(confirmation))
  }

  /** Never more than the buffer size, which the client chose: no need to wait for it. */
  deliver({ event, retryCount }: Delivered<ResolvedEvent>): void {
    this.totalItems += 1
    const shown = this.#mayBeShown(event) ? event : { link: placeOfResolved(event) }
    this.call.write(deliveryResponse(shown, retryCount, this.#structuredIds))
  }

  end(error?: unknown): void {
    if (this.#isOver) return
    this.#leave()
    if (error === undefined) this.call.end()
    else endWith(this.call, this.#name ? asGroupError(error, this.#name) : error, this.context)
  }

  /** What a link led the group to need not be for this consumer. */
  #mayBeShown({ event, link }: ResolvedEvent): boolean {
    const isFollowed = event !== undefined && link !== undefined && event.stream !== this.#name?.source
    return !isFollowed || this.context.access.mayFollow(this.caller, event.stream)
  }

  #take(request: ReadReq): void {
    const options = request.getOptions()
    const ack = request.getAck()
    const nack = request.getNack()
    if (options) this.#join(options)
    else if (ack) this.#membership?.ack(idsOf(ack.getIdsList()))
    else if (nack) this.#membership?.nack(actionOf(nack.getAction()), nack.getReason(), idsOf(nack.getIdsList()))
  }

  #join(options: ReadReq.Options): void {
    if (this.#name || this.#isOver) return
    const source = options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
    this.#name = { source, group: options.getGroupName() }
    this.#structuredIds = options.getUuidOption()?.hasStructured() ?? false
    this.bufferSize = options.getBufferSize()
    this.context.access.mayUse(this.caller, 'read', source)
    if (this.bufferSize < 0) throw unforeseen()
    mayChange(this.context, this.#name)
    groupsOf(this.context)
      .consume(this.#name, this)
      .catch((error) => this.end(error))
  }

  #leave(): void {
    this.#isOver = true
    this.#membership?.leave()
    this.#membership = undefined
  }
}

function idsOf(list: readonly UUID[]): string[] {
  return list.map((uuid) => idOf(uuid)).filter((id) => id !== undefined)
}

/** What is not known counts as a retry, and stop as skip: the subscription goes on. */
function actionOf(action: ReadReq.Nack.Action): NackAction {
  const { PARK, SKIP, STOP } = persistent.ReadReq.Nack.Action
  if (action === PARK) return 'park'
  return action === SKIP || action === STOP ? 'skip' : 'retry'
}
