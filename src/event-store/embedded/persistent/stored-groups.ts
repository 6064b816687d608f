import { randomUUID } from 'node:crypto'
import {
  comparePositions,
  InvalidSettingsError,
  type JsonObject,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
  type PersistentSubscriptionSettings,
  type Position,
  parsePosition,
  StoreUnavailableError,
  WrongExpectedRevisionError,
} from '../../event-store.js'
import type { GroupLog } from './log.js'

/** One stream for all groups, as the recorded server has it: its last event lists them in order of creation. */
const configStream = '$persistentSubscriptionConfig'
/** How often a change is tried again when another process changes the list at the same moment. */
const maxConflicts = 50

export interface StoredGroup {
  readonly group: string
  /** Made anew with each creation: what was written for a deleted group of the same name means nothing to this one. */
  readonly generation: string
  /** Made anew with each update. */
  readonly version: string
  /** Where it begins without a checkpoint, `end` resolved when it was asked for; undefined: at the start of the log. */
  readonly startAfter: Position | undefined
  readonly settings: PersistentSubscriptionSettings
}

type Entries = readonly StoredGroup[]

/**
 * Groups and their settings, kept in the log. Every change is an append that names the revision it was made from, so
 * two processes that change the list at once cannot lose one of the changes.
 */
export class StoredGroups {
  #revision = -1
  #entries: Entries = []

  constructor(private readonly log: GroupLog) {}

  get(group: string): StoredGroup {
    this.#refresh()
    return find(this.#entries, group)
  }

  async create(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    await this.#change((entries) => {
      if (entries.some((e) => e.group === group)) throw new PersistentSubscriptionExistsError(`group ${group} exists`)
      this.#validate(settings)
      const startAfter = this.#resolve(settings.startFrom)
      return [...entries, { group, generation: randomUUID(), version: randomUUID(), startAfter, settings }]
    })
  }

  async update(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    await this.#change((entries) => {
      const old = find(entries, group)
      this.#validate(settings)
      // Where the start is not changed it must not move: `end` is the end of the day it was asked for.
      const unmoved = old.settings.startFrom === 'end' && settings.startFrom === 'end'
      const startAfter = unmoved ? old.startAfter : this.#resolve(settings.startFrom)
      const { streamPrefixes } = old.settings
      const changed = { ...old, version: randomUUID(), startAfter, settings: { ...settings, streamPrefixes } }
      return entries.map((e) => (e === old ? changed : e))
    })
  }

  async delete(group: string): Promise<void> {
    await this.#change((entries) => {
      const old = find(entries, group)
      return entries.filter((e) => e !== old)
    })
  }

  async #change(change: (entries: Entries) => Entries): Promise<void> {
    for (let i = 0; i < maxConflicts; i += 1) {
      this.#refresh()
      const expected = this.#revision
      const data = { version: 1, entries: change(this.#entries).map(encode) }
      try {
        const event = { id: randomUUID(), type: '$PersistentConfig', data, metadata: {} }
        await this.log.append(configStream, expected < 0 ? 'no_stream' : expected, [event])
        return
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError)) throw error
      }
    }
    throw new StoreUnavailableError('the list of groups is being changed by others all the time')
  }

  #refresh(): void {
    const last = this.log.readLast(configStream)
    if (!last || last.revision === this.#revision) return
    if (last.data.version !== 1) throw new Error(`${configStream} has a version unknown here: ${last.data.version}`)
    this.#entries = (last.data.entries as JsonObject[]).map(decode)
    this.#revision = last.revision
  }

  #validate(settings: PersistentSubscriptionSettings): void {
    const { readBatchSize, historyBufferSize, consumerStrategy, startFrom } = settings
    if (readBatchSize >= historyBufferSize) {
      throw new InvalidSettingsError(
        `readBatchSize (${readBatchSize}) must be smaller than historyBufferSize (${historyBufferSize})`,
      )
    }
    if (!['RoundRobin', 'DispatchToSingle', 'Pinned'].includes(consumerStrategy)) {
      throw new InvalidSettingsError(`unknown consumer strategy ${consumerStrategy}`)
    }
    if (typeof startFrom === 'string') return
    if (startFrom.prepare > startFrom.commit) throw new InvalidSettingsError('a position cannot be prepared after it')
    if (startFrom.commit === 0n) return
    const end = this.log.lastPosition()
    if (!end || comparePositions(startFrom, end) > 0) throw new InvalidSettingsError('startFrom is beyond the end')
  }

  #resolve(startFrom: PersistentSubscriptionSettings['startFrom']): Position | undefined {
    if (startFrom === 'start') return undefined
    if (startFrom === 'end') return this.log.lastPosition()
    // Inclusive, where reading is exclusive. Both halves of this engine's positions are the same whole number.
    return startFrom.commit === 0n ? undefined : { commit: startFrom.commit - 1n, prepare: startFrom.commit - 1n }
  }
}

function find(entries: Entries, group: string): StoredGroup {
  const entry = entries.find((e) => e.group === group)
  if (!entry) throw new PersistentSubscriptionMissingError(`there is no group ${group}`)
  return entry
}

export function encodePosition(position: Position): string {
  return `C:${position.commit}/P:${position.prepare}`
}

export function decodePosition(text: unknown): Position | undefined {
  const match = typeof text === 'string' ? /^C:(\d+)\/P:(\d+)$/.exec(text) : undefined
  return match ? parsePosition(`${match[1]}/${match[2]}`) : undefined
}

function encode({ group, generation, version, startAfter, settings }: StoredGroup): JsonObject {
  const { startFrom } = settings
  return {
    group,
    generation,
    version,
    ...(startAfter && { startAfter: encodePosition(startAfter) }),
    settings: { ...settings, startFrom: typeof startFrom === 'string' ? startFrom : encodePosition(startFrom) },
  }
}

function decode(entry: JsonObject): StoredGroup {
  const settings = entry.settings as PersistentSubscriptionSettings
  const startFrom = decodePosition(settings.startFrom) ?? (settings.startFrom === 'end' ? 'end' : 'start')
  return {
    group: entry.group as string,
    generation: entry.generation as string,
    version: entry.version as string,
    startAfter: decodePosition(entry.startAfter),
    settings: { ...settings, startFrom },
  }
}
