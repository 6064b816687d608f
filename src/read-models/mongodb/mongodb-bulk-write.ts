import {
  type AnyBulkWriteOperation,
  type BulkWriteResult,
  MongoBulkWriteError,
  type UpdateFilter,
  type WriteError,
} from 'mongodb'
import { DuplicateKeyError, type Update, type WriteOperation, type WriteResult } from '../read-models.js'
import { checkWrites } from '../writes.js'
import type { Connection, Stored } from './mongodb-connection.js'
import { duplicateKey, portError, rejection, serverCodes } from './mongodb-errors.js'
import { driverFilter } from './mongodb-filter.js'

type Operation = AnyBulkWriteOperation<Stored>
type Write = (operations: readonly Operation[]) => Promise<BulkWriteResult>
type Counts = { -readonly [count in keyof WriteResult]: number }

/** The outcome of a bulk. A failure is kept until all other operations are tried, as in any unordered bulk. */
interface Outcome {
  readonly counts: Counts
  /** The error to throw at the end. A more serious error replaces a duplicate key. */
  failure: Error | undefined
}

interface Failed {
  readonly operation: Operation
  readonly code: number
}

/** @throws DuplicateKeyError, ReadModelsUnavailableError, TypeError */
export async function bulkWrite(
  connection: Connection,
  name: string,
  operations: readonly WriteOperation[],
): Promise<WriteResult> {
  checkWrites(operations)
  const compiled = operations.map(driverOperation)
  const outcome: Outcome = { counts: counts(), failure: undefined }
  if (compiled.length === 0) return outcome.counts
  const { isFerretDb1 } = await connection.server()
  const write: Write = (operations) =>
    connection.withinTime(({ db }) => db.collection<Stored>(name).bulkWrite(operations, { ordered: false }))
  if (isFerretDb1) {
    await connection.sequentially(async () => {
      for (const operation of compiled) await apply(write, [operation], outcome)
    })
  } else await apply(write, compiled, outcome)
  if (outcome.failure) throw outcome.failure
  return outcome.counts
}

/**
 * An upsert whose guard fails on an existing document results in a duplicate key. The same error results if another writer inserts the
 * document at the same time; then the guard is not evaluated yet. So each of these upserts is repeated as an update.
 */
async function apply(write: Write, operations: readonly Operation[], outcome: Outcome) {
  const again: Operation[] = []
  for (const failed of await writeAll(write, operations, outcome.counts)) {
    const update = isDuplicate(failed) ? withoutUpsert(failed.operation) : undefined
    if (update) again.push(update)
    else fail(outcome, failed)
  }
  if (again.length === 0) return
  for (const failed of await writeAll(write, again, outcome.counts)) fail(outcome, failed)
}

/** Returns the operations that failed individually. @throws if the whole bulk failed */
async function writeAll(write: Write, operations: readonly Operation[], total: Counts) {
  try {
    add(total, await write(operations))
    return []
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw portError(error)
    const writeErrors: readonly WriteError[] = [error.writeErrors].flat()
    add(total, error.result)
    if (writeErrors.length === 0) {
      const whole = portError(error)
      if (whole instanceof DuplicateKeyError && operations.length === 1)
        return [{ operation: operations[0]!, code: serverCodes.duplicateKey }]
      throw whole
    }
    // The successful writes may not be durable.
    if (error.result.getWriteConcernError() !== undefined) throw rejection(undefined)
    return writeErrors.map(({ index, code }) => ({ operation: operations[index]!, code }))
  }
}

function fail(outcome: Outcome, failed: Failed): void {
  const failure = isDuplicate(failed) ? duplicateKey() : rejection(failed.code)
  if (outcome.failure === undefined || outcome.failure instanceof DuplicateKeyError) outcome.failure = failure
}

function isDuplicate({ code }: Failed): boolean {
  return code === serverCodes.duplicateKey
}

/** Returns `undefined` if the operation is not an upsert. */
function withoutUpsert(operation: Operation): Operation | undefined {
  if ('updateOne' in operation && operation.updateOne.upsert === true) {
    const { filter, update } = operation.updateOne
    return { updateOne: { filter, update } }
  }
  if ('replaceOne' in operation && operation.replaceOne.upsert === true) {
    const { filter, replacement } = operation.replaceOne
    return { replaceOne: { filter, replacement } }
  }
  return undefined
}

function driverOperation(operation: WriteOperation): Operation {
  if ('insertOne' in operation) return { insertOne: { document: operation.insertOne.document as Stored } }
  if ('updateOne' in operation) {
    const { filter, update, upsert } = operation.updateOne
    return { updateOne: { filter: driverFilter(filter), update: withoutEmpty(update), ...(upsert && { upsert }) } }
  }
  if ('replaceOne' in operation) {
    const { filter, replacement, upsert } = operation.replaceOne
    return { replaceOne: { filter: driverFilter(filter), replacement, ...(upsert && { upsert }) } }
  }
  return { deleteOne: { filter: driverFilter(operation.deleteOne.filter) } }
}

/** Removes operators without fields, which have no effect and which old servers reject. */
function withoutEmpty(update: Update): UpdateFilter<Stored> {
  return Object.fromEntries(Object.entries(update).filter(([, fields]) => Object.keys(fields).length > 0))
}

function counts(): Counts {
  return { insertedCount: 0, matchedCount: 0, modifiedCount: 0, upsertedCount: 0, deletedCount: 0 }
}

function add(total: Counts, more: WriteResult): void {
  for (const count of Object.keys(total) as (keyof Counts)[]) total[count] += more[count]
}
