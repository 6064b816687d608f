import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import type { CustomerKeys } from '../../privacy/customer-keys.js'
import { allProjections } from '../../projections/all-projections.js'
import { readPointer } from '../../projections/projection-pointer.js'
import { projectionLags } from '../../projections/projection-status.js'
import { startProjections } from '../../projections/start-projections.js'
import type { ReadModels } from '../../read-models/read-models.js'
import type { Configuration } from '../configuration/configuration.js'
import { createLogger } from '../logging/logger.js'
import { openReadModels } from './stores.js'

const checkEveryMs = 100

type Stores = { readonly eventStore: EventStore; readonly readModels: ReadModels; readonly clock: Clock }

/**
 * Waits until every list has caught up with the log, and runs the projections if no service does. Returns false if the time does not suffice.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function refreshLists(
  { eventStore: store, readModels, clock }: Stores,
  withinMs: number,
): Promise<boolean> {
  const untilMs = performance.now() + withinMs
  const isCurrent = async () => (await projectionLags({ store, readModels }, clock)).every(({ behind }) => !behind)
  if (await isCurrent()) return true
  const projections = startProjections({ store, readModels, clock, logger: createLogger('silent', 'privacy') })
  try {
    while (performance.now() < untilMs) {
      if (await isCurrent()) return true
      await sleep(checkEveryMs)
    }
    return false
  } finally {
    await projections.stop()
  }
}

/**
 * Removes erased data from the files of keys and lists, and drops the previous builds of projections, to which a rollback could return.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function compactForgotten(
  { readModels: location, receipts }: Configuration,
  { customerKeys, readModels }: { readonly customerKeys: CustomerKeys; readonly readModels: ReadModels },
): Promise<void> {
  for (const { name } of allProjections) {
    const { built, previous } = (await readPointer(readModels, name)) ?? {}
    for (const build of [built, previous]) if (build) await readModels.drop(build.collection)
  }
  await customerKeys.store.compact()
  for (const each of isDeepStrictEqual(location, receipts) ? [location] : [location, receipts]) {
    if (each.engine !== 'embedded') continue
    const { compactEmbeddedReadModels } = await import('../../read-models/embedded/maintenance.js')
    await compactEmbeddedReadModels(each)
  }
}

/**
 * Opens empty read models in a directory that only this process uses, and that is removed when they are closed. Directories of killed
 * processes are removed first. @throws ReadModelsUnavailableError
 */
export async function openTemporaryReadModels(dataDirectory: string, purpose: string) {
  mkdirSync(dataDirectory, { recursive: true })
  for (const name of readdirSync(dataDirectory)) {
    const [, pid] = new RegExp(`^${purpose}-(\\d+)$`).exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(dataDirectory, name), { recursive: true, force: true })
  }
  const directory = join(dataDirectory, `${purpose}-${process.pid}`)
  rmSync(directory, { recursive: true, force: true })
  const readModels = await openReadModels({ engine: 'embedded', directory })
  return {
    readModels,
    async close() {
      await readModels.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
