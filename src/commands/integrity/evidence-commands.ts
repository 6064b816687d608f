import { randomUUID } from 'node:crypto'
import type { Disclosable } from '../../domain/disclosable.js'
import { type EvidenceCommand, evidenceDecider, isInForce } from '../../domain/disclosure.js'
import { evidenceStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { type CommandContext, handleCommand, loadStream, type Untimed } from '../handle-command.js'

interface CreatedPackage {
  readonly requestId: string | null
  readonly sha256: string
  readonly events: number
  readonly treeSize: number
}

/** Records the evidence packages of transfers, and decides about the disclosure of personal data. Each method may throw StoreUnavailableError. */
export class EvidenceCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
  ) {}

  /** Returns the latest request to disclose personal data of the transfer, or `null`; `isInForce` is `true` if packages may disclose it. */
  async disclosure(trackingId: string) {
    const { state } = await loadStream(this.store, evidenceDecider, evidenceStream(trackingId))
    const { disclosure } = state
    return disclosure && { ...disclosure, isInForce: isInForce(disclosure, this.clock()) }
  }

  request(trackingId: string, disclose: readonly Disclosable[], reason: string, context: CommandContext) {
    const requestId = randomUUID()
    return this.#execute(
      { type: 'Request', trackingId, requestId, disclose: [...disclose], reason, by: context.actor },
      context,
    )
  }

  decide(trackingId: string, requestId: string, decision: 'Approve' | 'Reject', context: CommandContext) {
    return this.#execute({ type: decision, trackingId, requestId, by: context.actor }, context)
  }

  recordPackage(trackingId: string, created: CreatedPackage, context: CommandContext) {
    return this.#execute({ type: 'RecordPackage', trackingId, ...created, by: context.actor }, context)
  }

  async #execute(command: Untimed<EvidenceCommand>, context: CommandContext) {
    const timed = { ...command, at: this.clock() } as EvidenceCommand
    const result = await handleCommand(this.store, evidenceDecider, evidenceStream(command.trackingId), timed, context)
    return result.accepted ? ({ accepted: true, changed: result.events.length > 0 } as const) : result
  }
}
