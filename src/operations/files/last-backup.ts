import { join } from 'node:path'
import { readIfExists, writeFileDurably } from './durable-file.js'

const name = 'last-backup'

/** Records the time of a backup for the doctor and for metrics, and its checkpoint of the log, if it has one. */
export function recordBackup(dataDirectory: string, at: string, checkpoint: string | null): void {
  writeFileDurably(join(dataDirectory, name), `${at}\n${checkpoint ?? ''}`)
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
