import { randomUUID } from 'node:crypto'
import { parseObject } from '../../embedded/streams/event-body.js'
import type { StreamStore } from '../../embedded/streams/stream-store.js'
import { checkpointStream, type GroupDefinition, parkedStream } from './group-settings.js'
import { RunningGroup } from './running-group.js'

/** Which groups there are, as a history: each event makes, changes or removes one. */
const groupsStream = '$persistentSubscriptionGroups'
const pageEvents = 500

interface Change {
  readonly kind: 'set' | 'deleted'
  readonly definition: GroupDefinition
}

/** All persistent subscriptions of a log. They run here, whether anybody consumes them or not. */
export class Groups {
  /** In order of creation. */
  readonly #groups = new Map<string, RunningGroup>()
  /** Streams that had a group since the last start: asking for theirs is no mistake. */
  readonly #sources = new Set<string>()
  /** Changes are made one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(
    private readonly store: StreamStore,
    private readonly onFault: (error: unknown) => void,
  ) {}

  start(): void {
    const definitions = new Map<string, GroupDefinition>()
    for (const { kind, definition } of this.#history()) {
      if (kind === 'set') definitions.set(keyOf(definition), definition)
      else definitions.delete(keyOf(definition))
    }
    for (const definition of definitions.values()) this.#run(definition)
  }

  find(source: string, group: string): RunningGroup | undefined {
    return this.#groups.get(keyOf({ source, group }))
  }

  /** Undefined: no stream of this name has ever had one. */
  of(source: string): RunningGroup[] | undefined {
    if (!this.#sources.has(source)) return undefined
    return this.all().filter(({ definition }) => definition.source === source)
  }

  all(): RunningGroup[] {
    return [...this.#groups.values()]
  }

  create(definition: GroupDefinition): Promise<void> {
    return this.#inTurn(async () => {
      await this.#note({ kind: 'set', definition })
      this.#run(definition)
    })
  }

  /** Drops the consumers and loads the group anew. */
  update(definition: GroupDefinition): Promise<void> {
    return this.#inTurn(async () => {
      await this.#note({ kind: 'set', definition })
      await this.#groups.get(keyOf(definition))?.stop()
      this.#run(definition)
    })
  }

  delete({ definition }: RunningGroup): Promise<void> {
    return this.#inTurn(async () => {
      await this.#note({ kind: 'deleted', definition })
      const running = this.#groups.get(keyOf(definition))
      this.#groups.delete(keyOf(definition))
      await running?.stop()
      // Refused where there is none.
      await this.store.delete(checkpointStream(definition), 'any')
      await this.store.delete(parkedStream(definition), 'any')
    })
  }

  /** Loads all of them anew, as a restart of the server would. */
  restart(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stopAll()
      this.#sources.clear()
      this.start()
    })
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return this.#inTurn(() => this.#stopAll())
  }

  async #stopAll(): Promise<void> {
    await Promise.all(this.all().map((group) => group.stop()))
    this.#groups.clear()
  }

  #run(definition: GroupDefinition): void {
    if (this.#isStopped) return
    const group = new RunningGroup(this.store, definition, this.onFault)
    this.#groups.set(keyOf(definition), group)
    this.#sources.add(definition.source)
    group.start()
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const run = this.#last.then(work, work)
    this.#last = run.catch(() => {})
    return run
  }

  async #note(change: Change): Promise<void> {
    const event = {
      id: randomUUID(),
      type: change.kind === 'set' ? 'PersistentSubscriptionSet' : 'PersistentSubscriptionDeleted',
      isJson: true,
      data: Buffer.from(JSON.stringify(change)),
      metadata: new Uint8Array(0),
    }
    await this.store.append(groupsStream, 'any', [event])
  }

  *#history(): Generator<Change> {
    const { reader } = this.store
    const view = reader.view(groupsStream)
    let next = 0
    while (next <= view.current) {
      const events = reader.streamPage(view, 'forwards', next, pageEvents)
      for (const event of events) yield parseObject(event.data) as unknown as Change
      next = (events.at(-1)?.revision ?? view.current) + 1
    }
  }
}

function keyOf({ source, group }: Pick<GroupDefinition, 'source' | 'group'>): string {
  return JSON.stringify([source, group])
}
