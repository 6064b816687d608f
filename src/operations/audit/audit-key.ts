import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatSigner, type NoteSigner, parseSigner, signerOf } from '@transferd/transparency-log'
import { leafOf } from '../../audit/integrity/event-leaf.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { SecretBox } from '../../security/secret-box.js'
import { createFileDurably } from '../files/durable-file.js'

/** What the file's secret is sealed for. */
export const auditKeyOwner = 'audit key'

export function auditKeyPath(dataDirectory: string): string {
  return join(dataDirectory, 'audit.key')
}

/** The key of the file. Undefined where there is none. @throws SecretBoxError, VerificationError */
export function readAuditKey(dataDirectory: string, box: SecretBox): NoteSigner | undefined {
  const path = auditKeyPath(dataDirectory)
  if (!existsSync(path)) return undefined
  return parseSigner(box.open(readFileSync(path, 'utf8').trim(), auditKeyOwner))
}

/** Keeps it for good: a later master key seals it anew, and it stays the same. */
export function keepAuditKey(dataDirectory: string, box: SecretBox, signer: NoteSigner): void {
  // On a server's log, with the tree elsewhere, it may be this node's first file.
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  createFileDurably(auditKeyPath(dataDirectory), `${box.seal(formatSigner(signer), auditKeyOwner)}\n`)
}

/**
 * The key that a log begins with: it follows from the master key and the log's first event, so that every node makes the same one, and two
 * logs never have the same. Undefined while the log is empty. @throws StoreUnavailableError
 */
export async function firstAuditKey(rawStore: EventStore, box: SecretBox): Promise<NoteSigner | undefined> {
  const { events } = await rawStore.readAll({ maxCount: 1, includeStored: true })
  if (!events[0]) return undefined
  const log = createHash('sha256').update(leafOf(events[0])).digest('hex')
  const seed = Buffer.from(box.mac('audit signing key', log), 'base64url')
  return signerOf(`transferd/${log.slice(0, 16)}`, 'log', seed)
}
