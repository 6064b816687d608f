import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from './durable-file.js'

const name = 'last-backup'

/** Records the time of a backup for the doctor and for metrics. */
export function recordBackup(dataDirectory: string, at: string): void {
  writeFileDurably(join(dataDirectory, name), `${at}\n`)
}

/** Returns when a command on this machine last created a backup, or `undefined` if none has. */
export async function lastBackupMs(dataDirectory: string): Promise<number | undefined> {
  try {
    return Date.parse((await readFile(join(dataDirectory, name), 'utf8')).trim()) || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
