import {
  type Finding,
  type Integrity,
  type IntegrityCommand,
  type IntegrityEvent,
  integrityDecider,
} from '../../domain/integrity.js'
import { integrityStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { type CommandContext, handleCommand, loadStream, readHistory, type Untimed } from '../handle-command.js'

/** The cause of the findings that the service itself records. */
export const integrityContext = { actor: 'system:integrity', $correlationId: 'integrity', $causationId: 'integrity' }

/** Records verification failures, which stop payouts, and the decisions to stop and resume payouts. Each method may throw StoreUnavailableError. */
export class IntegrityCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
  ) {}

  async state(): Promise<Integrity> {
    return (await loadStream(this.store, integrityDecider, integrityStream)).state
  }

  /** Records each finding once and returns the number of new ones. The first one stops payouts. */
  async report(findings: readonly Finding[], treeSize: number, context: CommandContext): Promise<number> {
    let recorded = 0
    for (const finding of findings) {
      const result = await this.#execute({ type: 'Report', finding, treeSize }, context)
      if (result.accepted && result.changed) recorded++
    }
    return recorded
  }

  /** `changed` is `false` if an operator had already stopped payouts. */
  stopPayouts(reason: string, context: CommandContext) {
    return this.#execute({ type: 'Stop', reason }, context)
  }

  /** Rejects a number of accepted findings other than the recorded one. `changed` is `true` if payouts were stopped. */
  resumePayouts(reason: string, acceptedFindings: number, context: CommandContext) {
    return this.#execute({ type: 'Resume', reason, acceptedFindings }, context)
  }

  async #execute(command: Untimed<IntegrityCommand>, context: CommandContext) {
    const timed = { ...command, at: this.clock() }
    const result = await handleCommand(this.store, integrityDecider, integrityStream, timed, context)
    return result.accepted ? ({ accepted: true, changed: result.events.length > 0 } as const) : result
  }

  /** Returns the last decision of this type with its actor, or `undefined` before the first decision. */
  async lastDecision(type: 'PayoutsStopped' | 'PayoutsResumed') {
    const history = await readHistory<IntegrityEvent>(this.store, integrityStream, 'omit')
    const decisions = history.flatMap(({ event, metadata }) =>
      event.type === type && 'reason' in event.data
        ? [{ at: event.data.at, by: metadata.actor, reason: event.data.reason }]
        : [],
    )
    return decisions.at(-1)
  }
}
