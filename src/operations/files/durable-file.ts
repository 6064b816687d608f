import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file that only its owner can read (mode 0600), and creates its directory. A reader finds the old content or the new content,
 * never a part, and the new content is on disk on return. By default each process has its own draft, so that two can write the same file.
 */
export function writeFileDurably(path: string, content: string | Uint8Array, draft = draftOf(path)): void {
  writeDraft(draft, content)
  renameSync(draft, path)
  syncToDisk(dirname(path))
}

/** Does the same unless the file exists. Then it returns false and leaves the file unchanged, even if another process creates it just now. */
export function createFileDurably(path: string, content: string): boolean {
  const draft = draftOf(path)
  writeDraft(draft, content)
  try {
    // Unlike a rename, a link never replaces a file.
    linkSync(draft, path)
    syncToDisk(dirname(path))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
  }
}

/** Returns a notice for the operator if others can read a file with secrets. */
export function permissionNotices(path: string): string[] {
  const mode = statSync(path).mode & 0o777
  if (process.platform === 'win32' || (mode & 0o077) === 0) return []
  return [`${path} has mode 0${mode.toString(8)}, so others can read it: change the mode to 0600`]
}

/** Returns the text of a file, or `undefined` if it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Waits until a file, or the entries of a directory, are on disk. */
export function syncToDisk(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function draftOf(path: string): string {
  return `${path}.${process.pid}`
}

function writeDraft(draft: string, content: string | Uint8Array): void {
  mkdirSync(dirname(draft), { recursive: true, mode: 0o700 })
  // A killed process can have left a draft. In a backup's target, it can also be a link or a FIFO of another program.
  rmSync(draft, { force: true })
  // Unlike `w`, `wx` follows no link that another program creates after the removal.
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(file, content)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
