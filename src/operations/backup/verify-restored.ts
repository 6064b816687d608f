import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DirectoryTiles, type NoteVerifier, TreeReader, VerificationError } from '@transferd/transparency-log'
import { isForged } from '../../audit/integrity/log-comparison.js'
import { checkpointPath, signedCheckpoint } from '../../audit/integrity/log-sealer.js'
import { AuditTreeCommands } from '../../commands/integrity/audit-tree-commands.js'
import { giveUpPosition } from '../../event-store/event-codes.js'
import { type EventStore, unparsedPages } from '../../event-store/event-store.js'
import { systemClock } from '../../kernel/time.js'
import { keyFileIn } from '../../privacy/embedded/embedded-key-store.js'
import { lostKeys } from '../../privacy/lost-keys.js'
import { createSecretBox, type SecretBox, SecretBoxError } from '../../security/secret-box.js'
import { readAuditKey } from '../audit/audit-files.js'
import { openBox, verifyLog } from '../audit/verify-log.js'
import type { Configuration } from '../configuration/configuration.js'
import { eventKeyIn, givenMasterKeys, MasterKeyError, type MasterKeys, ringOf } from '../keys/key-ring.js'
import { markedStore, openCustomerKeys, openEventStore } from '../stores/stores.js'
import type { Manifest } from './backup-manifest.js'
import { BackupError } from './target-files.js'

/** The files of a restore, before their directory gets its name. */
interface Restored {
  readonly manifest: Manifest
  /** The configuration of a service with these files. Only stores on servers are those of the given configuration. */
  readonly configuration: Configuration
  /** The master keys, or `undefined` if none is configured. */
  readonly keys: MasterKeys['keys'] | undefined
}

/** @throws MasterKeyError if a configured key is invalid */
export async function restoredIn(directory: string, manifest: Manifest, given: Configuration): Promise<Restored> {
  const keys = await givenMasterKeys(given)
  const here = { engine: 'embedded', directory } as const
  const configuration: Configuration = {
    ...given,
    dataDirectory: directory,
    eventStore: manifest.log === null ? given.eventStore : here,
    keyStore: given.keyStore.engine === 'embedded' || existsSync(keyFileIn(directory)) ? here : given.keyStore,
    audit: { ...given.audit, directory: join(directory, 'audit') },
    masterKey: keys ? { from: 'environment', keys: keys.map(({ key }) => key) } : { from: 'data directory' },
  }
  return { manifest, configuration, keys }
}

/** Verifies the log and its tree, or only the tree if the log is on a server. @throws BackupError unless the key has signed them */
export async function requireSigned(restored: Restored, verifier: NoteVerifier): Promise<void> {
  try {
    const [problem] = await treeProblems(restored, verifier)
    if (problem !== undefined) throw new VerificationError(problem)
  } catch (error) {
    if (error instanceof VerificationError)
      throw new BackupError(`the backup is not what --key has signed: ${error.message}`)
    throw error
  }
}

/** Compares the log with the tree of the verifier, which is the tree of the master key by default. @throws VerificationError */
async function treeProblems({ manifest, configuration }: Restored, verifier?: NoteVerifier): Promise<string[]> {
  if (manifest.log !== null || !verifier) {
    const { findings } = await verifyLog(configuration, { verifier })
    return findings.map(({ place, problem }) => `${place}: ${problem.replace(/\.$/, '')}`)
  }
  const tiles = new DirectoryTiles(configuration.audit.directory)
  const checkpoint = await signedCheckpoint(tiles, verifier)
  if (!checkpoint) return ['it has no checkpoint']
  const root = await new TreeReader(tiles, checkpoint.size).root()
  return root.equals(checkpoint.root) ? [] : ['the files of the tree do not match its checkpoint']
}

/**
 * Returns, in sentences, why the files are not those that the service with this master key has written. An attacker who can write to the
 * target of an unencrypted backup can change each part together with the manifest, but has no master key.
 * @param isSigned whether {@link requireSigned} has verified the tree
 */
export async function problemsOf(restored: Restored, isSigned: boolean): Promise<string[]> {
  const { manifest, keys, configuration } = restored
  const hasSecrets = manifest.parts.some(({ name, chunks }) => chunks.length > 0 && protectedParts.has(name))
  if (!hasSecrets) return []
  try {
    const tiles = new DirectoryTiles(configuration.audit.directory)
    const stored = await tiles.read(checkpointPath)
    const checkpoint = stored ? Buffer.from(stored).toString('utf8') : null
    if (checkpoint !== manifest.checkpoint)
      return ['audit/checkpoint is missing, or it is not the checkpoint that the manifest states']
    if (!keys) {
      const unverified = isSigned ? "the customers' keys" : "the log, its tree and the customers' keys"
      return [`the master key is not configured, so ${unverified} cannot be verified: set TRANSFERD_MASTER_KEY_FILE`]
    }
    return await (manifest.log === null ? problemsOfFiles(restored, keys, isSigned) : problemsOfLog(restored, isSigned))
  } catch (error) {
    if (isFinding(error)) return [error.message]
    throw error
  }
}

const protectedParts: ReadonlySet<string> = new Set(['events', 'files', 'customer-keys'])

function isFinding(error: unknown): error is Error {
  return error instanceof VerificationError || error instanceof SecretBoxError || error instanceof MasterKeyError
}

async function problemsOfLog(restored: Restored, isSigned: boolean): Promise<string[]> {
  const { manifest, configuration } = restored
  const { eventStore: raw } = await openEventStore(configuration.eventStore, false)
  try {
    const box = await openBox(configuration, raw)
    const store = markedStore(raw, box)
    const problems = await keyProblems(configuration, box, store)
    const kept = readAuditKey(configuration.dataDirectory, box)
    const tree = await new AuditTreeCommands(store, systemClock()).state()
    if (!tree && manifest.log?.events !== 0) problems.push('no event starts the tree of this log')
    if (tree?.isSealed && kept?.keyId !== tree.keyId)
      problems.push('audit.key is missing, or it is not the key of the tree that the log records')
    // A new log has no tree yet.
    const hasTree = tree && (tree.isSealed || manifest.checkpoint !== null)
    if (hasTree) return isSigned ? problems : [...problems, ...(await treeProblems(restored))]
    const forged = await listed(forgedEvents(store))
    return forged === undefined ? problems : [...problems, `events have no valid authentication code: ${forged}`]
  } finally {
    await raw.close()
  }
}

/** Yields the places of the events that the service did not write. Without a sealed tree, only their codes show it. */
async function* forgedEvents(store: EventStore): AsyncGenerator<string> {
  for await (const { events } of unparsedPages(store, undefined))
    for (const event of events) if (isForged(event)) yield `${event.stream}@${event.revision}`
}

async function problemsOfFiles(restored: Restored, keys: MasterKeys['keys'], isSigned: boolean): Promise<string[]> {
  const { manifest, configuration } = restored
  const box = createSecretBox(ringOf(keys))
  const problems = await keyProblems(configuration, box, undefined)
  const verifier = readAuditKey(configuration.dataDirectory, box)
  if (manifest.checkpoint === null || isSigned) return problems
  if (!verifier) return [...problems, 'audit.key is missing, so the tree cannot be verified']
  return [...problems, ...(await treeProblems(restored, verifier))]
}

/** Without the log, the keys that it names are unknown, and so can be the digest key, which the owners depend on. */
async function keyProblems(configuration: Configuration, box: SecretBox, store: EventStore | undefined) {
  if (configuration.keyStore.engine !== 'embedded') return []
  // A decision to give a master key up changes the digest key, but not the owners of existing keys.
  const withOwners = store !== undefined && !(await giveUpPosition(store, eventKeyIn(box)))
  const customerKeys = openCustomerKeys(configuration, box)
  try {
    const invalid = await listed(customerKeys.invalid(withOwners))
    const lost = store ? await listed(lostKeys(store, customerKeys.store)) : undefined
    return [
      invalid && `customers' keys are forged or damaged, or need a different master key: ${invalid}`,
      lost && `the log names customers' keys that are missing: ${lost}. If they are on MongoDB, set KEY_STORE_URL`,
    ].filter((problem) => problem !== undefined)
  } finally {
    await customerKeys.close()
  }
}

const maxListed = 5

/** Returns the number of ids and the first of them, or `undefined` without any. */
async function listed(ids: AsyncIterable<string>): Promise<string | undefined> {
  const first: string[] = []
  let count = 0
  for await (const id of ids) if (++count <= maxListed) first.push(id)
  return count === 0 ? undefined : `${count} (${first.join(', ')}${count > maxListed ? ', …' : ''})`
}
