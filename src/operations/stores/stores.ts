import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { attachEventLog, type EventLogHandle, logPath, openEventLog } from '@transferd/event-log'
import { IntegrityCommands, integrityContext } from '../../commands/integrity/integrity-commands.js'
import { bindCurrency } from '../../commands/transfer/log-currency.js'
import { forgedProblem, maxFindings } from '../../domain/integrity.js'
import { addEventCodes, checkEventCodes } from '../../event-store/event-codes.js'
import type { EventStore, Place } from '../../event-store/event-store.js'
import { skipEvents } from '../../event-store/read-event.js'
import { systemClock } from '../../kernel/time.js'
import { openCollectionKeyStore } from '../../privacy/collection-key-store.js'
import { CustomerKeys, type KeyStore } from '../../privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../privacy/embedded/embedded-key-store.js'
import { requireCustomerKeys } from '../../privacy/lost-keys.js'
import { sealing } from '../../privacy/sealing-store.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { withReceipts } from '../../read-models/receipts.js'
import { createSecretBox, type SecretBox } from '../../security/secret-box.js'
import { startFirstTree } from '../audit/audit-files.js'
import { type Configuration, ConfigurationError } from '../configuration/configuration.js'
import { checkDirectory } from '../files/directory-access.js'
import { restoredMark } from '../files/restored-mark.js'
import { eventKeyIn, type MasterKeys, masterKeysOf, openKeyRing, requireEventKey } from '../keys/key-ring.js'

/** The log, with the keys of its encrypted values, and notices for the operator about the key files. */
export type OpenedLog = Awaited<ReturnType<typeof openLog>>
export type Stores = Awaited<ReturnType<typeof openStores>>

export class NoLogError extends Error {
  override readonly name = 'NoLogError'
}

/** Requires an embedded log to exist. @throws NoLogError, DirectoryError */
export function requireLog({ eventStore }: Pick<Configuration, 'eventStore'>): void {
  if (eventStore.engine !== 'embedded') return
  checkDirectory(eventStore.directory)
  if (existsSync(logPath(eventStore.directory))) return
  throw new NoLogError(
    `there is no log in ${eventStore.directory}: run this in the service's directory, or with its environment`,
  )
}

/** Opens both stores and the master key, and creates missing ones. @throws the errors of {@link openLog} and {@link openReachableReadModels} */
export async function openStores(configuration: Configuration) {
  const log = await openLog(configuration)
  try {
    const readModels = await openReachableReadModels(configuration)
    try {
      await requireCustomerKeys(markedStore(log.rawEventStore, log.box), log.customerKeys.store, configuration.keyStore)
    } catch (error) {
      await readModels.close()
      throw error
    }
    const close = async () => {
      await readModels.close()
      await log.close()
    }
    return { ...log, readModels, close }
  } catch (error) {
    await log.close()
    throw error
  }
}

/**
 * Opens the log with its keys. A false `writerThread` is for programs that append little: they end sooner without starting a thread.
 * @throws DirectoryError, MasterKeyError, CannotOpenLogError, StoreUnavailableError, ConfigurationError also if the log is in a different currency
 */
export async function openLog(configuration: Configuration, writerThread = true) {
  const { eventStore: log, readModels, keyStore } = configuration
  for (const each of [log, readModels, keyStore]) if (each.engine === 'embedded') checkDirectory(each.directory)
  // The key comes first: a log without its key looks like a log whose key is lost.
  const { keys, notices } = await masterKeysOf(configuration)
  const { eventStore, share: shareEventStore } = await openEventStore(configuration.eventStore, writerThread)
  return { ...(await openLogOver(eventStore, configuration, keys)), shareEventStore, notices }
}

/** Adds keys to an open log, and closes it on failure. @throws MasterKeyError, StoreUnavailableError */
export async function openLogOver(
  rawEventStore: EventStore,
  configuration: Configuration,
  masterKeys: MasterKeys['keys'],
  keyStore = openKeyStore(configuration),
) {
  try {
    // This also reports a wrong address or password before the first create fails.
    const keyRing = await openKeyRing(rawEventStore, masterKeys)
    const box = createSecretBox(keyRing)
    await requireEventKey(rawEventStore, keyRing)
    const customerKeys = new CustomerKeys(keyStore, box)
    const eventStore = protectedStore(rawEventStore, box, customerKeys)
    const { events } = await rawEventStore.readUnparsed({ maxCount: 1 })
    // Later only a person starts a tree: otherwise an edited log would be sealed again.
    if (events.length === 0) await startFirstTree(eventStore, box, configuration.audit.origin)
    // All processes agree on it before any of them accepts a transfer.
    const problem = await bindCurrency(eventStore, configuration.currency, systemClock()(), startContext)
    if (problem !== undefined) throw new ConfigurationError([`CURRENCY ${problem}`])
    await recordRestore(eventStore, configuration.dataDirectory)
    return { eventStore, rawEventStore, customerKeys, box, keyRing, close: () => eventStore.close() }
  } catch (error) {
    await rawEventStore.close()
    throw error
  }
}

const startContext = { actor: 'system:start', $correlationId: 'start', $causationId: 'start' }

/** Stops payouts on a restored log. Every process that can pay opens the log with its keys, so none pays before this. */
async function recordRestore(eventStore: EventStore, dataDirectory: string): Promise<void> {
  const mark = restoredMark(dataDirectory)
  if (!mark) return
  const { id, ...restore } = mark
  const context = { actor: 'system:restore', $correlationId: id, $causationId: id }
  await new IntegrityCommands(eventStore, systemClock()).recordRestore(restore, id, context)
}

/**
 * Returns the store for reads and appends: it adds and checks the codes of events, and encrypts and decrypts personal data. The raw store is
 * for copying, hashing and verifying the log. A forged event that any reader meets stops payouts.
 */
export function protectedStore(raw: EventStore, box: SecretBox, customerKeys: CustomerKeys): EventStore {
  const key = eventKeyIn(box)
  const reported = new Set<string>()
  let reporting = Promise.resolve()
  const report = ({ stream, revision }: Place) => {
    const place = `${stream}@${revision}`
    if (reported.has(place) || reported.size >= maxFindings) return
    reported.add(place)
    const finding = { kind: 'log', place, leafIndex: null, problem: forgedProblem } as const
    // The reader's own decision fails in any case. If the finding cannot be recorded now, the next reader records it. Reports run one at a
    // time, because a page of forged events would otherwise cause a hundred appends that conflict with each other.
    reporting = reporting.then(async () => {
      await commands.report([finding], 0, integrityContext).catch(() => reported.delete(place))
    })
  }
  const store = skipEvents(sealing(checkEventCodes(addEventCodes(raw, key), key, report), customerKeys))
  const commands = new IntegrityCommands(store, systemClock())
  return store
}

/** Returns the log with its events as stored, in which forged and skipped events are marked. */
export function markedStore(raw: EventStore, box: SecretBox): EventStore {
  return skipEvents(checkEventCodes(raw, eventKeyIn(box)))
}

/** Nothing is opened before the first key is requested. */
export function openCustomerKeys(configuration: Configuration, box: SecretBox): CustomerKeys {
  return new CustomerKeys(openKeyStore(configuration), box)
}

export function openKeyStore({ keyStore }: Pick<Configuration, 'keyStore'>): KeyStore {
  return keyStore.engine === 'embedded'
    ? openEmbeddedKeyStore(keyStore)
    : openCollectionKeyStore(() => openReadModels(keyStore))
}

/** @throws ReadModelsUnavailableError, ConfigurationError */
export async function openReachableReadModels(configuration: Configuration): Promise<ReadModels> {
  const readModels = await openListsAndReceipts(configuration)
  try {
    // This reports a wrong address or password now, instead of lists that stay empty.
    await readModels.listCollections()
    return readModels
  } catch (error) {
    await readModels.close()
    throw error
  }
}

interface SharedStore {
  readonly eventStore: EventStore
  /** Returns the handle for another thread of the process; `undefined` if each thread has its own connection. */
  share(): EventLogHandle | undefined
}

/**
 * Opens the stored log, without marks on skipped events. An EventStoreDB need not be reachable yet.
 * @throws CannotOpenLogError, ConfigurationError if a URL is invalid
 */
export async function openEventStore(location: Configuration['eventStore'], writerThread = true): Promise<SharedStore> {
  if (location.engine === 'embedded') {
    const eventStore = await openEventLog({ ...location, writerThread })
    return { eventStore, share: () => eventStore.share() }
  }
  // Loaded on demand: the embedded mode does not need the client's memory and start time.
  const { openEventStoreDb } = await import('../../event-store/eventstoredb/eventstoredb-event-store.js')
  const eventStore = namingVariable('EVENT_STORE_URL', () => openEventStoreDb(location))
  return { eventStore, share: () => undefined }
}

export async function attachEventStore(
  location: Configuration['eventStore'],
  handle: EventLogHandle | undefined,
): Promise<EventStore> {
  return handle ? attachEventLog(handle) : (await openEventStore(location)).eventStore
}

/** Opens the read models with the receipts, which can be on a different server. @throws the errors of {@link openReadModels} */
export async function openListsAndReceipts({
  readModels: location,
  receipts: receiptLocation,
}: Pick<Configuration, 'readModels' | 'receipts'>): Promise<ReadModels> {
  const lists = await openReadModels(location)
  if (isDeepStrictEqual(location, receiptLocation)) return lists
  try {
    return withReceipts(lists, await openReadModels(receiptLocation))
  } catch (error) {
    await lists.close()
    throw error
  }
}

/**
 * Opens the read models. A MongoDB need not be reachable yet.
 * @throws ReadModelsUnavailableError if a directory cannot be used, ConfigurationError if a URL is invalid
 */
export async function openReadModels(location: Configuration['readModels']): Promise<ReadModels> {
  // Loaded on demand: the driver costs memory and start time, and a command that only reads the log needs no read models.
  if (location.engine === 'embedded') {
    const { openEmbeddedReadModels } = await import('../../read-models/embedded/embedded-read-models.js')
    return openEmbeddedReadModels(location)
  }
  const { openMongodbReadModels } = await import('../../read-models/mongodb/mongodb-read-models.js')
  return namingVariable('READ_MODEL_URL or KEY_STORE_URL', () => openMongodbReadModels(location))
}

function namingVariable<Opened>(name: string, open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    throw error instanceof TypeError ? new ConfigurationError([`${name} ${error.message}`]) : error
  }
}
