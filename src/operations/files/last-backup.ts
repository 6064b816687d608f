import { join } from 'node:path'
import { readIfExists, writeFileDurably } from './durable-file.js'

const name = 'last-backup'

/** Records the time of a backup for the doctor and for metrics. */
export function recordBackup(dataDirectory: string, at: string): void {
  writeFileDurably(join(dataDirectory, name), `${at}\n`)
}

/** Returns when a command on this machine last created a backup, or `undefined` if none has. */
export async function lastBackupMs(dataDirectory: string): Promise<number | undefined> {
  return Date.parse((await readIfExists(join(dataDirectory, name)))?.trim() ?? '') || undefined
}
