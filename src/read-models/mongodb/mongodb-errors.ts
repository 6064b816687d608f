import { BSON, MongoError, MongoInvalidArgumentError, MongoServerError } from 'mongodb'
import { DuplicateKeyError, ReadModelsUnavailableError } from '../read-models.js'

export const serverCodes = {
  namespaceExists: 48,
  duplicateKey: 11_000,
} as const

/** Codes of operations that fail again on every attempt: they are invalid, or a document is too large. */
const rejectedCodes: ReadonlySet<unknown> = new Set([
  ...[2, 9, 14, 15, 16, 17, 28, 40, 52, 54, 55, 56, 57, 66, 67, 72, 73, 76, 85, 86, 168],
  ...[10_334, 17_280, 17_419, 17_420, 31_249],
])

/** Codes of cursors that ended because their collection was dropped or the primary changed. */
const cursorLostCodes: ReadonlySet<unknown> = new Set([43, 175, 237])

export function isCursorLost(error: unknown): boolean {
  return error instanceof MongoServerError && cursorLostCodes.has(error.code)
}

/** Only errors without a suitable server have a `reason`, which describes the servers; a bulk copies it to its own error. */
export function foundNoServer(error: unknown): boolean {
  return error instanceof MongoError && 'reason' in error && error.reason !== undefined
}

export function codeOf(error: unknown): unknown {
  return error instanceof MongoServerError ? error.code : undefined
}

/**
 * Converts the driver's errors to the port's. They are not kept as causes, because they contain commands, and servers quote documents in
 * messages. An unknown error counts as unavailable and is retried; otherwise an unforeseen error would stop a projection until an operator
 * intervenes.
 */
export function portError(error: unknown): unknown {
  if (error instanceof BSON.BSONError || error instanceof MongoInvalidArgumentError)
    return new TypeError(`read models: ${error.message}`)
  if (!(error instanceof MongoError)) return error
  if (error.code === serverCodes.duplicateKey) return duplicateKey()
  if (rejectedCodes.has(error.code)) return new TypeError(`read models: the server rejects this: ${nameOf(error)}`)
  return new ReadModelsUnavailableError(`the read models are unavailable: ${nameOf(error)}`)
}

export function rejection(code: number | undefined): Error {
  if (rejectedCodes.has(code)) return new TypeError(`read models: the server rejects this: code ${code}`)
  return new ReadModelsUnavailableError(`the read models are unavailable: code ${code}`)
}

export function duplicateKey(): DuplicateKeyError {
  return new DuplicateKeyError('a document with this _id already exists')
}

function nameOf(error: MongoError): string {
  const codeName: unknown = error instanceof MongoServerError ? error.codeName : undefined
  if (typeof codeName === 'string') return codeName
  if (error.code !== undefined) return `${error.name}, code ${error.code}`
  // Errors without a code come from the driver and mention only hosts and sockets.
  return `${error.name}: ${error.message}`
}
