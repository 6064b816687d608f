import { randomUUID } from 'node:crypto'
import { PersistentSubscriptionExistsError, PersistentSubscriptionMissingError } from '../event-log-types.js'
import { damagedType, parseObject } from '../file/event-body.js'
import { followerView } from '../reader/log-reader.js'
import {
  checkSettings,
  type GroupDefinition,
  type GroupName,
  type GroupSettings,
  groupStream,
  keyOf,
  type StoredGroup,
  startPosition,
} from './group-definition.js'
import { type GroupLog, jsonEvent, rulesOf, untilNoConflict } from './group-rules.js'

/** The stream whose last event lists all groups in order of creation, as in EventStoreDB. */
export const configStream = '$persistentSubscriptionConfig'
const configVersion = 2
const maxDamaged = 10

/**
 * The groups and their settings, stored in the log. Every change is an append that requires the revision it is based on, so
 * simultaneous changes by several processes cannot be lost.
 */
export class StoredGroups {
  #revision = -1
  #entries: readonly StoredGroup[] = []
  #byName = new Map<string, StoredGroup>()

  constructor(private readonly log: GroupLog) {}

  all(): readonly StoredGroup[] {
    this.#refresh()
    return this.#entries
  }

  find(name: GroupName): StoredGroup | undefined {
    this.#refresh()
    return this.#byName.get(keyOf(name))
  }

  /** @throws PersistentSubscriptionMissingError */
  get(name: GroupName): StoredGroup {
    const entry = this.find(name)
    if (!entry) throw new PersistentSubscriptionMissingError(`group ${name.group} on ${name.source} not found`)
    return entry
  }

  async create(definition: GroupDefinition): Promise<void> {
    await this.#change(() => {
      const { source, group } = definition
      if (this.find(definition))
        throw new PersistentSubscriptionExistsError(`group ${group} already exists on ${source}`)
      const { reader } = this.log
      checkSettings(definition, reader)
      const created: StoredGroup = {
        ...definition,
        ...this.#startOf(definition),
        generation: randomUUID(),
        version: randomUUID(),
        since: {
          checkpoint: reader.lastRevision(groupStream(definition, 'checkpoint')) + 1,
          parked: reader.lastRevision(groupStream(definition, 'parked')) + 1,
        },
      }
      return [...this.#entries, created]
    })
  }

  async update(name: GroupName, changes: Partial<GroupSettings>): Promise<void> {
    await this.#change(() => {
      const old = this.get(name)
      const { startText, ...others } = old.settings
      // The text belongs to the start that it was received with.
      const keepsText = startText !== undefined && changes.startFrom === undefined
      const settings: GroupSettings = { ...others, ...(keepsText && { startText }), ...changes }
      const { startAfter: _, ...kept } = old
      const definition = { ...kept, settings }
      checkSettings(definition, this.log.reader)
      // An unchanged start must not move: `end` is the end of the log at the first request.
      const keepsEnd = old.startAfter !== undefined && old.settings.startFrom === 'end' && settings.startFrom === 'end'
      const start = keepsEnd ? { startAfter: old.startAfter } : this.#startOf(definition)
      const changed: StoredGroup = { ...definition, ...start, version: randomUUID() }
      return this.#entries.map((entry) => (entry === old ? changed : entry))
    })
  }

  async delete(name: GroupName): Promise<void> {
    await this.#change(() => {
      const old = this.get(name)
      return this.#entries.filter((entry) => entry !== old)
    })
  }

  #startOf(definition: GroupDefinition): { startAfter?: number } {
    if (!rulesOf(definition).storesStart(definition.settings)) return {}
    return { startAfter: startPosition(definition, this.log.reader) }
  }

  async #change(change: () => readonly StoredGroup[]): Promise<void> {
    await untilNoConflict(configStream, async () => {
      this.#refresh()
      const expected = this.#revision < 0 ? 'no_stream' : this.#revision
      const data = { version: configVersion, entries: change() }
      return this.log.append(configStream, expected, [jsonEvent('$PersistentConfig', data)])
    })
  }

  #refresh(): void {
    const { reader } = this.log
    const last = reader.lastRevision(configStream)
    if (last === this.#revision) return
    const events = reader.streamPage(followerView(reader.view(configStream)), 'backwards', last, maxDamaged)
    // A damaged list is ignored, so that the previous one applies.
    const intact = events.find(({ type }) => type !== damagedType)
    const data = intact && parseObject(intact.data)
    if (data && data.version !== configVersion) {
      throw new Error(`${configStream} has an unknown version: ${data.version}`)
    }
    this.#entries = (data?.entries ?? []) as StoredGroup[]
    this.#byName = new Map(this.#entries.map((entry) => [keyOf(entry), entry]))
    this.#revision = last
  }
}
