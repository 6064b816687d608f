import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkLogFile } from '@transferd/event-log'
import {
  DirectoryTiles,
  type NoteVerifier,
  parseCheckpoint,
  parseNote,
  type TileStore,
} from '@transferd/transparency-log'
import { KeptCheckpoints, type RememberedCheckpoints } from '../../audit/integrity/kept-checkpoints.js'
import { type KeptCheckpoint, type Verification, verifySealedLog } from '../../audit/integrity/log-verification.js'
import type { CommandContext } from '../../commands/handle-command.js'
import { AuditTreeCommands } from '../../commands/integrity/audit-tree-commands.js'
import { IntegrityCommands } from '../../commands/integrity/integrity-commands.js'
import type { AuditTree } from '../../domain/audit-tree.js'
import { maxFindings } from '../../domain/integrity.js'
import type { EventStore } from '../../event-store/event-store.js'
import { type Clock, systemClock } from '../../kernel/time.js'
import { createSecretBox, type SecretBox } from '../../security/secret-box.js'
import type { Configuration } from '../configuration/configuration.js'
import { MasterKeyError, masterKeysOf, openKeyRing, requireEventKey } from '../keys/key-ring.js'
import { markedStore, openEventStore, openKeyStore, openLog, openReadModels, requireLog } from '../stores/stores.js'
import { auditKeyOf } from './audit-files.js'
import { checkpointStoresOf } from './checkpoint-stores.js'

interface VerifyLogOptions {
  /** A checkpoint of a tree that was verified before. Only later events are verified. */
  readonly from?: KeptCheckpoint
  /** Other checkpoints that were kept. */
  readonly older?: readonly KeptCheckpoint[]
  /** By default that of the data directory, which the master key decrypts. */
  readonly verifier?: NoteVerifier | undefined
  /** The tree; that of the configuration by default. */
  readonly tiles?: TileStore
  /** Whether to compare the log with the checkpoints in the other stores. False for a log in another place. */
  readonly withStores?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (verified: number, treeSize: number) => void
}

export type VerifiedLog = ReturnType<typeof shown>

class NoTreeError extends Error {
  override readonly name = 'NoTreeError'
}

/**
 * Verifies the log of a configuration without changing anything, also while a service runs. @throws NoLogError, CannotOpenLogError,
 * MasterKeyError, StoreUnavailableError, VerificationError if a key or an older checkpoint is invalid
 */
export async function verifyLog(configuration: Configuration, options: VerifyLogOptions = {}): Promise<VerifiedLog> {
  requireLog(configuration)
  const { audit, eventStore: location } = configuration
  const {
    from,
    older = [],
    verifier,
    tiles = new DirectoryTiles(audit.directory),
    withStores = false,
    signal,
    onProgress,
  } = options
  const { eventStore: store } = await openEventStore(location)
  try {
    const opening = openBox(configuration, store)
    const box = await (verifier ? opening.catch(withoutBox) : opening)
    const tree = await new AuditTreeCommands(box ? markedStore(store, box) : store, systemClock()).state()
    const recorded = box ? tree : undefined
    const remembered = withStores && tree ? await rememberedCheckpoints(configuration, tree, box) : nothing
    const key = verifier ?? (await logVerifier(configuration, store, box!))
    const verification = await verifySealedLog({
      recorded: recorded?.isSealed ? recorded : undefined,
      mayLag: options.tiles !== undefined || location.engine !== 'embedded',
      store: box ? markedStore(store, box) : store,
      tiles,
      verifier: key,
      from: from === undefined ? 0 : parseCheckpoint(parseNote(from.note).text).size,
      kept: [...(from === undefined ? [] : [from]), ...older, ...remembered.kept],
      ...(location.engine === 'embedded' && { checkFile: () => checkLogFile(location.directory, 'full') }),
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
    })
    return shown(verification, key, box !== undefined, remembered)
  } finally {
    await store.close()
  }
}

/** Opens the log as {@link reportFindings} does, so that what prevents a report is known before the verification. @throws its errors */
export async function requireReporting(configuration: Configuration): Promise<void> {
  const log = await openLog(configuration)
  await log.close()
}

/** Records the findings and returns the number of new ones. The first one stops payouts. @throws the errors of {@link openLog} */
export async function reportFindings(
  configuration: Configuration,
  { findings, treeSize }: Pick<VerifiedLog, 'findings' | 'treeSize'>,
  clock: Clock,
  context: CommandContext,
): Promise<number> {
  const log = await openLog(configuration)
  try {
    return await new IntegrityCommands(log.eventStore, clock).report(findings, treeSize, context)
  } finally {
    await log.close()
  }
}

const nothing: RememberedCheckpoints = { kept: [], findings: [], problems: [] }

/** Reads the checkpoints in the other stores. Without the master key, the sizes that they recorded of each other are ignored. */
async function rememberedCheckpoints(configuration: Configuration, tree: AuditTree, box: SecretBox | undefined) {
  const { readModels: location } = configuration
  const isMissing = location.engine === 'embedded' && !existsSync(join(location.directory, 'read-models.db'))
  const readModels = isMissing ? undefined : await openReadModels(location)
  const keys = openKeyStore(configuration)
  try {
    const stores = checkpointStoresOf(configuration, readModels, keys)
    return await new KeptCheckpoints(stores, (text) => box?.mac('audit tree', text) ?? '').read(tree)
  } finally {
    await readModels?.close()
    await keys.close()
  }
}

/**
 * `checkpoint` is the signed note, `keyId` identifies the key that verified it, and `lastEventAt` is the recording time of the last compared
 * leaf. `codesVerified` is false without the master key, which verifies the codes of events. `from` is the index of the first compared leaf,
 * `unsealed` events are in no checkpoint yet, `comparedWith` are the stores whose checkpoint the log was compared with, `unread` those that
 * could not be read, and `findings` are the first hundred problems.
 */
function shown(
  { checkpoint, from, to, count: inLog, findings: ofLog, unsealed, lastEventAt, isComplete }: Verification,
  { keyId }: NoteVerifier,
  codesVerified: boolean,
  { kept, findings: ofStores, problems: unread }: RememberedCheckpoints,
) {
  const findings = [...ofStores, ...ofLog].slice(0, maxFindings)
  const count = inLog + ofStores.length
  const comparedWith = kept.map(({ name }) => name)
  return {
    holds: count === 0,
    origin: checkpoint?.origin ?? null,
    treeSize: checkpoint?.size ?? 0,
    root: checkpoint?.root.toString('base64') ?? null,
    keyId,
    checkpoint: checkpoint?.note ?? null,
    lastEventAt,
    from,
    verified: to - from,
    unsealed,
    codesVerified,
    isComplete,
    comparedWith,
    unread,
    problems: count,
    findings,
  }
}

/** Returns the box of the log's master key. @throws MasterKeyError */
export async function openBox(configuration: Configuration, rawStore: EventStore): Promise<SecretBox> {
  const { keys } = await masterKeysOf(configuration)
  const keyRing = await openKeyRing(rawStore, keys)
  await requireEventKey(rawStore, keyRing)
  return createSecretBox(keyRing)
}

/** An auditor can verify the tree with its key only. */
function withoutBox(error: unknown): undefined {
  if (!(error instanceof MasterKeyError)) throw error
}

/** Returns the verifier of the log's checkpoints. @throws NoTreeError if no event starts a tree */
export async function logVerifier({ dataDirectory }: Configuration, rawStore: EventStore, box: SecretBox) {
  const key = await auditKeyOf(dataDirectory, rawStore, box)
  if (!key) throw new NoTreeError('no event starts the tree of this log (transferd audit restart-tree)')
  return key
}
