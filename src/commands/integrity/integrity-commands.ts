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

/** Records verification failures, which stop payouts, and resumes payouts. Each method may throw StoreUnavailableError. */
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
    for (const finding of findings) recorded += await this.#execute({ type: 'Report', finding, treeSize }, context)
    return recorded
  }

  /** `changed` is `true` if payouts were stopped. */
  async resumePayouts(reason: string, context: CommandContext): Promise<{ readonly changed: boolean }> {
    return { changed: (await this.#execute({ type: 'Resume', reason }, context)) > 0 }
  }

  async #execute(command: Untimed<IntegrityCommand>, context: CommandContext): Promise<number> {
    const timed = { ...command, at: this.clock() }
    const result = await handleCommand(this.store, integrityDecider, integrityStream, timed, context)
    return result.accepted ? result.events.length : 0
  }

  /** Returns `undefined` if payouts were never resumed. `by` is the actor. */
  async lastResumed() {
    const history = await readHistory<IntegrityEvent>(this.store, integrityStream, 'omit')
    const last = history.findLast(({ event }) => event.type === 'PayoutsResumed')
    if (last?.event.type !== 'PayoutsResumed') return undefined
    return { at: last.event.data.at, by: last.metadata.actor, reason: last.event.data.reason }
  }
}
