import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatSigner, type NoteSigner, parseSigner, signerOf } from '@transferd/transparency-log'
import { leafOf } from '../../audit/integrity/event-leaf.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { SecretBox } from '../../security/secret-box.js'
import { createFileDurably } from '../files/durable-file.js'

/** The purpose that the encrypted key is bound to. */
export const auditKeyOwner = 'audit key'

export function auditKeyPath(dataDirectory: string): string {
  return join(dataDirectory, 'audit.key')
}

/** Returns the encrypted key that signs the tree's checkpoints, or `undefined` without one. */
export function readSealedAuditKey(dataDirectory: string): string | undefined {
  const path = auditKeyPath(dataDirectory)
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
}

/** Reads the key from its file, or returns `undefined` without one. @throws SecretBoxError, VerificationError */
export function readAuditKey(dataDirectory: string, box: SecretBox): NoteSigner | undefined {
  const sealed = readSealedAuditKey(dataDirectory)
  return sealed === undefined ? undefined : parseSigner(box.open(sealed, auditKeyOwner))
}

export async function auditKeyOf(dataDirectory: string, rawStore: EventStore, box: SecretBox) {
  return readAuditKey(dataDirectory, box) ?? (await firstAuditKey(rawStore, box))
}

/** Stores the key permanently. A later master key only encrypts it again. */
export function keepAuditKey(dataDirectory: string, box: SecretBox, signer: NoteSigner): void {
  // With the log on a server and the tree elsewhere, this can be the node's first file.
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  createFileDurably(auditKeyPath(dataDirectory), `${box.seal(formatSigner(signer), auditKeyOwner)}\n`)
}

/**
 * Returns the first key of a log, which derives from the master key and the log's first event: every node derives the same key, and two
 * logs never share one. Returns `undefined` for an empty log. @throws StoreUnavailableError
 */
export async function firstAuditKey(rawStore: EventStore, box: SecretBox): Promise<NoteSigner | undefined> {
  const { events } = await rawStore.readAll({ maxCount: 1, includeStored: true })
  if (!events[0]) return undefined
  const log = createHash('sha256').update(leafOf(events[0])).digest('hex')
  const seed = Buffer.from(box.mac('audit signing key', log), 'base64url')
  return signerOf(`transferd/${log.slice(0, 16)}`, 'log', seed)
}
