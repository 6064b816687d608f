import { type EventStore, type Page, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { type Collection, type ReadModels, ReadModelsUnavailableError } from '../../src/read-models/read-models.js'
import { type Wallet, WalletOutcomeUnknownError, WalletUnavailableError } from '../../src/wallet/wallet.js'
import { scheduler } from './environment.js'
import type { Random } from './random.js'
import type { Owner } from './scheduler.js'

/** How often each kind of fault occurs, from 0 to 1. */
export interface FaultRates {
  readonly store: number
  readonly readModels: number
  readonly wallet: number
  readonly endpoint: number
  readonly network: number
  /** The part of the calls that take time. */
  readonly slow: number
}

export const noFaults: FaultRates = { store: 0, readModels: 0, wallet: 0, endpoint: 0, network: 0, slow: 0 }

/** The connection of a node to its stores. */
interface Link {
  readonly owner: Owner
  readonly random: Random
  readonly rates: () => FaultRates
  /** Whether the node cannot reach its stores. */
  readonly isCut: () => boolean
  /** The owner of operations that are executed after their callers have failed. */
  readonly late: Owner
}

type Fate = 'fine' | 'not executed' | 'response lost' | 'executed late' | 'executed twice'

const fates: readonly Fate[] = ['not executed', 'response lost', 'executed late', 'executed twice']

/**
 * Executes an operation like a server that may be slow or fail. A write can be executed although it fails, also later, and twice.
 */
async function over<Result>(
  { owner, random, rates, isCut, late }: Link,
  rate: number,
  isWrite: boolean,
  unavailable: (message: string) => Error,
  operation: () => Promise<Result>,
): Promise<Result> {
  if (isCut()) {
    await scheduler.sleep(random.below(50))
    throw unavailable('simulated: the server cannot be reached')
  }
  const fate = rate > 0 && random.chance(rate) ? (isWrite ? random.pick(fates) : 'not executed') : 'fine'
  const isSlow = random.chance(rates().slow)
  if (fate === 'fine' && !isSlow) return operation()
  if (isSlow) await scheduler.sleep(random.below(random.chance(0.1) ? 400 : 8))
  if (fate === 'not executed') throw unavailable('simulated: the operation was not executed')
  if (fate === 'executed late') {
    scheduler.add(random.below(2_000), () => void operation().catch(() => undefined), late)
    throw unavailable('simulated: no response in time')
  }
  const result = await operation()
  if (fate === 'executed twice') await operation().catch(() => undefined)
  if (isSlow) await scheduler.sleep(random.below(8))
  if (fate === 'response lost') throw unavailable('simulated: the response was lost')
  // The node's own task, because the operation may have waited for another node.
  if (scheduler.current !== owner) await hop(owner)
  return result
}

/** Continues in a task of the owner. */
function hop(owner: Owner): Promise<void> {
  return new Promise((resolve) => void scheduler.add(0, resolve, owner))
}

/** Returns the promise's result in a task of the owner, although a different one settles it. */
function inTaskOf<Result>(owner: Owner, promise: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    promise.then(
      (result) => scheduler.add(0, () => resolve(result), owner),
      (error: unknown) => scheduler.add(0, () => reject(error), owner),
    )
  })
}

/** A connection of a node to the log. Positions, conflicts and every other rule are those of the store. */
export function faultyStore(store: EventStore, link: Link): EventStore {
  const unavailable = (message: string) => new StoreUnavailableError(message)
  const rate = () => link.rates().store
  const read = <Result>(operation: () => Promise<Result>) => over(link, rate() / 4, false, unavailable, operation)
  const write = <Result>(operation: () => Promise<Result>) => over(link, rate(), true, unavailable, operation)
  const groups = store.persistentSubscriptions
  const onServer = <Result>(operation: () => Promise<Result>) =>
    read(() => scheduler.call(scheduler.world, 0, operation))
  return {
    append: (...args) => write(() => store.append(...args)),
    appendInOrder: (...args) => write(() => store.appendInOrder(...args)),
    readStream: (...args) => read(() => store.readStream(...args)),
    readEvents: (...args) => read(() => store.readEvents(...args)),
    readAll: (...args) => read(() => store.readAll(...args)),
    readUnparsed: (...args) => read(() => store.readUnparsed(...args)),
    async *subscribeToAll(options) {
      const pages = store.subscribeToAll(options)[Symbol.asyncIterator]()
      try {
        for (;;) {
          const { value, done } = await inTaskOf<IteratorResult<Page>>(link.owner, pages.next())
          if (done) return
          await read(async () => undefined)
          yield value
        }
      } finally {
        await pages.return?.()
      }
    },
    persistentSubscriptions: {
      create: (...args) => onServer(() => groups.create(...args)),
      update: (...args) => onServer(() => groups.update(...args)),
      delete: (...args) => onServer(() => groups.delete(...args)),
      info: (...args) => onServer(() => groups.info(...args)),
      listParked: (...args) => onServer(() => groups.listParked(...args)),
      replayParked: (...args) => onServer(() => groups.replayParked(...args)),
      async consume(group, options) {
        const consumer = await onServer(() => groups.consume(group, options))
        const iterator = consumer[Symbol.asyncIterator]()
        const next = async () => {
          const result = await inTaskOf(link.owner, iterator.next())
          await read(async () => undefined)
          return result
        }
        return {
          ack: (...ids) => onServer(() => consumer.ack(...ids)),
          nack: (...args) => onServer(() => consumer.nack(...args)),
          close: () => scheduler.call(scheduler.world, 0, () => consumer.close()),
          [Symbol.asyncDispose]: () => scheduler.call(scheduler.world, 0, () => consumer.close()),
          [Symbol.asyncIterator]: () => ({
            next,
            return: async () => {
              await scheduler.call(scheduler.world, 0, () => consumer.close())
              return { done: true, value: undefined }
            },
          }),
        }
      },
    },
    close: () => store.close(),
  }
}

/** A connection of a node to the read models. A write that was executed can fail, but not be executed later. */
export function faultyReadModels(readModels: ReadModels, link: Link): ReadModels {
  const unavailable = (message: string) => new ReadModelsUnavailableError(message)
  const rate = () => link.rates().readModels
  const read = <Result>(operation: () => Promise<Result>) => over(link, rate(), false, unavailable, operation)
  const write = async <Result>(operation: () => Promise<Result>) => {
    const result = await read(operation)
    if (link.random.chance(rate())) throw unavailable('simulated: the response was lost')
    return result
  }
  const collection = (name: string): Collection => {
    const found = readModels.collection(name)
    return {
      findOne: (...args) => read(() => found.findOne(...args)),
      find: (...args) => read(() => found.find(...args)),
      countDocuments: (...args) => read(() => found.countDocuments(...args)),
      bulkWrite: (...args) => write(() => found.bulkWrite(...args)),
      put: (...args) => write(() => found.put(...args)),
      search: (...args) => read(() => found.search(...args)),
      texts: (...args) => read(() => found.texts(...args)),
    }
  }
  return {
    collection,
    createIndexes: (...args) => write(() => readModels.createIndexes(...args)),
    createUnfilled: (...args) => write(() => readModels.createUnfilled(...args)),
    rename: (...args) => read(() => readModels.rename(...args)),
    drop: (...args) => write(() => readModels.drop(...args)),
    listCollections: () => read(() => readModels.listCollections()),
    close: () => readModels.close(),
  }
}

/** A connection of a node to the wallet. A collection or a refund whose response is lost has an unknown outcome. */
export function faultyWallet(wallet: Wallet, link: Link): Wallet {
  const call = async <Result>(isPayment: boolean, operation: () => Promise<Result>): Promise<Result> => {
    const rate = link.rates().wallet
    const isLost = isPayment && link.random.chance(rate)
    try {
      const result = await over(link, rate, false, (message) => new WalletUnavailableError(message), operation)
      if (!isLost) return result
    } catch (error) {
      if (!isLost) throw error
    }
    throw new WalletOutcomeUnknownError('simulated: the response of the wallet was lost')
  }
  return {
    logIn: (...args) => call(false, () => wallet.logIn(...args)),
    sendCode: (...args) => call(false, () => wallet.sendCode(...args)),
    verifyCode: (...args) => call(false, () => wallet.verifyCode(...args)),
    isTrusted: (...args) => call(false, () => wallet.isTrusted(...args)),
    requestTrust: (...args) => call(false, () => wallet.requestTrust(...args)),
    trust: (...args) => call(false, () => wallet.trust(...args)),
    collect: (...args) => call(true, () => wallet.collect(...args)),
    collectionOf: (...args) => call(false, () => wallet.collectionOf(...args)),
    refund: (...args) => call(true, () => wallet.refund!(...args)),
  }
}
