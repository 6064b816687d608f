import {
  type AnyBulkWriteOperation,
  type Collection,
  MongoBulkWriteError,
  type UpdateFilter,
  type WriteError,
} from 'mongodb'
import { DuplicateKeyError, type Update, type WriteOperation, type WriteResult } from '../read-models.js'
import { checkBulkSize, checkFieldName, checkId, checkJson, checkOperators } from '../writes.js'
import type { Connection, Stored } from './connection.js'
import { changing, duplicateKey, portError, refusal, serverCodes } from './errors.js'
import { driverFilter } from './filter.js'

type Operation = AnyBulkWriteOperation<Stored>
type Counts = { -readonly [count in keyof WriteResult]: number }

/** What became of a bulk: an operation's failure is kept until all others were tried, as in any unordered bulk. */
interface Outcome {
  readonly counts: Counts
  /** Thrown in the end; what is worse than a duplicate comes before it. */
  failure: Error | undefined
}

interface Failed {
  readonly operation: Operation
  readonly code: number
  readonly message: string
}

/** @throws DuplicateKeyError, ReadModelsUnavailableError, TypeError */
export async function bulkWrite(
  connection: Connection,
  name: string,
  operations: readonly WriteOperation[],
): Promise<WriteResult> {
  checkBulkSize(operations)
  const compiled = operations.map(driverOperation)
  const outcome: Outcome = { counts: counts(), failure: undefined }
  if (compiled.length === 0) return outcome.counts
  const { db, isFerretDb1 } = await connection.server()
  const collection = db.collection<Stored>(name)
  if (isFerretDb1) {
    await connection.alone(async () => {
      for (const operation of compiled) await apply(collection, [operation], outcome)
    })
  } else await apply(collection, compiled, outcome)
  if (outcome.failure) throw outcome.failure
  return outcome.counts
}

/**
 * An upsert that meets a document it did not see fails with a duplicate key. Mostly its guard had failed, and nothing is to be
 * done. But another writer may have inserted the document in between, and then the guard has not been judged yet: so each of them is
 * tried again as an update, which settles it.
 */
async function apply(collection: Collection<Stored>, operations: readonly Operation[], outcome: Outcome) {
  const again: Operation[] = []
  const unclear: string[] = []
  for (const failed of await writeAll(collection, operations, outcome.counts)) {
    const update = isDuplicate(failed) ? withoutUpsert(failed.operation) : undefined
    if (update === undefined) fail(outcome, failed)
    else {
      again.push(update.operation)
      if (!isDuplicateId(failed)) unclear.push(update.id)
    }
  }
  if (again.length === 0) return
  for (const failed of await writeAll(collection, again, outcome.counts)) fail(outcome, failed)
  if (unclear.length === 0) return
  // Where there is still no document of that _id, the upsert met another one's unique value.
  const found = await changing(() => collection.countDocuments({ _id: { $in: unclear } }))
  if (found < new Set(unclear).size) outcome.failure ??= duplicateKey()
}

/** Hands back the operations that failed on their own. @throws when the bulk as a whole did */
async function writeAll(collection: Collection<Stored>, operations: readonly Operation[], total: Counts) {
  try {
    add(total, await collection.bulkWrite(operations, { ordered: false }))
    return []
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw portError(error)
    const writeErrors: readonly WriteError[] = [error.writeErrors].flat()
    add(total, error.result)
    if (writeErrors.length === 0) {
      const whole = portError(error)
      if (whole instanceof DuplicateKeyError && operations.length === 1)
        return [{ operation: operations[0]!, code: serverCodes.duplicateKey, message: '' }]
      throw whole
    }
    // The writes that did not fail may not last.
    if (error.result.getWriteConcernError() !== undefined) throw refusal(undefined)
    return writeErrors.map(({ index, code, errmsg }) => ({
      operation: operations[index]!,
      code,
      message: errmsg ?? '',
    }))
  }
}

function fail(outcome: Outcome, failed: Failed): void {
  const failure = isDuplicate(failed) ? duplicateKey() : refusal(failed.code)
  if (outcome.failure === undefined || outcome.failure instanceof DuplicateKeyError) outcome.failure = failure
}

function isDuplicate({ code }: Failed): boolean {
  return code === serverCodes.duplicateKey
}

function isDuplicateId({ message }: Failed): boolean {
  return /^E11000 duplicate key error collection: \S+ index: _id_ /.test(message)
}

/** Undefined for what is no upsert. */
function withoutUpsert(operation: Operation): { readonly operation: Operation; readonly id: string } | undefined {
  if ('updateOne' in operation && operation.updateOne.upsert === true) {
    const { filter, update } = operation.updateOne
    return { operation: { updateOne: { filter, update } }, id: filter._id as string }
  }
  if ('replaceOne' in operation && operation.replaceOne.upsert === true) {
    const { filter, replacement } = operation.replaceOne
    return { operation: { replaceOne: { filter, replacement } }, id: filter._id as string }
  }
  return undefined
}

function driverOperation(operation: WriteOperation): Operation {
  if ('insertOne' in operation) {
    const { document } = operation.insertOne
    checkId(document._id)
    checkJson(document, '_id', 0)
    return { insertOne: { document: document as Stored } }
  }
  if ('updateOne' in operation) {
    const { filter, update, upsert } = operation.updateOne
    checkOperators(update)
    for (const [operator, fields] of Object.entries(update)) checkFields(operator, fields)
    return { updateOne: { filter: guardFilter(filter), update: withoutEmpty(update), ...(upsert && { upsert }) } }
  }
  if ('replaceOne' in operation) {
    const { filter, replacement, upsert } = operation.replaceOne
    if (replacement._id !== filter._id) throw new TypeError('read models: a replacement keeps its _id')
    checkJson(replacement, '_id', 0)
    return { replaceOne: { filter: guardFilter(filter), replacement, ...(upsert && { upsert }) } }
  }
  if ('deleteOne' in operation) return { deleteOne: { filter: guardFilter(operation.deleteOne.filter) } }
  operation satisfies never
  throw new TypeError(`read models: unknown write operation ${Object.keys(operation).join(', ')}`)
}

function guardFilter(filter: { readonly _id: string }) {
  checkId(filter._id)
  for (const path in filter)
    if (path.startsWith('$')) throw new TypeError(`read models: ${path} is not supported in the filter of a write`)
  return driverFilter(filter)
}

function checkFields(operator: string, fields: { readonly [path: string]: unknown }): void {
  for (const path in fields) {
    for (const segment of path.split('.')) checkFieldName(segment, path)
    const value = fields[path]
    if (operator === '$inc' && typeof value !== 'number') throw new TypeError(`read models: $inc of "${path}"`)
    checkJson(value, path, 0)
  }
}

/** Old servers refuse an operator without fields; it means nothing to any. */
function withoutEmpty(update: Update): UpdateFilter<Stored> {
  return Object.fromEntries(Object.entries(update).filter(([, fields]) => Object.keys(fields).length > 0))
}

function counts(): Counts {
  return { insertedCount: 0, matchedCount: 0, modifiedCount: 0, upsertedCount: 0, deletedCount: 0 }
}

function add(total: Counts, more: WriteResult): void {
  for (const count of Object.keys(total) as (keyof Counts)[]) total[count] += more[count]
}
