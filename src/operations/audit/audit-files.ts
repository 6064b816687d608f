import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import {
  emptyRoot,
  formatSigner,
  type NoteSigner,
  parseSigner,
  signerOf,
  TreeAppender,
  type TreeHead,
} from '@transferd/transparency-log'
import { leavesOf } from '../../audit/integrity/event-leaf.js'
import type { CommandContext } from '../../commands/handle-command.js'
import { AuditTreeCommands } from '../../commands/integrity/audit-tree-commands.js'
import { integrityContext } from '../../commands/integrity/integrity-commands.js'
import type { AuditTree } from '../../domain/audit-tree.js'
import { type EventStore, unparsedPages } from '../../event-store/event-store.js'
import { systemClock } from '../../kernel/time.js'
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

/**
 * Returns the key of the log's tree: the kept one, also if the start of the tree is damaged, or that of its start. Returns `undefined` if no
 * event starts a tree and no key is kept. @throws SecretBoxError
 */
export async function auditKeyOf(dataDirectory: string, store: EventStore, box: SecretBox) {
  const kept = readAuditKey(dataDirectory, box)
  const tree = await new AuditTreeCommands(store, systemClock()).state()
  return tree === null || kept?.keyId === tree.keyId ? kept : treeKeyOf(tree, box)
}

/** Sets the key of an earlier tree aside. */
export function setAuditKeyAside(dataDirectory: string): void {
  const path = auditKeyPath(dataDirectory)
  if (existsSync(path)) renameSync(path, `${path}.${Date.now()}`)
}

/** Sets the files of an earlier tree aside, within their directory, which can be a mount point. */
export function setTreeAside(directory: string): void {
  const found = ['checkpoint', 'tile'].filter((name) => existsSync(join(directory, name)))
  if (found.length === 0) return
  const aside = join(directory, `earlier-${Date.now()}`)
  mkdirSync(aside)
  for (const name of found) renameSync(join(directory, name), join(aside, name))
}

/** Stores the key permanently. A later master key only encrypts it again. */
export function keepAuditKey(dataDirectory: string, box: SecretBox, signer: NoteSigner): void {
  // With the log on a server and the tree elsewhere, this can be the node's first file.
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  createFileDurably(auditKeyPath(dataDirectory), `${box.seal(formatSigner(signer), auditKeyOwner)}\n`)
}

/** Returns the key of a tree, which derives from the master key and the start: all nodes derive the same, and no two starts share one. */
export function treeKeyOf({ treeId, origin }: Pick<AuditTree, 'treeId' | 'origin'>, box: SecretBox): NoteSigner {
  return signerOf(origin, 'log', Buffer.from(box.mac('audit signing key', treeId), 'base64url'))
}

/** Starts the tree of a new log. If one has started, this changes nothing. @throws StoreUnavailableError */
export async function startFirstTree(store: EventStore, box: SecretBox, origin: string | undefined): Promise<void> {
  await startTree(store, box, origin, { size: 0, root: emptyRoot() }, null, integrityContext)
}

/**
 * Starts a tree that must contain the log's current events. The service then sets the earlier tree and its key aside. Returns the
 * earlier tree, or `null`, and the key of the new one. @throws StoreUnavailableError
 */
export async function restartTree(
  { eventStore: store, rawEventStore }: { readonly eventStore: EventStore; readonly rawEventStore: EventStore },
  box: SecretBox,
  origin: string | undefined,
  reason: string,
  context: CommandContext,
) {
  const earlier = await new AuditTreeCommands(store, systemClock()).state()
  const tree = await TreeAppender.open({ read: async () => undefined, write: async () => {} }, 0)
  for await (const { events } of unparsedPages(rawEventStore, undefined)) {
    const { names, hashes } = leavesOf(events)
    await tree.append(names, hashes)
  }
  const head = { size: tree.size, root: tree.root() }
  return { earlier, ...head, key: await startTree(store, box, origin, head, reason, context) }
}

async function startTree(
  store: EventStore,
  box: SecretBox,
  configured: string | undefined,
  { size, root }: TreeHead,
  reason: string | null,
  context: CommandContext,
): Promise<NoteSigner> {
  const treeId = randomUUID()
  const origin = configured ?? `transferd/${treeId.replaceAll('-', '').slice(0, 16)}`
  const key = treeKeyOf({ treeId, origin }, box)
  const head = { size, root: root.toString('base64') }
  const start = { type: 'StartTree', treeId, origin, keyId: key.keyId, ...head, reason } as const
  await new AuditTreeCommands(store, systemClock()).execute(start, context)
  return key
}
