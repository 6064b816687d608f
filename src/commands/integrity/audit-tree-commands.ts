import { type AuditTree, type AuditTreeCommand, auditTreeDecider } from '../../domain/audit-tree.js'
import { auditTreeStream } from '../../domain/streams.js'
import type { EventStore, StreamRevision } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import type { Clock } from '../../kernel/time.js'
import { type CommandContext, handleCommand, type Untimed } from '../handle-command.js'

/** Records the starts of the tree over the log and its checkpoints. Each method may throw StoreUnavailableError. */
export class AuditTreeCommands {
  #tree: AuditTree | null = null
  #revision: StreamRevision = 'no_stream'

  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
  ) {}

  /** Returns the newest tree, or `null` if no event starts one. A forged event starts none. */
  async state(): Promise<AuditTree | null> {
    const fromRevision = this.#revision === 'no_stream' ? 0 : this.#revision + 1
    for (const recorded of await this.store.readStream(auditTreeStream, { fromRevision })) {
      const event = readableEvent(recorded)
      if (event?.type === 'AuditTreeStarted' || event?.type === 'AuditTreeSealed')
        this.#tree = auditTreeDecider.evolve(this.#tree, event)
      this.#revision = recorded.revision
    }
    return this.#tree
  }

  async execute(command: Untimed<AuditTreeCommand>, context: CommandContext): Promise<void> {
    const loaded = { state: await this.state(), revision: this.#revision }
    const timed = { ...command, at: this.clock() }
    await handleCommand(this.store, auditTreeDecider, auditTreeStream, timed, context, { loaded })
  }
}
