import { randomUUID } from 'node:crypto'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import { formatPosition } from '../../src/event-store/event-store.js'
import { allProjections } from '../../src/projections/all-projections.js'
import { readPointer } from '../../src/projections/projection-pointer.js'
import type { RunnerDependencies } from '../../src/projections/projection-runner.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { wholeLog } from '../support/expected-documents.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

export interface TestStores extends RunnerDependencies {
  readonly directory: string
  readonly transfers: TransferCommands
  readonly logLines: string[]
  /** Creates deposits sequentially, completes every second one, and returns their trackingIds. */
  work(count: number): Promise<string[]>
  /** Resolves when all projections, or the named ones, have reached the end of the log. */
  caughtUp(names?: readonly string[]): Promise<void>
}

const context = { actor: 'test', $correlationId: 'c', $causationId: 'c' }
const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'

/** Opens a new log and read models on disk, with commands that fill the log. */
export async function testStores(t: Test, directory = tempDirectory(t)): Promise<TestStores> {
  const store = await openTestEventStore(directory)
  const readModels = await openTestReadModels(directory)
  t.teardown(async () => {
    await readModels.close()
    await store.close()
    await removeTestReadModels(directory)
  })
  const clock = () => new Date().toISOString()
  const transfers = transferCommands(store, clock, async () => merchantSettings)
  const logLines: string[] = []
  return {
    directory,
    store,
    readModels,
    clock,
    transfers,
    logLines,
    logger: pino({ level: 'debug' }, { write: (line: string) => logLines.push(line) }),
    async work(count) {
      return Promise.all(
        Array.from({ length: count }, async (_, n) => {
          const trackingId = await createDeposit(transfers, 30)
          if (n % 2 === 0) await transfers.act(trackingId, { type: 'Complete' }, context)
          return trackingId
        }),
      )
    },
    async caughtUp(names = allProjections.map(({ name }) => name)) {
      const log = await wholeLog(store)
      for (const { name, streamPrefixes } of allProjections) {
        const last = log.filter(({ stream }) => streamPrefixes.some((prefix) => stream.startsWith(prefix))).at(-1)
        if (!last || !names.includes(name)) continue
        await until(async () => {
          const position = (await readPointer(readModels, name))?.served.progress.position
          return position !== undefined && Number(position) >= Number(formatPosition(last.position))
        })
      }
    },
  }
}

export async function createDeposit(transfers: TransferCommands, expiryMinutes: number): Promise<string> {
  const request = { ...depositRequest, merchantId, referenceId: randomUUID(), expiryMinutes }
  const result = await transfers.create(request, context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  return result.transfer.trackingId
}

/** Returns the read models with each bulk write passed through `around`. */
export function aroundWrites(
  readModels: ReadModels,
  around: (collection: string, write: () => Promise<unknown>) => Promise<unknown>,
): ReadModels {
  return {
    createIndexes: (name, indexes) => readModels.createIndexes(name, indexes),
    createUnfilled: (name, indexes) => readModels.createUnfilled(name, indexes),
    rename: (from, to) => readModels.rename(from, to),
    drop: (name) => readModels.drop(name),
    listCollections: () => readModels.listCollections(),
    close: () => readModels.close(),
    collection(name) {
      const collection = readModels.collection(name)
      return {
        findOne: (filter, options) => collection.findOne(filter, options),
        find: (filter, options) => collection.find(filter, options),
        countDocuments: (filter, options) => collection.countDocuments(filter, options),
        search: (search) => collection.search(search),
        texts: (after, limit) => collection.texts(after, limit),
        put: async (documents) => void (await around(name, () => collection.put(documents))),
        bulkWrite: (operations) =>
          around(name, () => collection.bulkWrite(operations)) as ReturnType<typeof collection.bulkWrite>,
      }
    },
  }
}
