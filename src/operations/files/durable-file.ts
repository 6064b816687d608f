import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes a file only its owner can read (mode 0600), and waits until it is on disk. */
export function writeFileDurably(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The same, so that a reader finds the old content or the new one, never a part. */
export function replaceFileDurably(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  writeFileDurably(draft, text)
  renameSync(draft, path)
}

/** The same, unless there is one: false, and what is there stays, even if another process makes it at this moment. */
export function createFileDurably(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}`
  writeFileDurably(draft, text)
  try {
    // Unlike a rename, a link never replaces what is there.
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
  }
}
