import { Metadata, status } from '@grpc/grpc-js'
import { StoreUnavailableError } from '@transferd/event-log'

/** Ends a call with a status and the trailers from which clients make their errors. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly metadata = new Metadata()

  constructor(
    readonly code: status,
    readonly details: string,
    trailers: Readonly<Record<string, string>> = {},
  ) {
    super(details)
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, inHeader(value))
  }
}

/** What the real server answers whenever it did not foresee something. */
export function unforeseen(): CallError {
  return new CallError(status.UNKNOWN, 'Exception was thrown by handler.')
}

export function streamDeleted(stream: string): CallError {
  return new CallError(status.FAILED_PRECONDITION, `Event stream '${inHeader(stream)}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  })
}

export function accessDenied(): CallError {
  return new CallError(status.PERMISSION_DENIED, 'Access Denied.', { exception: 'access-denied' })
}

export function notAuthenticated(): CallError {
  return new CallError(status.UNAUTHENTICATED, 'Not Authenticated.')
}

/** Whatever was thrown, as what ends the call. What nobody foresaw is told to `onUnforeseen`. */
export function toCallError(error: unknown, onUnforeseen: (error: unknown) => void): CallError {
  if (error instanceof CallError) return error
  if (error instanceof StoreUnavailableError) return new CallError(status.UNAVAILABLE, inHeader(error.message))
  onUnforeseen(error)
  return unforeseen()
}

/** Headers hold printable ASCII; the rest goes percent-encoded. */
function inHeader(text: string): string {
  return /^[ -~]*$/.test(text) ? text : encodeURIComponent(text)
}
