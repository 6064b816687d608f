import { join } from 'node:path'
import { parseCheckpoint, parseNote } from '@transferd/transparency-log'
import { readIfExists, writeFileDurably } from './durable-file.js'

const name = 'last-backup'

/**
 * Records the time of a backup for the doctor and for metrics, and its checkpoint, if the log verified against one. Otherwise, or if the
 * recorded checkpoint of the same tree covers more events, that one remains, because it shows that the log was cut back.
 */
export async function recordBackup(dataDirectory: string, at: string, checkpoint: string | null): Promise<void> {
  const recorded = await lastBackupCheckpoint(dataDirectory)
  const isNewest = checkpoint !== null && !(recorded !== undefined && isEarlier(checkpoint, recorded))
  writeFileDurably(join(dataDirectory, name), `${at}\n${(isNewest ? checkpoint : recorded) ?? ''}`)
}

function isEarlier(note: string, recorded: string): boolean {
  try {
    const [own, other] = [treeOf(note), treeOf(recorded)]
    return own.keyId === other.keyId && own.size < other.size
  } catch {
    return false
  }
}

/** Returns the key of the tree, which a new tree does not share, and its size. @throws VerificationError */
function treeOf(note: string) {
  const { text, signatures } = parseNote(note)
  const { origin, size } = parseCheckpoint(text)
  // Witnesses have signed the note too.
  return { keyId: signatures.find((each) => each.name === origin)?.keyId, size }
}

/** Returns when a command on this machine last created a backup, or `undefined` if none has. */
export async function lastBackupMs(dataDirectory: string): Promise<number | undefined> {
  return Date.parse((await linesOf(dataDirectory)).at) || undefined
}

/** Returns the checkpoint of the last backup, or `undefined` without one. */
export async function lastBackupCheckpoint(dataDirectory: string): Promise<string | undefined> {
  return (await linesOf(dataDirectory)).checkpoint || undefined
}

async function linesOf(dataDirectory: string) {
  const text = (await readIfExists(join(dataDirectory, name))) ?? ''
  const [at = ''] = text.split('\n', 1)
  return { at, checkpoint: text.slice(at.length + 1) }
}
