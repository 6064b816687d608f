import type { NoteSigner } from '@transferd/transparency-log'
import type { AuditTreeCommands } from '../../commands/integrity/audit-tree-commands.js'
import type { AuditTree } from '../../domain/audit-tree.js'
import type { Finding } from '../../domain/integrity.js'
import { auditTreeStream } from '../../domain/streams.js'
import { checkpointPath, signedCheckpoint, type TreeParts } from './log-sealer.js'

export interface TreeOpening extends Pick<TreeParts, 'tiles'> {
  readonly tree: Pick<AuditTreeCommands, 'state' | 'execute'>
  /** Whether several nodes can share the log. A node without a tree then builds it, and it must contain what the log recorded. */
  readonly isShared: boolean
  /** Returns the key of a tree from its start. */
  readonly keyOf: (tree: AuditTree) => NoteSigner
  /** Returns the kept key, if any. Throws if it is unreadable. */
  readonly keptKey: () => NoteSigner | undefined
  /** Sets the files of an earlier tree and its key aside. */
  readonly setAside: () => Promise<void>
}

export type OpenedTree = { readonly signer: NoteSigner; readonly tree: AuditTree } | { readonly finding: Finding }

const moved =
  'If you changed AUDIT_DIRECTORY, stop the service and move the files of the tree. Otherwise see the runbook.'

/**
 * Returns the log's tree and its key, or why it cannot be used. A tree that has a recorded checkpoint is never created again, except by a
 * further node of a shared log. @throws StoreUnavailableError
 */
export async function openTree(options: TreeOpening): Promise<OpenedTree> {
  const { tiles, isShared, keyOf, keptKey, setAside } = options
  const tree = await options.tree.state()
  if (!tree) return found(auditTreeStream, 'No event starts the tree of this log.')
  // The start is part of the text, because a decision to resume payouts covers equal findings.
  const name = `The tree that was started at ${tree.startedAt} and covers ${tree.size} events`
  const isRequired = tree.isSealed && !isShared
  const { key, problem } = kept(keptKey)
  if (key?.keyId === tree.keyId) {
    const checkpoint = await signedCheckpoint(tiles, key).catch((error: Error) => error)
    if (checkpoint instanceof Error)
      return found(checkpointPath, `${name} has an invalid checkpoint: ${checkpoint.message}.`)
    if (!isRequired || (checkpoint && checkpoint.size >= tree.size)) return { signer: key, tree }
    const state = checkpoint ? `is cut back to ${checkpoint.size} events.` : `has no checkpoint. ${moved}`
    return found(checkpointPath, `${name} ${state}`)
  }
  if (isRequired)
    return found('audit.key', `${name} ${problem ?? (key ? 'has a different key.' : 'has lost its key.')}`)
  const signer = keyOf(tree)
  if (signer.keyId !== tree.keyId) return found('audit.key', `${name} has lost its key with the master key.`)
  await setAside()
  return { signer, tree }
}

function kept(keptKey: TreeOpening['keptKey']) {
  try {
    return { key: keptKey(), problem: undefined }
  } catch {
    return { key: undefined, problem: 'has an unreadable key.' }
  }
}

function found(place: string, problem: string): OpenedTree {
  return { finding: { kind: 'checkpoint', place, leafIndex: null, problem } }
}
