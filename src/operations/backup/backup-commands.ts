import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Backup, backUpLog, checkLogFile, readLogRows } from '@transferd/event-log'
import {
  type NoteVerifier,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  parseVerifier,
} from '@transferd/transparency-log'
import { isOfEarlierTree } from '../../audit/integrity/kept-checkpoints.js'
import { checkpointPath } from '../../audit/integrity/log-sealer.js'
import { AuditTreeCommands } from '../../commands/integrity/audit-tree-commands.js'
import { toJsonNumber } from '../../domain/money.js'
import { systemClock } from '../../kernel/time.js'
import { auditKeyPath } from '../audit/audit-files.js'
import { logVerifier, verifyLog } from '../audit/verify-log.js'
import { type Configuration, ConfigurationError } from '../configuration/configuration.js'
import { durationText } from '../doctor/machine.js'
import { recordBackup } from '../files/last-backup.js'
import { openEventStore, openLog, requireLog } from '../stores/stores.js'
import { bytesOf, type Manifest, manifestsIn, readManifest } from './backup-manifest.js'
import { type CreateBackupOptions, createBackup } from './create-backup.js'
import { payableWithdrawals } from './payable-withdrawals.js'
import { type RestoreOptions, restoreBackup } from './restore-backup.js'
import { BackupError } from './target-files.js'
import type { TreeSnapshot } from './tree-snapshot.js'
import { problemsOf, requireSigned, restoredIn } from './verify-restored.js'

export type BackUpReport = Awaited<ReturnType<typeof backUpService>>

/** @throws BackupError, NoLogError, MasterKeyError, ConfigurationError */
export async function backUpService(
  configuration: Configuration,
  target: string,
  { encryptTo, withReadModels }: Pick<CreateBackupOptions, 'encryptTo' | 'withReadModels'>,
) {
  requireLog(configuration)
  const { audit, dataDirectory } = configuration
  const directoryOf = (name: 'eventStore' | 'readModels' | 'receipts' | 'keyStore') => {
    const location = configuration[name]
    return location.engine === 'embedded' ? location.directory : undefined
  }
  const at = new Date().toISOString()
  const { backup, manifest, newBytes } = await createBackup({
    sources: {
      dataDirectory,
      auditDirectory: audit.directory,
      log: directoryOf('eventStore'),
      readModels: directoryOf('readModels'),
      receipts: directoryOf('receipts'),
      keys: directoryOf('keyStore'),
    },
    target: resolve(target),
    encryptTo,
    withReadModels,
    at,
    verify: (tree) => verifySource(configuration, tree, resolve(target)),
  })
  await recordBackup(dataDirectory, at, manifest.problems.length === 0 ? manifest.checkpoint : null)
  return {
    backup,
    createdAt: at,
    /** The size of the contents, uncompressed. */
    bytes: bytesOf(manifest),
    /** The bytes that the target has gained. */
    newBytes,
    encrypted: manifest.encryptedTo.length > 0,
    log: manifest.log,
    /** Why the log does not verify, in sentences. The backup has it nevertheless, because an older backup lacks the newer events. */
    problems: manifest.problems,
    /** The data to back up separately, in sentences. */
    notIncluded: notIncluded(configuration, withReadModels),
  }
}

/**
 * Verifies the log against the tree that is backed up, and returns the problems. Events that an earlier backup in the target has found
 * unchanged are not verified again.
 */
async function verifySource(
  configuration: Configuration,
  tree: TreeSnapshot | undefined,
  target: string,
): Promise<readonly string[]> {
  if (!tree) {
    const { eventStore } = configuration
    const damages = eventStore.engine === 'embedded' ? checkLogFile(eventStore.directory, 'full') : []
    return damages.length > 0 ? damages : missingTreeFiles(configuration)
  }
  const opened = await openLog(configuration)
  const [verifier, started] = await Promise.all([
    logVerifier(configuration, opened.rawEventStore, opened.box),
    new AuditTreeCommands(opened.eventStore, systemClock()).state(),
  ]).finally(() => opened.close())
  const earlier = manifestsIn(target).findLast((path) => {
    const { problems, checkpoint } = readManifest(path)
    return problems.length === 0 && !(started && checkpoint !== null && isOfEarlierTree(checkpoint, started))
  })
  const note = earlier === undefined ? null : readManifest(earlier).checkpoint
  const from = note === null ? {} : { from: { name: String(earlier), note } }
  const { findings } = await verifyLog(configuration, { verifier, tiles: tree, withStores: true, ...from })
  return [...findings.map(({ place, problem }) => `${place}: ${problem}`), ...(await missingTreeFiles(configuration))]
}

/** Returns the files of the tree that are missing although the log records a sealed tree, in sentences. A restore requires them. */
async function missingTreeFiles({ eventStore, dataDirectory, audit }: Configuration): Promise<string[]> {
  // A new node of a log on a server has no tree yet.
  if (eventStore.engine !== 'embedded') return []
  const { eventStore: store } = await openEventStore(eventStore, false)
  try {
    if (!(await new AuditTreeCommands(store, systemClock()).state())?.isSealed) return []
  } finally {
    await store.close()
  }
  // The service writes both before it records the first checkpoint.
  const files = { 'audit/checkpoint': join(audit.directory, checkpointPath), 'audit.key': auditKeyPath(dataDirectory) }
  return Object.entries(files).flatMap(([place, path]) =>
    existsSync(path) ? [] : [`${place}: The file is missing, but the log records a sealed tree.`],
  )
}

function notIncluded({ eventStore, readModels, keyStore }: Configuration, withReadModels: boolean): string[] {
  return [
    'The master key: keep it separately. Without it, this backup cannot be used.',
    eventStore.engine !== 'embedded' && 'The log: back up EventStoreDB with its own tools, after this.',
    keyStore.engine !== 'embedded' &&
      "Receipts and customers' keys: back up the MongoDB database with its own tools, after the log.",
    readModels.engine === 'embedded' &&
      !withReadModels &&
      'Lists and totals: the service rebuilds them from the log. To include them, add --with-read-models.',
  ].filter((part) => part !== false)
}

/** Copies the embedded log into one file. @throws BackupFailedError, NoLogError, and ConfigurationError if the log is on a server */
export async function backUpEvents(
  configuration: Configuration,
  file: string,
): Promise<Backup & { readonly file: string }> {
  const { eventStore, dataDirectory } = configuration
  const onServer = 'EVENT_STORE_URL names a server: back up the log with its own tools, or with events copy'
  if (eventStore.engine !== 'embedded') throw new ConfigurationError([onServer])
  requireLog(configuration)
  const path = resolve(file)
  const backup = backUpLog(eventStore.directory, path)
  await recordBackup(dataDirectory, new Date().toISOString(), null)
  return { file: path, ...backup }
}

export type RestoreReport = Awaited<ReturnType<typeof restoreService>>

interface RestoreServiceOptions extends Pick<RestoreOptions<never>, 'to' | 'openWith'> {
  /** A file with a checkpoint that was kept elsewhere. */
  readonly checkpoint: string | undefined
  /** The verifier key that the operator has kept. Only a log or tree with its signature is restored. */
  readonly key: string | undefined
  /** Whether to restore a backup that does not verify. */
  readonly unverified: boolean
}

/** @throws BackupError, and VerificationError if the key is invalid */
export async function restoreService(
  configuration: Configuration,
  backup: string,
  { to, openWith, checkpoint, key, unverified }: RestoreServiceOptions,
) {
  const verifier = key === undefined ? undefined : parseVerifier(key)
  const reached = checkpoint === undefined ? undefined : sizeOf(readFileSync(checkpoint, 'utf8'), checkpoint, verifier)
  const inspect = async (manifest: Manifest, draft: string) => {
    const restored = await restoredIn(draft, manifest, configuration)
    if (verifier) await requireSigned(restored, verifier)
    const problems = await problemsOf(restored, verifier !== undefined)
    if (problems.length > 0 && !unverified) throw unverifiedError(problems)
    const lostEvents = reached === undefined ? null : Math.max(0, reached - restoredLeaves(manifest, draft, verifier))
    return { lostEvents, problems, payable: manifest.log === null ? null : await payableIn(draft, configuration) }
  }
  const restoredAt = new Date().toISOString()
  const { manifest, inspected } = await restoreBackup({ backup, to, openWith, at: restoredAt, inspect })
  const { lostEvents, problems, payable } = inspected
  const { createdAt, log } = manifest
  return {
    directory: resolve(to),
    createdAt,
    restoredAt,
    log,
    /** The number of events that `checkpoint` covers and this backup does not contain, or null without a checkpoint. */
    lostEvents,
    /** The withdrawals that could be paid at the end of the backup, or null if the log is on a server. */
    payable,
    notes: notesOf(manifest, { lostEvents, restoredAt, found: problems, isSigned: key !== undefined }),
  }
}

const maxShown = 5

function unverifiedError(problems: readonly string[]): BackupError {
  const more = problems.length > maxShown ? `; and ${problems.length - maxShown} more` : ''
  return new BackupError(
    `the backup does not verify: ${problems.slice(0, maxShown).join('; ')}${more}. To restore it nevertheless, add --unverified`,
  )
}

/** Returns the number of restored events that a tree contains. Most logs go beyond the checkpoint in their backup. */
function restoredLeaves({ log, checkpoint }: Manifest, draft: string, verifier: NoteVerifier | undefined): number {
  if (log === null) return checkpoint === null ? 0 : sizeOf(checkpoint, 'audit/checkpoint', verifier)
  let leaves = 0
  for (const { name } of readLogRows(draft, log.events)) if (!name.startsWith('$')) leaves++
  return leaves
}

async function payableIn(directory: string, configuration: Configuration) {
  const { currency = configuration.currency.code, withdrawals, unreadable } = await payableWithdrawals(directory)
  const sumMinor = withdrawals.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
  return {
    count: withdrawals.length,
    sum: toJsonNumber(sumMinor),
    currency,
    withdrawals: withdrawals.map(({ trackingId, merchantId, referenceId, amountMinor, status, createdAt, payout }) => ({
      trackingId,
      merchantId,
      referenceId,
      amount: toJsonNumber(amountMinor),
      status,
      createdAt,
      /** The user of the last claim, which may have expired. */
      claimedBy: payout.claim?.by ?? null,
      /** The MsgId of the last bank file that contains the withdrawal. */
      bankFile: payout.files.at(-1)?.messageId ?? null,
    })),
    /** The streams of transfers that cannot be read, which may be payable withdrawals. */
    unreadable,
  }
}

interface RestoreResult {
  readonly lostEvents: number | null
  readonly restoredAt: string
  /** Why the backup does not verify. */
  readonly found: readonly string[]
  readonly isSigned: boolean
}

function notesOf(
  { log, createdAt, checkpoint, problems, parts }: Manifest,
  { lostEvents, restoredAt, found, isSigned }: RestoreResult,
) {
  const contains = (part: string) => parts.some(({ name, chunks }) => name === part && chunks.length > 0)
  const last = log?.lastEventAt && `The last event is at position ${log.position}, from ${log.lastEventAt}.`
  const unsigned =
    checkpoint === null
      ? `The backup has no tree of the log, so nothing shows whether ${log === null ? 'the log was changed' : 'events are missing at its end'}.`
      : found.length === 0 && `The ${log === null ? 'tree' : 'log'} is what the master key has signed.`
  return [
    log === null
      ? `Only files are restored, as of ${createdAt}: the log is on a server.`
      : `Everything after ${createdAt} is lost. ${last || 'The log is empty.'}`,
    `The backup was created ${durationText(Date.parse(restoredAt) - Date.parse(createdAt))} before this restore.`,
    lostEvents !== null && `The checkpoint covers ${lostEvents} events that this backup does not contain.`,
    problems.length > 0 &&
      `The log did not verify when it was backed up (${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}): ${problems[0]}`,
    isSigned ? `The ${log === null ? 'tree' : 'log'} is what --key has signed.` : unsigned,
    ...found.map((problem) => `Not verified: ${problem}.`),
    !contains('read-models') && 'The backup has no read models: the service rebuilds its lists when it starts.',
    !contains('customer-keys') &&
      "The backup has no customers' keys: if they are on MongoDB, restore that database too, or personal data cannot be read.",
    'Put the master key into the directory before the start: no backup contains it.',
    'Payouts are stopped from the start on: withdrawals that were paid after the backup are payable again. Compare them with the bank, then resume payouts (docs/operating/backup.md#compare-with-the-bank).',
  ].filter((note) => note !== false)
}

function sizeOf(note: string, name: string, verifier: NoteVerifier | undefined): number {
  try {
    return verifier ? openCheckpoint(note, verifier).size : parseCheckpoint(parseNote(note).text).size
  } catch (error) {
    throw new BackupError(`${name} is not a checkpoint: ${(error as Error).message}`)
  }
}
