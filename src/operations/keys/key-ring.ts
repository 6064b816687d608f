import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandContext, retryOnConflict } from '../../commands/handle-command.js'
import { digestKeyStream, streamPrefix, streamPrefixes } from '../../domain/streams.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import {
  addEventCodes,
  type EventKey,
  eventKeyIdOf,
  eventKeyOf,
  giveUpPosition,
} from '../../event-store/event-codes.js'
import { type EventStore, logPages, type StreamRevision } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import {
  createSecretBox,
  digestKeyOf,
  idOfMasterKey,
  type KeyRing,
  keyIdOf,
  type SecretBox,
} from '../../security/secret-box.js'
import type { Configuration } from '../configuration/configuration.js'
import { decodeMasterKeys } from '../configuration/configuration-values.js'
import { createFileDurably, permissionNotices } from '../files/durable-file.js'

const owner = 'digest key'
const context: CommandContext = { actor: 'system:keys', $correlationId: 'keys', $causationId: 'keys' }

/**
 * Returns the given keys with the digest key, which must never change: users are found and passwords are compared by keyed digests. While a
 * log has had only one master key, the digest key derives from it. With a second one, the log records the digest key, encrypted.
 * @throws MasterKeyError if none of the keys opens the recorded digest key
 */
export async function openKeyRing(store: EventStore, keys: MasterKeys['keys']): Promise<KeyRing> {
  const ring = ringOf(keys)
  return retryOnConflict(digestKeyStream, async () => {
    const { sealed, revision } = await readDigestKey(store)
    if (sealed !== undefined) return { ...ring, digestKey: openDigestKey(ring, sealed) }
    if (keys.length === 1) return ring
    const digestKey = digestKeyOf(await firstKeyOf(store, keys))
    await sealDigestKey(store, { ...ring, digestKey }, revision)
    return { ...ring, digestKey }
  })
}

export function ringOf(keys: MasterKeys['keys']): KeyRing {
  const others = keys.slice(0, -1).map(({ key }) => key)
  return { current: keys.at(-1)!.key, others }
}

/**
 * Returns the latest readable digest key, which is `undefined` while the log has had only one master key. A foreign event in its stream has
 * no effect.
 */
export async function readDigestKey(store: EventStore) {
  const recorded = await store.readStream(digestKeyStream)
  const events = recorded.flatMap((one) => (readableEvent(one)?.data as EventData<'DigestKeySealed'> | undefined) ?? [])
  const revision: StreamRevision = recorded.at(-1)?.revision ?? 'no_stream'
  return { sealed: events.at(-1)?.sealed, revision }
}

function openDigestKey(ring: KeyRing, sealed: string): Buffer {
  try {
    return Buffer.from(createSecretBox(ring).open(sealed, owner), 'base64url')
  } catch (error) {
    throw new MasterKeyError(
      `none of the given master keys opens this log: ${(error as Error).message}. If that key is permanently lost, see docs/operating/keys.md`,
    )
  }
}

/** Records the ring's digest key, encrypted. `reason` states why it differs from the previous one. @throws WrongExpectedRevisionError */
export async function sealDigestKey(
  store: EventStore,
  { digestKey, ...ring }: KeyRing,
  expectedRevision: StreamRevision,
  { reason = null, by = context }: { readonly reason?: string | null; readonly by?: CommandContext } = {},
): Promise<void> {
  const text = Buffer.from(digestKey ?? digestKeyOf(ring.current)).toString('base64url')
  const sealed = createSecretBox(ring).seal(text, owner)
  const data = { sealed, reason, at: new Date().toISOString() }
  const log = addEventCodes(
    store,
    eventKeyIn(createSecretBox({ digestKey: digestKey ?? digestKeyOf(ring.current), ...ring })),
  )
  await log.append(digestKeyStream, expectedRevision, [encodeEvent({ type: 'DigestKeySealed', data }, by)])
}

/** Returns the key of the codes of events. It derives from the digest key, so a rotation of the master key does not change it. */
export function eventKeyIn(box: SecretBox): EventKey {
  return eventKeyOf(box.mac('event codes', 'key'))
}

/**
 * Requires the key of the service's first event with a code, or a decision to give that key up. Other programs' events may precede it on a
 * server. @throws MasterKeyError, StoreUnavailableError
 */
export async function requireEventKey(store: EventStore, ring: KeyRing): Promise<void> {
  const key = eventKeyIn(createSecretBox(ring))
  const keyId = await firstEventKeyId(store)
  if (keyId === undefined || keyId === key.id || (await giveUpPosition(store, key))) return
  const given = [...(ring.others ?? []), ring.current].map(idOfMasterKey).join(', ')
  const needed = await firstKeyId(store)
  const secrets = needed === undefined ? '' : `, and its first secrets are encrypted with master key ${needed}`
  throw new MasterKeyError(
    `none of the given master keys opens this log: its events are authenticated with a different key than that of ${given}${secrets}. If that key is permanently lost, see docs/operating/keys.md`,
  )
}

async function firstEventKeyId(store: EventStore): Promise<string | undefined> {
  for await (const { events } of logPages(store, { streamPrefixes, maxCount: 1 })) {
    const keyId = events[0] && eventKeyIdOf(events[0])
    if (keyId !== undefined) return keyId
  }
  return undefined
}

/** Returns the key of the log's first secret, from which the digests derive, or the current key if there is no secret yet. */
async function firstKeyOf(store: EventStore, keys: MasterKeys['keys']): Promise<Buffer> {
  const id = await firstKeyId(store)
  const first = keys.findLast(({ key }) => id === undefined || idOfMasterKey(key) === id)
  if (first) return first.key
  throw new MasterKeyError(
    `the log's first secrets are encrypted with master key ${id}, which is not among the given ones`,
  )
}

/** Returns the id of the key of the first encrypted value. It belongs to a merchant, a user or an account. */
export async function firstKeyId(store: EventStore): Promise<string | undefined> {
  const secretPrefixes = [streamPrefix.merchant, streamPrefix.user, streamPrefix.wallet]
  for await (const { events } of logPages(store, { streamPrefixes: secretPrefixes })) {
    const values = events.flatMap((recorded) => Object.values(readableEvent(recorded)?.data ?? {}))
    const ids = values.flatMap((value) => (typeof value === 'string' && keyIdOf(value)) || [])
    if (ids[0] !== undefined) return ids[0]
  }
  return undefined
}

/** The master key is missing, invalid or wrong. The message states which one, and what to do. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError'
}

/** A key, and the variable or the file that provides it. */
type GivenKey = { readonly key: Buffer; readonly from: string }

export interface MasterKeys {
  /** The last one encrypts, and all of them decrypt. */
  readonly keys: readonly [...GivenKey[], GivenKey]
  /** Notices for the operator: that a key was generated, or that others can read it. */
  readonly notices: readonly string[]
}

/** Reads the keys from the configured source, or from the data directory. @throws MasterKeyError */
export async function masterKeysOf({ masterKey, eventStore, dataDirectory }: Configuration): Promise<MasterKeys> {
  switch (masterKey.from) {
    case 'environment':
      return given(masterKey.keys, 'TRANSFERD_MASTER_KEY')
    case 'directory':
      return readKeyDirectory(masterKey.directory)
    case 'command': {
      const variable = 'TRANSFERD_MASTER_KEY_COMMAND'
      const keys = decodeMasterKeys(await outputOfKeyCommand(masterKey.command))
      if (!keys) throw new MasterKeyError(`${variable} did not print ${keyFormat}`)
      return given(keys, variable)
    }
    case 'data directory': {
      if (eventStore.engine === 'embedded') return loadMasterKeys(dataDirectory)
      const path = join(dataDirectory, 'master.key')
      if (existsSync(path)) return readKeyFile(path)
      // A key is never generated for a log on a server: each node would generate a different one.
      throw new MasterKeyError(
        `with a log on a server, all nodes need the same key: set TRANSFERD_MASTER_KEY (openssl rand -hex 32 creates a key), or provide ${path}`,
      )
    }
    default:
      return masterKey satisfies never
  }
}

/** Returns the configured keys, or `undefined` without any. Unlike a start, it never generates one. @throws MasterKeyError */
export async function givenMasterKeys(configuration: Configuration): Promise<MasterKeys['keys'] | undefined> {
  const { masterKey, dataDirectory } = configuration
  if (masterKey.from === 'data directory' && !existsSync(join(dataDirectory, 'master.key'))) return undefined
  return (await masterKeysOf(configuration)).keys
}

const keyFormat = 'one key per line, each of 32 bytes as 64 hexadecimal digits or base64'

/** Reads `<directory>/master.key`, which is generated if neither a key nor a log exists. @throws MasterKeyError */
export function loadMasterKeys(directory: string): MasterKeys {
  const path = join(directory, 'master.key')
  if (existsSync(path)) return readKeyFile(path)
  // A new key for an existing log would lock out every merchant, which only the next request would show.
  if (existsSync(join(directory, 'events.db'))) {
    throw new MasterKeyError(`${path} is missing, but a log exists: restore the key, or set TRANSFERD_MASTER_KEY`)
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (!createFileDurably(path, `${randomBytes(32).toString('hex')}\n`)) return readKeyFile(path)
  const notice = `generated ${path} (mode 0600): it decrypts all merchants' secrets, so keep a copy separately from the log`
  return { ...readKeyFile(path), notices: [notice] }
}

/** Reads the keys of all files, except for names that start with a dot: Kubernetes adds `..data` to the files of a secret. */
function readKeyDirectory(directory: string): MasterKeys {
  let names: string[]
  try {
    names = readdirSync(directory).filter((name) => !name.startsWith('.'))
  } catch (error) {
    throw new MasterKeyError(`TRANSFERD_MASTER_KEY_DIRECTORY cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  // Sorted by code unit, so that the order does not depend on the machine's language.
  const files = names.sort().map((name) => readKeyFile(join(directory, name)))
  const last = files.at(-1)
  if (!last) throw new MasterKeyError(`TRANSFERD_MASTER_KEY_DIRECTORY contains no key: ${directory}`)
  const keys = distinct(files.flatMap((file) => file.keys))
  return { keys, notices: files.flatMap(({ notices }) => notices) }
}

function readKeyFile(path: string): MasterKeys {
  const keys = decodeMasterKeys(readFileSync(path, 'utf8'))
  if (!keys) throw new MasterKeyError(`${path} does not contain ${keyFormat}`)
  return { ...given(keys, path), notices: permissionNotices(path) }
}

function given(keys: readonly Buffer[], from: string): MasterKeys {
  return { keys: distinct(keys.map((key) => ({ key, from }))), notices: [] }
}

/** A repeated key counts at its last place, because the last key encrypts. */
function distinct(keys: readonly GivenKey[]): MasterKeys['keys'] {
  const [last, ...before] = keys
    .filter(({ key }, i) => !keys.slice(i + 1).some((later) => later.key.equals(key)))
    .reverse()
  if (!last) throw new MasterKeyError('no master key is configured')
  return [...before.reverse(), last]
}

const commandTimeoutMs = 30_000
const maxCommandBytes = 64 * 1024

/** Returns the stdout of the shell command, which appears nowhere else; its stderr is discarded. @throws MasterKeyError */
export async function outputOfKeyCommand(command: string, timeoutMs = commandTimeoutMs): Promise<string> {
  // In its own process group: processes that the shell started would otherwise keep stdout open.
  const child = spawn(command, { shell: true, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  let problem: string | undefined
  const kill = (reason: string) => {
    problem ??= reason
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      child.kill('SIGKILL')
    }
  }
  const timer = setTimeout(() => kill(`did not end within ${timeoutMs / 1_000} s`), timeoutMs)
  const chunks: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxCommandBytes) kill('printed more than keys')
    else chunks.push(chunk)
  })
  const status = await new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`could not be started: ${(error as NodeJS.ErrnoException).code}`))
    child.on('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${signal ?? `status ${code}`}`))
  })
  clearTimeout(timer)
  problem ??= status
  if (problem) throw new MasterKeyError(`TRANSFERD_MASTER_KEY_COMMAND ${problem}: run it manually to see why`)
  return Buffer.concat(chunks).toString('utf8')
}
