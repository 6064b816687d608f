import { existsSync, readFileSync } from 'node:fs'
import type { CommandContext } from '../../commands/handle-command.js'
import type { EventStore } from '../../event-store/event-store.js'
import { skipEvents } from '../../event-store/read-event.js'
import { giveUpLostKeys } from '../../privacy/customer-erasure.js'
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
  /** The source of the key; null for a key that is in use but was not given. */
  readonly from: string | null
  readonly seals: boolean
  /** The number of values that it encrypts, by their kind; kinds without any are omitted. */
  readonly sealed: { readonly [of: string]: number }
}

export interface KeyList {
  /** The given keys, of which the last one encrypts, followed by other keys in use. */
  readonly keys: readonly KeyListed[]
  /** The unreadable events, as `stream@revision`. The encrypted values in their streams are unknown. */
  readonly unreadable: readonly string[]
}

/** A key cannot be given up, or some values could not be encrypted again. The message states the obstacle. */
export class KeyRefusedError extends Error {
  override readonly name = 'KeyRefusedError'
}

/** Lists the keys, even if none of them opens the log. @throws MasterKeyError, NoLogError, CannotOpenLogError, StoreUnavailableError */
export async function listKeys(configuration: Configuration): Promise<KeyList> {
  return withRawLog(configuration, async (log, keys) => listed(configuration, log, keys))
}

export interface Rotation {
  /** The key that encrypts. */
  readonly keyId: string
  /** The number of values that were encrypted again, by their kind. */
  readonly resealed: { readonly [of: string]: number }
  /** The keys that are no longer in use. */
  readonly unused: readonly string[]
}

/**
 * Encrypts every value again with the current key. An interrupted run is continued by the next one.
 * @throws KeyRefusedError if values remain under a different key, and the errors of {@link openLog}
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
      count(stream.kind, await stream.reseal({ store, box, clock, context }))
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
        `${sentence(key.sealed)} still encrypted with ${key.keyId}${key.from === null ? ', which is not given' : ''}`,
    ),
    ...unreadable.map((place) => `${place} cannot be read`),
  ]
  if (problems.length > 0) throw new KeyRefusedError(`some values could not be encrypted again: ${problems.join('; ')}`)
  const unused = keys.filter((key) => key !== current).map(({ keyId }) => keyId)
  return { keyId: current.keyId, resealed: Object.fromEntries(resealed), unused }
}

/**
 * Starts a new digest key, because the master key that decrypts the existing one is lost: all passwords become invalid, and personal data
 * reads as erased. @throws KeyRefusedError unless the log cannot be opened without exactly this key
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
      throw new KeyRefusedError(`the log's digest key is not encrypted with ${keyId}, but with ${needed ?? 'no key'}`)
    if (keys.some(({ key }) => idOfMasterKey(key) === keyId))
      throw new KeyRefusedError(`${keyId} is given, so it is not lost`)
    const ring = ringOf(keys)
    const customerKeys = openCustomerKeys(configuration, createSecretBox(ring))
    try {
      // Before the digests, so that a repeat completes an interrupted run.
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

/** Returns the encrypted key that signs the tree's checkpoints, or `undefined` without one. */
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
    // The list of keys then shows it as not encrypted again.
    if (error instanceof SecretBoxError) return 0
    throw error
  }
}

function sentence(sealed: KeyListed['sealed']): string {
  const parts = Object.entries(sealed).map(([of, n]) => `${n} of ${of}`)
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}
