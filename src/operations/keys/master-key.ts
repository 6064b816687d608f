import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Configuration } from '../configuration/configuration.js'
import { decodeMasterKeys } from '../configuration/configuration-values.js'
import { createFileDurably } from '../files/durable-file.js'
import { outputOfKeyCommand } from './master-key-command.js'
import { MasterKeyError } from './master-key-error.js'

interface GivenKey {
  readonly key: Buffer
  /** The variable, the command's variable or the file it came from. */
  readonly from: string
}

export interface MasterKeys {
  /** The last one seals, all of them open. */
  readonly keys: readonly [...GivenKey[], GivenKey]
  /** What the operator should be told: that a key was generated, or that others may read it. */
  readonly notices: readonly string[]
}

/** From where the configuration says, or from the data directory. @throws MasterKeyError */
export async function masterKeysOf({ masterKey, eventStore, dataDirectory }: Configuration): Promise<MasterKeys> {
  switch (masterKey.from) {
    case 'environment':
      return given(masterKey.keys, 'TRANSFERD_MASTER_KEY')
    case 'directory':
      return readKeyDirectory(masterKey.directory)
    case 'command': {
      const variable = 'TRANSFERD_MASTER_KEY_COMMAND'
      const keys = decodeMasterKeys(await outputOfKeyCommand(masterKey.command))
      if (!keys) throw new MasterKeyError(`${variable} did not print ${whatKeysAre}`)
      return given(keys, variable)
    }
    case 'data directory':
      return eventStore.engine === 'embedded' ? loadMasterKeys(dataDirectory) : requireMasterKeys(dataDirectory)
    default:
      return masterKey satisfies never
  }
}

const whatKeysAre = 'keys of 32 bytes, each as 64 hexadecimal digits or as base64 on a line of its own'

/** Those of `<directory>/master.key`, generated when there is neither a key nor a log yet. @throws MasterKeyError */
export function loadMasterKeys(directory: string): MasterKeys {
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
 * Those of `<directory>/master.key` for a log on a server. None is generated: each node would make another one, and no node
 * could open what the others have sealed. @throws MasterKeyError
 */
function requireMasterKeys(directory: string): MasterKeys {
  const path = join(directory, 'master.key')
  if (existsSync(path)) return readKeyFile(path)
  throw new MasterKeyError(
    `with a log on a server, all nodes must have the same key: set TRANSFERD_MASTER_KEY (openssl rand -hex 32 makes one), or provide ${path}`,
  )
}

/** One key in each file; what begins with a dot is none (Kubernetes puts `..data` beside the files of a secret). */
function readKeyDirectory(directory: string): MasterKeys {
  let names: string[]
  try {
    names = readdirSync(directory).filter((name) => !name.startsWith('.'))
  } catch (error) {
    throw new MasterKeyError(`TRANSFERD_MASTER_KEY_DIRECTORY cannot be read: ${(error as Error).message}`)
  }
  // By code unit: the order must not depend on the machine's language.
  const files = names.sort().map((name) => readKeyFile(join(directory, name)))
  const last = files.at(-1)
  if (!last) throw new MasterKeyError(`TRANSFERD_MASTER_KEY_DIRECTORY holds no key: ${directory}`)
  const keys = distinct(files.flatMap((file) => file.keys))
  return { keys, notices: files.flatMap(({ notices }) => notices) }
}

function readKeyFile(path: string): MasterKeys {
  const keys = decodeMasterKeys(readFileSync(path, 'utf8'))
  if (!keys) throw new MasterKeyError(`${path} does not hold ${whatKeysAre}`)
  const mode = statSync(path).mode & 0o777
  const tooOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  const notice = `${path} has mode 0${mode.toString(8)}: others may read it, make it 0600`
  return { ...given(keys, path), notices: tooOpen ? [notice] : [] }
}

function given(keys: readonly Buffer[], from: string): MasterKeys {
  return { keys: distinct(keys.map((key) => ({ key, from }))), notices: [] }
}

/** A key that is there twice counts where it comes last: that is where somebody put it to seal. */
function distinct(keys: readonly GivenKey[]): MasterKeys['keys'] {
  const [last, ...before] = keys
    .filter(({ key }, i) => !keys.slice(i + 1).some((later) => later.key.equals(key)))
    .reverse()
  if (!last) throw new MasterKeyError('there is no master key')
  return [...before.reverse(), last]
}
