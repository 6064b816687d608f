import { existsSync, readFileSync } from 'node:fs'
import type { CommandContext } from '../../commands/handle-command.js'
import type { EventStore } from '../../event-store/event-store.js'
import { skipEvents } from '../../event-store/skipped-events.js'
import { giveUpLostKeys } from '../../privacy/lost-customer-keys.js'
import {
  createSecretBox,
  digestKeyOf,
  idOfMasterKey,
  keyIdOf,
  type SecretBox,
  SecretBoxError,
} from '../../security/secret-box.js'
import { auditKeyOwner, auditKeyPath } from '../audit/audit-key.js'
import type { Configuration } from '../configuration/configuration.js'
import { writeFileDurably } from '../files/durable-file.js'
import { openCustomerKeys, openEventStore, openLog, requireLog } from '../stores/stores.js'
import { firstKeyId, readDigestKey, ringOf, sealDigestKey } from './key-ring.js'
import { type MasterKeys, masterKeysOf } from './master-key.js'
import { sealedStreams } from './reseal-secrets.js'

export interface KeyListed {
  readonly keyId: string
  /** Where it was given; null for one that something is sealed with and that was not given. */
  readonly from: string | null
  readonly seals: boolean
  /** How many secrets are sealed with it, by what they are of; what has none is left out. */
  readonly sealed: { readonly [of: string]: number }
}

export interface KeyList {
  /** Those that were given, the one that seals last; then those that were not. */
  readonly keys: readonly KeyListed[]
  /** Streams of which it is not known what is sealed in them, as an event of theirs cannot be read: `stream@revision`. */
  readonly unreadable: readonly string[]
}

/** A key cannot be given up, or not everything could be sealed anew; the message says what is in the way. */
export class KeyRefusedError extends Error {
  override readonly name = 'KeyRefusedError'
}

/** Also where no key opens the log. @throws MasterKeyError, NoLogError, CannotOpenLogError, StoreUnavailableError */
export async function listKeys(configuration: Configuration): Promise<KeyList> {
  return withRawLog(configuration, async (log, keys) => listed(configuration, log, keys))
}

export interface Rotation {
  /** The key that seals. */
  readonly keyId: string
  /** How many secrets were sealed anew. */
  readonly resealed: { readonly [of: string]: number }
  /** Nothing is sealed with these any more. */
  readonly unused: readonly string[]
}

/**
 * Seals everything with the key that seals now. What is done is done: after a kill the next call goes on with the rest.
 * @throws KeyRefusedError when something is left under another key; else as {@link openLog}
 */
export async function rotateKeys(configuration: Configuration, context: CommandContext): Promise<Rotation> {
  requireLog(configuration)
  const resealed = new Map<string, number>()
  const count = (of: string, n: number) => n > 0 && resealed.set(of, (resealed.get(of) ?? 0) + n)
  const log = await openLog(configuration)
  try {
    const { eventStore: store, box } = log
    const { sealed, revision } = await readDigestKey(log.rawEventStore)
    if (sealed !== undefined && keyIdOf(sealed) !== box.keyId) {
      await sealDigestKey(log.rawEventStore, log.keyRing, revision, { by: context })
      count('digests', 1)
    }
    const clock = () => new Date().toISOString()
    for await (const stream of sealedStreams(store))
      count(stream.kind, (await stream.reseal({ store, box, clock, context })).resealed)
    count('customers', await log.customerKeys.reseal())
    count('audit', resealAuditKey(configuration, box))
  } finally {
    await log.close()
  }
  const { keys, unreadable } = await listKeys(configuration)
  const current = keys.find(({ seals }) => seals)!
  const left = keys.filter((key) => key !== current && Object.keys(key.sealed).length > 0)
  const problems = [
    ...left.map(
      (key) =>
        `${sentence(key.sealed)} still sealed with ${key.keyId}${key.from === null ? ', which is not given' : ''}`,
    ),
    ...unreadable.map((place) => `${place} cannot be read`),
  ]
  if (problems.length > 0) throw new KeyRefusedError(`not everything could be sealed anew: ${problems.join('; ')}`)
  const unused = keys.filter((key) => key !== current).map(({ keyId }) => keyId)
  return { keyId: current.keyId, resealed: Object.fromEntries(resealed), unused }
}

/**
 * Begins digests anew with the key that seals now, because the key that opens the old ones is lost: who had a password has none any more, and
 * personal data is read as erased.
 * @throws KeyRefusedError unless it is this key that the log cannot be opened without
 */
export async function giveUpKey(
  configuration: Configuration,
  keyId: string,
  reason: string,
  by: CommandContext,
): Promise<KeyList> {
  return withRawLog(configuration, async (log, keys) => {
    const { sealed, revision } = await readDigestKey(log)
    const needed = sealed === undefined ? await firstKeyId(log) : keyIdOf(sealed)
    if (needed !== keyId)
      throw new KeyRefusedError(`the log's digests are not sealed with ${keyId}, but with ${needed ?? 'none'}`)
    if (keys.some(({ key }) => idOfMasterKey(key) === keyId))
      throw new KeyRefusedError(`${keyId} is given: it is not lost`)
    const ring = ringOf(keys)
    const customerKeys = openCustomerKeys(configuration, createSecretBox(ring))
    try {
      // Before the digests: what is left undone is then done by a repeat.
      await giveUpLostKeys({ raw: log, keys: customerKeys, clock: () => new Date().toISOString() }, reason, by)
    } finally {
      await customerKeys.close()
    }
    await sealDigestKey(log, { ...ring, digestKey: digestKeyOf(ring.current) }, revision, { reason, by })
    return listed(configuration, log, keys)
  })
}

async function withRawLog<Result>(
  configuration: Configuration,
  work: (log: EventStore, keys: MasterKeys['keys']) => Promise<Result>,
): Promise<Result> {
  requireLog(configuration)
  const { keys } = await masterKeysOf(configuration)
  const { eventStore } = await openEventStore(configuration.eventStore)
  try {
    return await work(skipEvents(eventStore), keys)
  } finally {
    await eventStore.close()
  }
}

async function listed(configuration: Configuration, log: EventStore, given: MasterKeys['keys']): Promise<KeyList> {
  const tally = new Map<string, Map<string, number>>(given.map(({ key }) => [idOfMasterKey(key), new Map()]))
  const count = (text: string, of: string) => {
    const keyId = keyIdOf(text) ?? 'unknown'
    const sealed = tally.get(keyId) ?? new Map<string, number>()
    tally.set(keyId, sealed.set(of, (sealed.get(of) ?? 0) + 1))
  }
  const { sealed: digestKey } = await readDigestKey(log)
  if (digestKey !== undefined) count(digestKey, 'digests')
  const unreadable: string[] = []
  for await (const { kind, sealed, problem } of sealedStreams(log)) {
    for (const { text } of sealed) count(text, kind)
    if (problem) unreadable.push(`${problem.stream}@${problem.revision}`)
  }
  const customerKeys = openCustomerKeys(configuration, createSecretBox(ringOf(given)))
  try {
    for await (const text of customerKeys.sealedTexts()) count(text, 'customers')
  } finally {
    await customerKeys.close()
  }
  const auditKey = readAuditKey(configuration)
  if (auditKey !== undefined) count(auditKey, 'audit')
  const fromOf = new Map(given.map(({ key, from }) => [idOfMasterKey(key), from]))
  const current = idOfMasterKey(given.at(-1)!.key)
  const keys = [...tally].map(([keyId, sealed]) => {
    return { keyId, from: fromOf.get(keyId) ?? null, seals: keyId === current, sealed: Object.fromEntries(sealed) }
  })
  return { keys, unreadable }
}

/** What signs the tree's checkpoints, as its file has it; undefined where there is none. */
function readAuditKey({ dataDirectory }: Configuration): string | undefined {
  const path = auditKeyPath(dataDirectory)
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
}

function resealAuditKey(configuration: Configuration, box: SecretBox): number {
  const sealed = readAuditKey(configuration)
  if (sealed === undefined || keyIdOf(sealed) === box.keyId) return 0
  try {
    writeFileDurably(auditKeyPath(configuration.dataDirectory), `${box.reseal(sealed, auditKeyOwner)}\n`)
    return 1
  } catch (error) {
    // It is counted as what is left.
    if (error instanceof SecretBoxError) return 0
    throw error
  }
}

function sentence(sealed: KeyListed['sealed']): string {
  const parts = Object.entries(sealed).map(([of, n]) => `${n} of ${of}`)
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}
