import {
  type Finding,
  type Integrity,
  type IntegrityCommand,
  type IntegrityEvent,
  integrityDecider,
  type Restore,
} from '../../domain/integrity.js'
import { integrityStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import {
  type CommandContext,
  handleCommand,
  type Loaded,
  loadStream,
  onSeen,
  readHistory,
  type Untimed,
} from '../handle-command.js'

/** The cause of the findings that the service itself records. */
export const integrityContext = { actor: 'system:integrity', $correlationId: 'integrity', $causationId: 'integrity' }

/**
 * Records verification failures and restores, which stop payouts, and the decisions to stop and resume payouts. Each method may throw
 * StoreUnavailableError.
 */
export class IntegrityCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
  ) {}

  async state(): Promise<Integrity> {
    return (await this.read()).state
  }

  /** Returns the state with its revision, which a user who resumes payouts names. */
  read(): Promise<Loaded<Integrity>> {
    return loadStream(this.store, integrityDecider, integrityStream)
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

  /** Records a restore of the log once, which stops payouts. A repeat with the same id changes nothing, even after payouts were resumed. */
  async recordRestore(restore: Restore, id: string, context: CommandContext): Promise<void> {
    const command = { type: 'RecordRestore', restore, at: this.clock() } as const
    await handleCommand(this.store, integrityDecider, integrityStream, command, context, { onceId: id })
  }

  /**
   * Resumes payouts unless there is a finding, a stop or a restore after `revision`, which the user has not seen. Their number would not be
   * enough: after another resumption, there can be as many others. `changed` is `true` if payouts were stopped.
   */
  resumePayouts(reason: string, revision: number, context: CommandContext) {
    return this.#execute({ type: 'Resume', reason }, context, revision)
  }

  async #execute(command: Untimed<IntegrityCommand>, context: CommandContext, revision?: number) {
    const timed = { ...command, at: this.clock() }
    const options = onSeen(integrityStream, revision, context, command)
    const result = await handleCommand(this.store, integrityDecider, integrityStream, timed, context, options)
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
