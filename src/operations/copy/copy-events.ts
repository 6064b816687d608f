import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import { streamPrefix } from '../../domain/streams.js'
import { sealedField } from '../../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { type KeptKey, type KeyStore, keyIdIn } from '../../privacy/customer-keys.js'
import { keyFileIn } from '../../privacy/embedded/embedded-key-store.js'
import { verifyLog } from '../audit/verify-log.js'
import { type Configuration, ConfigurationError, readConfiguration } from '../configuration/configuration.js'
import { requireNoMark } from '../files/restored-mark.js'
import { openEventStore, openKeyStore, requireLog } from '../stores/stores.js'
import { type CopyOptions, CopyRefusedError, copyLog } from './copy-log.js'

/** Copies the log at one URL to another, in the form of EVENT_STORE_URL. @throws ConfigurationError, NoLogError, RestoreNotRecordedError, and the errors of {@link copyLog} */
export async function copyEvents(from: string, to: string, options: Pick<CopyOptions, 'signal' | 'onProgress'>) {
  const [origin, destination] = [await locate('--from', from), await locate('--to', to)]
  if (isDeepStrictEqual(origin.eventStore, destination.eventStore))
    throw new ConfigurationError(['--from and --to name the same log'])
  requireLog(origin)
  requireNoMark(origin.dataDirectory)
  await requireVerified(origin, options.signal)
  const source = await open('--from', origin)
  const keys = keyStoresOf(origin, destination)
  const keyCopy = new CustomerKeyCopy(keys.source, keys.target)
  let target: EventStore | undefined
  try {
    target = await open('--to', destination)
    // Keys come before the events, which are unreadable without them.
    await keyCopy.copyAll()
    return await copyLog({ source, target, ...options, beforeAppend: (events) => keyCopy.copyFor(events) })
  } finally {
    for (const store of new Set([keys.source, keys.target])) await store.close()
    await target?.close()
    await source.close()
  }
}

/** A copy gets a new tree, so an edited log must not become one that verifies. @throws CopyRefusedError, MasterKeyError */
async function requireVerified(origin: Configuration, signal: AbortSignal | undefined): Promise<void> {
  if (!existsSync(join(origin.audit.directory, 'checkpoint'))) return
  const { holds, findings } = await verifyLog(origin, { withStores: true, ...(signal && { signal }) })
  const [first] = findings
  if (holds) return
  const found = `${first?.place}: ${first?.problem}`
  throw new CopyRefusedError(`the log at --from does not verify: ${found} (transferd audit verify)`)
}

/** Returns the stores for the keys of services on the source and on the target, which can be the same. */
function keyStoresOf(origin: Configuration, destination: Configuration) {
  const target = openKeyStore(destination)
  const nextToLog = { engine: 'embedded', directory: origin.dataDirectory } as const
  const keyStore = existsSync(keyFileIn(origin.dataDirectory)) ? nextToLog : origin.keyStore
  return { source: isDeepStrictEqual(keyStore, destination.keyStore) ? target : openKeyStore({ keyStore }), target }
}

async function locate(option: string, url: string): Promise<Configuration> {
  const { DATA_DIRECTORY, READ_MODEL_URL, KEY_STORE_URL } = process.env
  const masterKey = Object.entries(process.env).filter(([name]) => name.startsWith('TRANSFERD_MASTER_KEY'))
  const others = {
    ...Object.fromEntries(masterKey),
    ...(DATA_DIRECTORY && { DATA_DIRECTORY }),
    ...(READ_MODEL_URL?.startsWith('mongodb') && { READ_MODEL_URL }),
    ...(KEY_STORE_URL && { KEY_STORE_URL }),
  }
  return naming(option, () => readConfiguration({ EVENT_STORE_URL: url, ...others }))
}

async function open(option: string, { eventStore }: Configuration): Promise<EventStore> {
  return (await naming(option, () => openEventStore(eventStore))).eventStore
}

/** Names the option instead of the variable in a problem of the configuration. */
async function naming<Result>(option: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new ConfigurationError(error.problems.map((problem) => problem.replace('EVENT_STORE_URL', option)))
  }
}

const keysPerPage = 500
const maxKnown = 20_000

/** Copies the keys of the log's customers, without which the copied personal data cannot be read. */
export class CustomerKeyCopy {
  /** The ids of keys that were copied, or that no longer exist. */
  // `maxSize` limits the number of ids, because `max` would allocate the memory for all of them immediately.
  readonly #copied = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 })

  /** The key stores of the two logs may be the same one. */
  constructor(
    private readonly source: KeyStore,
    private readonly target: KeyStore,
  ) {}

  /** Copies all keys. @throws CopyRefusedError, StoreUnavailableError */
  async copyAll(): Promise<void> {
    if (this.source === this.target) return
    for (let keys = await this.source.after('', keysPerPage); keys.length > 0; ) {
      await this.#keep(keys)
      keys = await this.source.after(keys.at(-1)!.id, keysPerPage)
    }
  }

  /**
   * Copies the keys that these events need and that the source has created since, and destroys the keys that the events erase. Call
   * this before the events are appended to the target. @throws CopyRefusedError, StoreUnavailableError
   */
  async copyFor(events: readonly RecordedEvent[]): Promise<void> {
    const erased = events.filter(({ type }) => type === 'CustomerErased')
    if (erased.length > 0)
      await this.target.destroy(erased.map(({ stream }) => stream.slice(streamPrefix.privacy.length)))
    if (this.source === this.target) return
    const ids = new Set(events.flatMap(({ data }) => keyIdIn(data[sealedField]) ?? []))
    const missing = [...ids].filter((id) => !this.#copied.has(id))
    if (missing.length === 0) return
    await this.#keep(await this.source.byIds(missing))
    for (const id of missing) this.#copied.set(id, true)
  }

  async #keep(keys: readonly KeptKey[]): Promise<void> {
    if (keys.length === 0) return
    const kept = await this.target.ensure(keys)
    if (kept.some(({ id }, n) => id !== keys[n]!.id)) {
      throw new CopyRefusedError('the target has different keys for the same customers: it is not a copy of this log')
    }
  }
}
