import { BSON, MongoError, MongoInvalidArgumentError, MongoServerError } from 'mongodb'
import { DuplicateKeyError, ReadModelsUnavailableError } from '../read-models.js'

export const serverCodes = {
  internalError: 1,
  namespaceExists: 48,
  notImplemented: 238,
  duplicateKey: 11_000,
} as const

/** What will be refused however often it is asked: an operation that makes no sense, or more than a document can hold. */
const refusedCodes: ReadonlySet<unknown> = new Set([
  ...[2, 9, 14, 15, 16, 17, 28, 40, 52, 54, 55, 56, 57, 66, 67, 72, 73, 76, 85, 86, 168],
  ...[10_334, 17_280, 17_419, 17_420, 31_249],
])

/** Cursors that ended because a rebuild replaced their collection, or that a new primary knows nothing of. */
const cursorLostCodes: ReadonlySet<unknown> = new Set([43, 175, 237])

export function isCursorLost(error: unknown): boolean {
  return error instanceof MongoServerError && cursorLostCodes.has(error.code)
}

/** A bulk throws an error of its own with the fields of the one it met; no other has this one, which describes the servers. */
export function foundNoServer(error: unknown): boolean {
  return error instanceof MongoError && 'reason' in error && error.reason !== undefined
}

export function codeOf(error: unknown): unknown {
  return error instanceof MongoServerError ? error.code : undefined
}

/**
 * The driver's errors as the port's. They are not kept as causes: they hold commands, and servers quote documents in messages.
 * What is neither known nor clearly wrong counts as unavailable, which is tried again: a projection that stood still for an error
 * nobody foresaw would stand until somebody came.
 */
export function portError(error: unknown): unknown {
  if (error instanceof BSON.BSONError || error instanceof MongoInvalidArgumentError)
    return new TypeError(`read models: ${error.message}`)
  if (!(error instanceof MongoError)) return error
  if (error.code === serverCodes.duplicateKey || isFerretDuplicate(error)) return duplicateKey()
  if (refusedCodes.has(error.code)) return new TypeError(`read models: the server refuses this: ${nameOf(error)}`)
  return new ReadModelsUnavailableError(`the read models are unavailable: ${nameOf(error)}`)
}

export function refusal(code: number | undefined): Error {
  if (refusedCodes.has(code)) return new TypeError(`read models: the server refuses this: code ${code}`)
  return new ReadModelsUnavailableError(`the read models are unavailable: code ${code}`)
}

/** FerretDB 1 has no other word for an upsert that meets a document. */
function isFerretDuplicate({ code, message }: MongoError): boolean {
  return code === serverCodes.internalError && message.includes('UNIQUE constraint failed')
}

export function duplicateKey(): DuplicateKeyError {
  return new DuplicateKeyError('a document with this _id is there already')
}

function nameOf(error: MongoError): string {
  const codeName: unknown = error instanceof MongoServerError ? error.codeName : undefined
  if (typeof codeName === 'string') return codeName
  if (error.code !== undefined) return `${error.name}, code ${error.code}`
  // Without a code it is the driver's own, of hosts and sockets.
  return `${error.name}: ${error.message}`
}
