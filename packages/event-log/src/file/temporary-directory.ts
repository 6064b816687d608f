import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tryProcessLock } from './process-lock.js'

const prefix = 'transferd-log-'
const lockName = 'temporary'
/** The age at which a directory without a lock counts as left over. A new one has no lock for an instant. */
const leftOverMs = 60_000

interface TemporaryDirectory {
  readonly path: string
  /** Deletes the directory and its files. */
  remove(): void
}

const used = new Set<TemporaryDirectory>()

function removeUsed(): void {
  for (const directory of used) directory.remove()
}

/**
 * Creates a directory in memory (`/dev/shm`) if the system has that, otherwise among the temporary files. It is deleted by `remove`, or
 * when this thread or process exits. A directory that a killed process has left is deleted by a later call of any process.
 */
export function createTemporaryDirectory(): TemporaryDirectory {
  const path = createIn('/dev/shm') ?? mkdtempSync(join(tmpdir(), prefix))
  const lock = tryProcessLock(path, lockName)
  for (const parent of ['/dev/shm', tmpdir()]) removeLeftOvers(parent)
  const directory: TemporaryDirectory = {
    path,
    remove: () => {
      used.delete(directory)
      if (used.size === 0) process.off('exit', removeUsed)
      lock?.release()
      rmSync(path, { recursive: true, force: true })
    },
  }
  if (used.size === 0) process.on('exit', removeUsed)
  used.add(directory)
  return directory
}

function createIn(parent: string): string | undefined {
  try {
    return mkdtempSync(join(parent, prefix))
  } catch {
    return undefined
  }
}

function removeLeftOvers(parent: string): void {
  for (const name of namesIn(parent)) {
    if (!name.startsWith(prefix)) continue
    const path = join(parent, name)
    try {
      if (Date.now() - statSync(path).mtimeMs < leftOverMs) continue
      const lock = tryProcessLock(path, lockName)
      lock?.release()
      if (lock !== undefined) rmSync(path, { recursive: true, force: true })
    } catch {
      // It belongs to another user, or another process has just removed it.
    }
  }
}

function namesIn(parent: string): readonly string[] {
  try {
    return readdirSync(parent)
  } catch {
    return []
  }
}
