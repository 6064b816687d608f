import { type Finding, type Integrity, type IntegrityEvent, integrityDecider } from '../../domain/integrity.js'
import { integrityStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { type CommandContext, handleCommand, loadStream, readHistory } from '../handle-command.js'

export interface Resumed {
  readonly at: string
  readonly by: string
  readonly reason: string
}

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
    for (const finding of findings) {
      const command = { type: 'Report', finding, treeSize, at: this.clock() } as const
      const result = await handleCommand(this.store, integrityDecider, integrityStream, command, context)
      if (result.accepted) recorded += result.events.length
    }
    return recorded
  }

  /** `changed` is `true` if payouts were stopped. */
  async resumePayouts(reason: string, context: CommandContext): Promise<{ readonly changed: boolean }> {
    const command = { type: 'Resume', reason, at: this.clock() } as const
    const result = await handleCommand(this.store, integrityDecider, integrityStream, command, context)
    return { changed: result.accepted && result.events.length > 0 }
  }

  /** Returns `undefined` if payouts were never resumed. */
  async lastResumed(): Promise<Resumed | undefined> {
    const history = await readHistory<IntegrityEvent>(this.store, integrityStream, 'omit')
    const last = history.findLast(({ event }) => event.type === 'PayoutsResumed')
    if (last?.event.type !== 'PayoutsResumed') return undefined
    return { at: last.event.data.at, by: last.metadata.actor, reason: last.event.data.reason }
  }
}
