import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFileDurably } from '../files/durable-file.js'

const name = 'last-backup'

/** For the doctor, and for who watches the service. */
export function noteBackup(dataDirectory: string, at: string): void {
  replaceFileDurably(join(dataDirectory, name), `${at}\n`)
}

/** When a command of this machine has made one last; undefined where none has. */
export async function lastBackupMs(dataDirectory: string): Promise<number | undefined> {
  try {
    return Date.parse((await readFile(join(dataDirectory, name), 'utf8')).trim()) || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
