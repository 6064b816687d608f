import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { BankFileError } from '../bank-formats/bank-file-error.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { type BankPaymentDocument, collections } from '../read-models/documents.js'
import { ReadModelsUnavailableError } from '../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import type { BankSources } from './bank-statements.js'
import { fileAt, importFile } from './import-path.js'

const tickMs = 5_000
const pageSize = 200
/** How long a use of a payment is left to its own request. */
const graceMs = 60_000

interface Dependencies extends BankSources {
  readonly logger: Logger
  /** The directory into which the bank's files are delivered; `undefined` for none. */
  readonly directory: string | undefined
}

/** Finishes interrupted uses of payments, and imports the files of the watched directory, in one process at a time. */
export function startBankWork(deps: Dependencies): Part {
  return startUnderLease(deps, 'bank-statements', async ({ signal }, retry) => {
    const watch = watchDirectory(deps)
    const failed = new Set<string>()
    while (!signal.aborted) {
      await retryWhileUnavailable(async () => {
        await resumeUses(deps, failed)
        await watch()
      }, retry)
      await pause(tickMs, signal)
    }
  })
}

/** `failed` are the payments whose failure was logged. */
async function resumeUses({ bank, readModels, clock, logger }: Dependencies, failed: Set<string>): Promise<void> {
  const collection = readModels.collection(collections.bankPayments)
  const applying = await collection.find({ applying: true }, { sort: { position: 1 }, limit: pageSize })
  const before = Date.parse(clock()) - graceMs
  for (const { _id, assignedAt } of applying as readonly BankPaymentDocument[]) {
    if (assignedAt !== undefined && Date.parse(assignedAt) > before) continue
    try {
      await bank.resume(_id, contextOf())
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      // It is tried again every few seconds.
      if (!failed.has(_id))
        logger.error({ err: error }, 'a payment of a bank statement could not be recorded on its transfer')
      failed.add(_id)
    }
  }
}

/**
 * Returns a function that imports the complete files of the directory: those whose size has not changed since the last call. A file is moved
 * to `imported`, or to `failed` if it cannot be read. The matches wait for a person.
 */
export function watchDirectory(deps: Dependencies): () => Promise<void> {
  const { directory, logger } = deps
  let sizes = new Map<string, number>()
  let isFailing = false
  return async () => {
    if (directory === undefined) return
    try {
      sizes = await importComplete(deps, directory, sizes)
      isFailing = false
    } catch (error) {
      if (error instanceof StoreUnavailableError || error instanceof ReadModelsUnavailableError) throw error
      // It is read again every few seconds.
      if (!isFailing) logger.error({ err: error }, 'the directory of bank statements cannot be read or changed')
      isFailing = true
    }
  }
}

/** Returns the sizes of the files that are left. */
async function importComplete(deps: Dependencies, directory: string, sizes: ReadonlyMap<string, number>) {
  const left = new Map<string, number>()
  const entries = await readdir(directory, { withFileTypes: true })
  for (const { name } of entries.filter((each) => each.isFile() && !each.name.startsWith('.'))) {
    const file = join(directory, name)
    const { size } = await stat(file)
    if (sizes.get(name) !== size) {
      left.set(name, size)
      continue
    }
    const outcome = await importWatched(deps, file)
    await mkdir(join(directory, outcome), { recursive: true })
    // With the time, because a bank can use a name again.
    await rename(file, join(directory, outcome, `${deps.clock().replaceAll(':', '')} ${name}`))
  }
  return left
}

async function importWatched(deps: Dependencies, file: string): Promise<'imported' | 'failed'> {
  const { logger } = deps
  try {
    const result = await importFile(deps, fileAt(file), { mode: 'record', merchantIds: null }, contextOf())
    if (!result.accepted) {
      logger.error({ rule: result.refusal.rule }, 'a file of the directory of bank statements was rejected')
      return 'failed'
    }
    const { counts, statements } = result
    logger.info(
      { statements: statements.length, count: counts.certain + counts.uncertain + counts.unknown },
      'a bank file was imported',
    )
    return 'imported'
  } catch (error) {
    if (error instanceof StoreUnavailableError || error instanceof ReadModelsUnavailableError) throw error
    const rule = error instanceof BankFileError ? { rule: error.violation.rule } : { err: error }
    logger.error(rule, 'a file of the directory of bank statements cannot be read')
    return 'failed'
  }
}

function contextOf() {
  const id = randomUUID()
  return { actor: 'system:bank', $correlationId: id, $causationId: id }
}
