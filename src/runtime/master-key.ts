import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Configuration } from './configuration.js'
import { decodeMasterKey } from './configuration-values.js'
import { createFileDurably } from './durable-file.js'

/** There is no usable key for the secrets in the log. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError'
}

export interface MasterKey {
  readonly key: Buffer
  /** What the operator should be told: that a key was generated, or that others may read it. */
  readonly notices: readonly string[]
}

/** The configured one, or that of the data directory. @throws MasterKeyError */
export function masterKeyOf({ masterKey: key, eventStore, dataDirectory }: Configuration): MasterKey {
  if (key) return { key, notices: [] }
  return eventStore.engine === 'embedded' ? loadMasterKey(dataDirectory) : requireMasterKey(dataDirectory)
}

/** The key of `<directory>/master.key`, generated when there is neither a key nor a log yet. @throws MasterKeyError */
export function loadMasterKey(directory: string): MasterKey {
  const path = join(directory, 'master.key')
  if (existsSync(path)) return readKeyFile(path)
  // A new key beside an old log would lock out every merchant, and only be noticed at the next request.
  if (existsSync(join(directory, 'events.db'))) {
    throw new MasterKeyError(`${path} is missing, but there is a log: restore it, or set TRANSFERD_MASTER_KEY`)
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (!createFileDurably(path, `${randomBytes(32).toString('hex')}\n`)) return readKeyFile(path)
  const notice = `generated ${path} (mode 0600): it opens all merchants' secrets, keep a copy apart from the log`
  return { ...readKeyFile(path), notices: [notice] }
}

/**
 * The key of `<directory>/master.key` for a log on a server. None is generated: each node would make another one, and no node
 * could open what the others have sealed. @throws MasterKeyError
 */
export function requireMasterKey(directory: string): MasterKey {
  const path = join(directory, 'master.key')
  if (existsSync(path)) return readKeyFile(path)
  throw new MasterKeyError(
    `with a log on a server, all nodes must have the same key: set TRANSFERD_MASTER_KEY (openssl rand -hex 32 makes one), or provide ${path}`,
  )
}

function readKeyFile(path: string): MasterKey {
  const key = decodeMasterKey(readFileSync(path, 'utf8').trim())
  if (!key) throw new MasterKeyError(`${path} does not hold 32 bytes as 64 hexadecimal digits or as base64`)
  const mode = statSync(path).mode & 0o777
  const tooOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  return { key, notices: tooOpen ? [`${path} has mode 0${mode.toString(8)}: others may read it, make it 0600`] : [] }
}
