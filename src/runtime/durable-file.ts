import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'

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
