import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/persistent_pb.js'
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import { type handleBidiStreamingCall, type ServerDuplexStream, status } from '@grpc/grpc-js'
import type { User } from './access.js'
import { toCallError, unforeseen } from './call-error.js'
import { endWith, signalOf } from './calls.js'
import { persistent } from './generated.js'
import { wholeLog } from './groups/group-settings.js'
import type { GroupMember } from './groups/group-state.js'
import type { NackAction, RunningGroup } from './groups/running-group.js'
import { groupError, groupMissing, groupsOf, type PersistentContext } from './persistent-context.js'
import { deliveryResponse } from './recorded-event.js'
import { idOf, streamName } from './wire.js'

type Call = ServerDuplexStream<ReadReq, ReadResp>

/** `PersistentSubscriptions.Read`: a consumer of a group. Its first message says of which, the others ack. */
export function consumeCall(context: PersistentContext): handleBidiStreamingCall<ReadReq, ReadResp> {
  return (call) => {
    call.on('error', () => {}) // without a listener it would end the process
    const ended = (error: unknown) => endWith(call, toCallError(error, context.onFault))
    // Nobody listens for data yet, so nothing is lost meanwhile.
    context.access.caller(call.metadata).then((user) => new Consumer(context, call, user).start(), ended)
  }
}

class Consumer {
  #group: RunningGroup | undefined
  #member: GroupMember | undefined
  #isOver = false

  constructor(
    private readonly context: PersistentContext,
    private readonly call: Call,
    private readonly user: User | undefined,
  ) {}

  start(): void {
    const { call } = this
    signalOf(call).addEventListener('abort', () => this.#leave())
    call.on('end', () => {
      this.#leave()
      if (!this.#isOver) call.end()
    })
    call.on('data', (request: ReadReq) => {
      try {
        this.#take(request)
      } catch (error) {
        this.#fail(error)
      }
    })
  }

  #take(request: ReadReq): void {
    const options = request.getOptions()
    const ack = request.getAck()
    const nack = request.getNack()
    if (options) this.#join(options)
    else if (ack) this.#group?.ack(idsOf(ack.getIdsList()))
    else if (nack) this.#group?.nack(actionOf(nack.getAction()), nack.getReason(), idsOf(nack.getIdsList()))
  }

  #join(options: ReadReq.Options): void {
    if (this.#group || this.#isOver) return
    const { access } = this.context
    const source = options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
    const name = options.getGroupName()
    access.mayUse(this.user, 'read', source)
    const group = groupsOf(this.context).find(source, name)
    if (group === undefined) throw groupMissing(source, name)
    if (options.getBufferSize() < 0) throw unforeseen()
    if (group.isFull) {
      const text = `Maximum subscriptions reached for subscription group ${name} on stream ${source}.`
      throw groupError(status.FAILED_PRECONDITION, 'maximum-subscribers-reached', text, source, name)
    }
    const structuredIds = options.getUuidOption()?.hasStructured() ?? false
    this.#group = group
    this.#member = {
      id: 0,
      bufferSize: options.getBufferSize(),
      inFlight: 0,
      totalItems: 0,
      name: String(this.call.metadata.get('connection-name')[0] ?? '<unknown>'),
      user: this.user?.login ?? (access.isInsecure ? 'system' : 'anonymous'),
      // Never more than the buffer size, which the client chose: no need to wait for it.
      deliver: (entry) => {
        this.call.write(deliveryResponse(entry.resolved, entry.retryCount, structuredIds))
        group.delivered(entry)
      },
      drop: () => {
        const text = `Subscription group ${name} on stream ${source} was dropped.`
        this.#fail(groupError(status.CANCELLED, 'persistent-subscription-dropped', text, source, name))
      },
    }
    const id = `${source}::${name}`
    const confirmation = new persistent.ReadResp.SubscriptionConfirmation().setSubscriptionId(id)
    this.call.write(new persistent.ReadResp().setSubscriptionConfirmation(confirmation))
    group.join(this.#member)
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#leave()
    endWith(this.call, toCallError(error, this.context.onFault))
  }

  #leave(): void {
    if (this.#member) this.#group?.leave(this.#member)
    this.#member = undefined
    this.#group = undefined
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
