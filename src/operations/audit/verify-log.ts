import {
  DirectoryTiles,
  formatVerifier,
  type NoteVerifier,
  parseCheckpoint,
  parseNote,
  parseVerifier,
  type TileStore,
} from '@transferd/transparency-log'
import { type KeptCheckpoint, type Verification, verifySealedLog } from '../../audit/integrity/log-verification.js'
import type { Finding } from '../../domain/integrity.js'
import { checkLogFile } from '../../event-store/embedded.js'
import type { EventStore } from '../../event-store/event-store.js'
import { createSecretBox, type SecretBox } from '../../security/secret-box.js'
import type { Configuration } from '../configuration/configuration.js'
import { masterKeysOf, openKeyRing } from '../keys/key-ring.js'
import { openEventStore, requireLog } from '../stores/stores.js'
import { firstAuditKey, readAuditKey } from './audit-files.js'

export interface VerifyLogOptions {
  /** A checkpoint of a tree that was verified before. Only later events are verified. */
  readonly from?: KeptCheckpoint
  /** Other checkpoints that were kept. */
  readonly older?: readonly KeptCheckpoint[]
  /** A verifier key; by default that of the data directory, which the master key decrypts. */
  readonly key?: string | undefined
  /** The tree; that of the configuration by default. */
  readonly tiles?: TileStore
  readonly signal?: AbortSignal
  readonly onProgress?: (verified: number, treeSize: number) => void
}

export interface VerifiedLog {
  readonly holds: boolean
  readonly origin: string | null
  readonly treeSize: number
  /** Base64. */
  readonly root: string | null
  /** The index of the first compared leaf. */
  readonly from: number
  readonly verified: number
  /** The number of events that no checkpoint covers yet. */
  readonly unsealed: number
  readonly isComplete: boolean
  readonly problems: number
  /** The first hundred problems. */
  readonly findings: readonly Finding[]
}

/** There is nothing to verify. */
export class NoTreeError extends Error {
  override readonly name = 'NoTreeError'
}

/**
 * Verifies the log of a configuration without changing anything, also while a service runs. @throws NoLogError, CannotOpenLogError,
 * MasterKeyError, StoreUnavailableError, VerificationError if a key or an older checkpoint is invalid
 */
export async function verifyLog(configuration: Configuration, options: VerifyLogOptions = {}): Promise<VerifiedLog> {
  requireLog(configuration)
  const { audit, eventStore: location } = configuration
  const { from, older = [], key, tiles = new DirectoryTiles(audit.directory), signal, onProgress } = options
  const { eventStore: store } = await openEventStore(location)
  try {
    const verification = await verifySealedLog({
      ...{ store, tiles },
      verifier: key === undefined ? await ownKey(configuration, store) : parseVerifier(key),
      from: from === undefined ? 0 : parseCheckpoint(parseNote(from.note).text).size,
      kept: from === undefined ? older : [from, ...older],
      ...(location.engine === 'embedded' && { checkFile: () => checkLogFile(location.directory, 'full') }),
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
    })
    return shown(verification)
  } finally {
    await store.close()
  }
}

function shown({ checkpoint, from, to, count, findings, unsealed, isComplete }: Verification): VerifiedLog {
  return {
    holds: count === 0,
    origin: checkpoint?.origin ?? null,
    treeSize: checkpoint?.size ?? 0,
    root: checkpoint?.root.toString('base64') ?? null,
    ...{ from, verified: to - from, unsealed, isComplete, problems: count, findings },
  }
}

async function ownKey(configuration: Configuration, rawStore: EventStore): Promise<NoteVerifier> {
  const { keys } = await masterKeysOf(configuration)
  return keyWith(configuration, rawStore, createSecretBox(await openKeyRing(rawStore, keys)))
}

async function keyWith({ dataDirectory }: Configuration, rawStore: EventStore, box: SecretBox): Promise<NoteVerifier> {
  const key = readAuditKey(dataDirectory, box) ?? (await firstAuditKey(rawStore, box))
  if (!key) throw new NoTreeError('the log is empty: its key is created with the first event')
  return key
}

/** Returns the verifier key of the log. @throws NoTreeError if the log is empty */
export async function verifierKeyOf(
  configuration: Configuration,
  rawStore: EventStore,
  box: SecretBox,
): Promise<string> {
  return formatVerifier(await keyWith(configuration, rawStore, box))
}
