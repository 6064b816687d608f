import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** A backup that is damaged, incomplete or foreign, or a target that cannot be used. The message states the file and the reason. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** The accepted sizes of a file: the one that the manifest states, or any up to a limit. */
type Size = { readonly exactBytes: number } | { readonly maxBytes: number }

/**
 * Returns the content of a file in a target, or `undefined` if it does not exist. Other programs write to a target too. So a link, a FIFO,
 * a device and a file of another size are rejected before they can block the process or fill its memory. @throws BackupError
 */
export function readTargetFile(path: string, size: Size): Buffer | undefined {
  const file = openFile(path)
  if (file === undefined) return undefined
  try {
    const stats = fstatSync(file)
    requireSize(path, stats, size)
    const content = Buffer.allocUnsafe(stats.size)
    let bytes = 0
    while (bytes < content.length) {
      const count = readSync(file, content, bytes, content.length - bytes, null)
      if (count === 0) throw new BackupError(`${path} was cut while it was read`)
      bytes += count
    }
    return content
  } catch (error) {
    throw error instanceof BackupError ? error : unreadable(path, error)
  } finally {
    closeSync(file)
  }
}

function openFile(path: string): number | undefined {
  try {
    // Without O_NONBLOCK, a FIFO would wait for a writer.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    // ELOOP is a symbolic link, and ENXIO is a socket.
    throw code === 'ELOOP' || code === 'ENXIO' ? irregular(path) : unreadable(path, error)
  }
}

function requireSize(path: string, stats: Stats, size: Size): void {
  if (!stats.isFile()) throw irregular(path)
  if ('exactBytes' in size) {
    if (stats.size === size.exactBytes) return
    throw new BackupError(
      `the backup is damaged: ${path} has ${stats.size} bytes, and the manifest states ${size.exactBytes}`,
    )
  }
  if (stats.size > size.maxBytes)
    throw new BackupError(`${path} has ${stats.size} bytes, and at most ${size.maxBytes} are allowed`)
}

function irregular(path: string): BackupError {
  return new BackupError(`${path} is not a regular file`)
}

function unreadable(path: string, error: unknown): BackupError {
  return new BackupError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
}
