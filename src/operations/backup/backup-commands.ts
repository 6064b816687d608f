import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  DirectoryTiles,
  formatVerifier,
  type NoteVerifier,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  parseVerifier,
  TreeReader,
  VerificationError,
} from '@transferd/transparency-log'
import { signedCheckpoint } from '../../audit/integrity/sealer.js'
import { verifierKeyOf, verifyLog } from '../audit/verify-log.js'
import type { Configuration } from '../configuration/configuration.js'
import { openLog, openReadModels, requireLog } from '../stores/stores.js'
import { backUp } from './back-up.js'
import type { EncryptTo, OpenWith } from './encryption.js'
import { noteBackup } from './last-backup.js'
import { BackupError, type Manifest, manifestsIn, readManifest } from './manifest.js'
import { restore } from './restore.js'
import { customerKeysFile, type Staged } from './stage.js'

export interface BackUpReport {
  readonly backup: string
  readonly createdAt: string
  readonly files: number
  readonly bytes: number
  /** What it has added to the target. */
  readonly newBytes: number
  readonly encrypted: boolean
  readonly log: Manifest['log']
  /** What is not in it, in sentences. */
  readonly notIncluded: readonly string[]
}

/** @throws BackupError, NoLogError, MasterKeyError, ConfigurationError */
export async function backUpService(
  configuration: Configuration,
  target: string,
  encryptTo: EncryptTo,
): Promise<BackUpReport> {
  requireLog(configuration)
  const { audit, dataDirectory, eventStore, readModels } = configuration
  const sources = {
    dataDirectory,
    auditDirectory: audit.directory,
    log: eventStore.engine === 'embedded' ? eventStore.directory : undefined,
    readModels: readModels.engine === 'embedded' ? readModels.directory : undefined,
    openReadModels: (directory: string) => openReadModels({ engine: 'embedded', directory }),
  }
  const at = new Date().toISOString()
  const { backup, manifest, newBytes } = await backUp({
    sources,
    target: resolve(target),
    encryptTo,
    at,
    verify: (staged, directory) => verifyCopies(configuration, staged, directory, resolve(target)),
  })
  noteBackup(dataDirectory, at)
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  const counts = { files: manifest.files.length, bytes, newBytes, encrypted: manifest.encryptedTo.length > 0 }
  return { backup, createdAt: at, ...counts, log: manifest.log, notIncluded: notIncluded(configuration) }
}

/**
 * The copy of the log, or the log on its server, with the copy of its tree: what a backup that was verified has, is not looked at again.
 */
async function verifyCopies(
  configuration: Configuration,
  { log, checkpoint }: Staged,
  directory: string,
  target: string,
): Promise<void> {
  if (checkpoint === null) return
  const opened = await openLog(configuration)
  const key = await verifierKeyOf(configuration, opened.rawEventStore, opened.box).finally(() => opened.close())
  const copies: Configuration = {
    ...configuration,
    ...(log !== null && { eventStore: { engine: 'embedded', directory } }),
    audit: { ...configuration.audit, directory: join(directory, 'audit') },
  }
  const earlier = manifestsIn(target).at(-1)
  const note = earlier === undefined ? null : readManifest(earlier).checkpoint
  const from = note === null ? {} : { from: { name: String(earlier), note } }
  const { holds, findings } = await verifyLog(copies, { key, ...from })
  const [first] = findings
  if (!holds)
    throw new BackupError(
      `the log does not verify, and no backup was made: ${first?.place}: ${first?.problem} (transferd audit verify)`,
    )
}

function notIncluded({ eventStore, readModels }: Configuration): string[] {
  return [
    'The master key: keep it apart from this backup, which is of no use without it.',
    ...(eventStore.engine === 'embedded' ? [] : ['The log: back up EventStoreDB by its own means, after this.']),
    ...(readModels.engine === 'embedded'
      ? []
      : ["Receipts and customers' keys: back up the MongoDB database by its own means, after the log."]),
  ]
}

export interface RestoreReport {
  readonly directory: string
  readonly createdAt: string
  readonly log: Manifest['log']
  /** How many events of the tree an outside checkpoint shows to be lost; null without one. */
  readonly lostEvents: number | null
  readonly notes: readonly string[]
}

export interface RestoreOptions {
  readonly to: string
  readonly openWith: OpenWith
  /** A file with a checkpoint from outside, which the log had reached. */
  readonly checkpoint: string | undefined
  /** The verifier key that the operator has kept: nothing is restored that it has not signed. */
  readonly key: string | undefined
}

/** @throws BackupError, VerificationError for a key that is none */
export async function restoreService(
  configuration: Configuration,
  backup: string,
  { to, openWith, checkpoint, key }: RestoreOptions,
): Promise<RestoreReport> {
  const verifier = key === undefined ? undefined : parseVerifier(key)
  const outside = checkpoint === undefined ? undefined : sizeOf(readFileSync(checkpoint, 'utf8'), checkpoint, verifier)
  const verify = async (manifest: Manifest, directory: string) => {
    if (verifier) await requireSigned(configuration, manifest, directory, verifier)
  }
  const manifest = await restore({ backup, to, openWith, verify })
  const { createdAt, log } = manifest
  const inside = manifest.checkpoint === null ? 0 : sizeOf(manifest.checkpoint, 'audit/checkpoint', verifier)
  const lostEvents = outside === undefined ? null : Math.max(0, outside - inside)
  const notes = notesOf(manifest, lostEvents, key !== undefined)
  return { directory: resolve(to), createdAt, log, lostEvents, notes }
}

/** The log and its tree are what this key has signed; where the log is on a server, the tree is. @throws BackupError */
async function requireSigned(
  configuration: Configuration,
  { log }: Manifest,
  directory: string,
  verifier: NoteVerifier,
): Promise<void> {
  const audit = { ...configuration.audit, directory: join(directory, 'audit') }
  try {
    if (log !== null) {
      const copies: Configuration = { ...configuration, eventStore: { engine: 'embedded', directory }, audit }
      const { holds, findings } = await verifyLog(copies, { key: formatVerifier(verifier) })
      if (!holds) throw new VerificationError(`${findings[0]?.place}: ${findings[0]?.problem}`)
      return
    }
    const tiles = new DirectoryTiles(audit.directory)
    const checkpoint = await signedCheckpoint(tiles, verifier)
    if (!checkpoint) throw new VerificationError('it has no checkpoint')
    const root = await new TreeReader(tiles, checkpoint.size).root()
    if (!root.equals(checkpoint.root))
      throw new VerificationError('the checkpoint is of another tree than its files make')
  } catch (error) {
    if (error instanceof VerificationError)
      throw new BackupError(`the backup is not what --key has signed: ${error.message}`)
    throw error
  }
}

function notesOf(
  { log, createdAt, checkpoint, files }: Manifest,
  lostEvents: number | null,
  isVerified: boolean,
): string[] {
  const end = log?.lastEventAt
    ? `the event at ${log.position}, of ${log.lastEventAt}, is the last one`
    : 'no event is in it'
  return [
    log === null
      ? `Only files are restored, as they were at ${createdAt}: the log is on a server.`
      : `What came after ${createdAt} is lost: ${end}.`,
    ...(lostEvents === null ? [] : [`The checkpoint shows ${lostEvents} more events than the tree in this backup.`]),
    isVerified
      ? `The ${log === null ? 'tree' : 'log'} is what --key has signed.`
      : checkpoint === null
        ? 'No tree of the log is in it: nothing shows whether the log was changed.'
        : 'Who signed its tree was not looked at: give --key, as `audit key` printed it, or run `audit verify --key` before the start.',
    ...(files.some(({ path }) => path === customerKeysFile)
      ? []
      : [
          "No customers' keys are in it: where they are on MongoDB, restore that too, or no personal data can be read.",
        ]),
    'Put the master key beside it before the start: it is in no backup.',
  ]
}

function sizeOf(note: string, name: string, verifier: NoteVerifier | undefined): number {
  try {
    return verifier ? openCheckpoint(note, verifier).size : parseCheckpoint(parseNote(note).text).size
  } catch (error) {
    throw new BackupError(`${name} is no checkpoint: ${(error as Error).message}`)
  }
}
