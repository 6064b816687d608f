import { accessSync, constants, existsSync, readdirSync, type Stats, statfsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** A directory of the installation cannot be used. The message says why, and what to do. */
class DirectoryError extends Error {
  override readonly name = 'DirectoryError'
}

/** Matches the names that a process writes. Keys are only read, and others, such as `lost+found` of a volume, may belong to someone else. */
const written = /\.(db|db-wal|db-shm|lock)$|^(audit|locks)$/

/**
 * Checks that this process can use a directory, or create it, and can read and write the databases in it. Changes nothing.
 * @throws DirectoryError
 */
export function checkDirectory(path: string, other = 'data directory (EVENT_STORE_URL, READ_MODEL_URL)'): void {
  const directory = resolve(path)
  const existing = nearest(directory)
  if (!existing.stats.isDirectory()) {
    const problem = `${existing.path} is not a directory${existing.path === directory ? '' : `, so ${directory} cannot be created`}`
    throw new DirectoryError(`${problem}: remove it, or choose another ${other}`)
  }
  requireAccess(existing.path, existing.stats, directory)
  if (existing.path === directory) checkEntries(directory, directory)
}

/** Returns the path, or the lowest directory above it that exists. */
function nearest(path: string): { readonly path: string; readonly stats: Stats } {
  try {
    return { path, stats: statSync(path) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if ((code === 'ENOENT' || code === 'ENOTDIR') && dirname(path) !== path) return nearest(dirname(path))
    throw new DirectoryError(
      accessProblem(code, reachable(dirname(path)), path) ?? `${path}: ${(error as Error).message}`,
    )
  }
}

/** Returns the path, or the lowest directory above it whose owner this user can read. */
function reachable(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : reachable(dirname(path))
}

function checkEntries(folder: string, directory: string): void {
  for (const name of readdirSync(folder)) {
    if (folder === directory && !written.test(name)) continue
    const path = join(folder, name)
    const stats = statSync(path, { throwIfNoEntry: false })
    // Another process may have removed it just now.
    if (!stats) continue
    requireAccess(path, stats, directory)
    if (stats.isDirectory() && folder === directory) checkEntries(path, directory)
  }
}

function requireAccess(path: string, stats: Stats, directory: string): void {
  const { R_OK, W_OK, X_OK } = constants
  try {
    accessSync(path, R_OK | W_OK | (stats.isDirectory() ? X_OK : 0))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    throw new DirectoryError(accessProblem(code, path, directory) ?? `${path}: ${message}`)
  }
}

/**
 * Returns why a path cannot be used and what to do, for an error of the file system that tells it; else `undefined`. Without a directory of
 * the installation, nothing below the path needs to change.
 */
function accessProblem(code: string | undefined, path: string, directory?: string): string | undefined {
  if (code === 'EROFS')
    return `${path} is on a read-only file system: mount it for writing (in a container, ${directory ?? path} must be a volume without :ro)`
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const stats = statSync(path, { throwIfNoEntry: false })
  // Windows has neither.
  const [user, group] = [process.getuid?.(), process.getgid?.()]
  if (!stats || user === undefined) return `${path} cannot be read and written by this user`
  if (stats.uid === user)
    return `${path} belongs to ${nameOf(user)}, who runs transferd, but its mode is ${modeOf(stats)}: run chmod ${directory === undefined ? `u+rwX ${path}` : `-R u+rwX ${directory}`}`
  const problem = `${path} belongs to ${nameOf(stats.uid)}, but transferd runs as ${nameOf(user)}, who must not write there`
  if (directory === undefined) return `${problem}. Choose another path, or run as root: chown ${user}:${group} ${path}`
  const target = `-R ${user}:${group} ${directory}`
  const command = existsSync(directory) ? `chown ${target}` : `mkdir -p ${directory} && chown ${target}`
  const inContainer = `docker run --rm --user 0 --volume <volume>:${directory} --entrypoint chown <image> ${target}`
  const asOwner = stats.uid === 0 ? '' : ` Or run transferd as the owner (docker run --user ${stats.uid}:${stats.gid}).`
  return `${problem}. Run as root: ${command}. For the volume of a container: ${inContainer}.${asOwner}`
}

function nameOf(user: number): string {
  if (user === 0) return 'root (0)'
  return user === process.getuid?.() ? `${ownName()} (${user})` : `user ${user}`
}

function ownName(): string {
  try {
    return userInfo().username
  } catch {
    // A container can run as a user without an entry in /etc/passwd.
    return 'user'
  }
}

const modeOf = ({ mode }: Stats) => `0${(mode & 0o777).toString(8)}`

/** Returns an error that names the full disk, or the same error if no disk is full. */
export function explainedFullDisk(error: unknown, directory: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  const isFull = code === 'ENOSPC' || code === 'EDQUOT' || /database or disk is full|SQLITE_FULL/.test(message)
  // SQLite has no other code for the files that it maps into memory.
  if (!isFull && !(/SQLITE_IOERR/.test(message) && (freeBytes(directory) ?? leastBytes) < leastBytes)) return error
  return new DirectoryError(
    `${message}: the disk of ${directory} is full (${freeSpace(directory)}): free some space, then start again`,
  )
}

/** SQLite cannot open a database with less. */
const leastBytes = 1_048_576

function freeSpace(directory: string): string {
  const bytes = freeBytes(directory)
  return bytes === undefined ? 'its free space is unknown' : `${Math.floor(bytes / 1024)} KiB free`
}

function freeBytes(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(nearest(resolve(directory)).path)
    return bavail * bsize
  } catch {
    return undefined
  }
}

/** Returns the message of an error, with the remedy if the file system refused access to a path to it or to its cause. */
export function messageWithRemedy(error: Error): string {
  const remedy = remedyOf(error)
  if (remedy !== undefined) return remedy
  const remedyOfCause = error.cause instanceof Error ? remedyOf(error.cause) : undefined
  return remedyOfCause === undefined ? error.message : `${error.message}. ${remedyOfCause}`
}

function remedyOf(error: Error): string | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (path === undefined) return undefined
  // On a read-only file system and below a file, the creation of a directory fails with codes that tell neither.
  if (code === 'ENOTDIR' || syscall === 'mkdir') return directoryProblem(path)
  return accessProblem(code, reachable(path))
}

/** Returns why a directory cannot be used or created and what to do, or `undefined` if it can. */
export function directoryProblem(path: string): string | undefined {
  try {
    checkDirectory(path, 'path')
    return undefined
  } catch (error) {
    return error instanceof DirectoryError ? error.message : undefined
  }
}
