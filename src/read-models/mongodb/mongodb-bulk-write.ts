import { type AnyBulkWriteOperation, type BulkWriteResult, MongoBulkWriteError, type WriteError } from 'mongodb'
import { declarationOf } from '../documents.js'
import type { WriteOperation, WriteResult } from '../read-models.js'
import { storedOperation } from './bson-fields.js'
import type { Connection, Stored } from './mongodb-connection.js'
import { duplicateKey, portError, rejection, serverCodes } from './mongodb-errors.js'

type Counts = { -readonly [count in keyof WriteResult]: number }
type Operation = AnyBulkWriteOperation<Stored>
type Write = (operations: readonly Operation[]) => Promise<BulkWriteResult>

interface Failed {
  readonly operation: Operation
  readonly code: number
}

/** Applies checked operations. @throws DuplicateKeyError, ReadModelsUnavailableError, TypeError */
export async function bulkWrite(connection: Connection, name: string, checked: readonly WriteOperation[]) {
  const counts = { matchedCount: 0, upsertedCount: 0, deletedCount: 0 }
  if (checked.length === 0) return counts
  const fields = declarationOf(name)?.fields ?? {}
  const operations = checked.map((operation) => storedOperation(operation, fields))
  const write: Write = (some) =>
    connection.withinTime((db) => db.collection<Stored>(name).bulkWrite(some, { ordered: false }))
  const codes = await apply(write, operations, counts)
  // Any other error is more serious than a duplicate key.
  const code = codes.find((each) => each !== serverCodes.duplicateKey) ?? codes[0]
  if (code !== undefined) throw code === serverCodes.duplicateKey ? duplicateKey() : rejection(code)
  return counts
}

/**
 * Returns the codes of the operations that failed. An upsert whose guard fails on an existing document results in a duplicate key. The same
 * error results if another writer inserts the document at the same time; then the guard is not evaluated yet. So each of these upserts is
 * repeated as an update.
 */
async function apply(write: Write, operations: readonly Operation[], counts: Counts): Promise<number[]> {
  const again: Operation[] = []
  const codes: number[] = []
  for (const { operation, code } of await writeAll(write, operations, counts)) {
    const update = code === serverCodes.duplicateKey ? withoutUpsert(operation) : undefined
    if (update) again.push(update)
    else codes.push(code)
  }
  if (again.length === 0) return codes
  return [...codes, ...(await writeAll(write, again, counts)).map(({ code }) => code)]
}

/** Returns the operations that failed individually. @throws if the whole bulk failed */
async function writeAll(write: Write, operations: readonly Operation[], total: Counts): Promise<Failed[]> {
  try {
    add(total, await write(operations))
    return []
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw portError(error)
    const writeErrors: readonly WriteError[] = [error.writeErrors].flat()
    add(total, error.result)
    if (writeErrors.length === 0) throw portError(error)
    // The successful writes may not be durable.
    if (error.result.getWriteConcernError() !== undefined) throw rejection(undefined)
    return writeErrors.map(({ index, code }) => ({ operation: operations[index]!, code }))
  }
}

function withoutUpsert(operation: Operation): Operation | undefined {
  if ('updateOne' in operation && operation.updateOne.upsert === true)
    return { updateOne: { ...operation.updateOne, upsert: false } }
  if ('replaceOne' in operation && operation.replaceOne.upsert === true)
    return { replaceOne: { ...operation.replaceOne, upsert: false } }
  return undefined
}

function add(total: Counts, more: WriteResult): void {
  for (const count of Object.keys(total) as (keyof Counts)[]) total[count] += more[count]
}
