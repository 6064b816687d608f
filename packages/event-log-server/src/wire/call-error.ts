import { Metadata, status } from '@grpc/grpc-js'
import { StoreUnavailableError } from '@transferd/event-log'

/** Ends a call with a status and with the trailers from which clients create their errors. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly metadata = new Metadata()

  constructor(
    readonly code: status,
    readonly details: string,
    trailers: Readonly<Record<string, string>> = {},
  ) {
    super(details)
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, headerText(value))
  }
}

/** Returns the error with which EventStoreDB responds to unexpected requests. */
export function unexpectedError(): CallError {
  return new CallError(status.UNKNOWN, 'Exception was thrown by handler.')
}

export function streamDeleted(stream: string): CallError {
  return new CallError(status.FAILED_PRECONDITION, `Event stream '${headerText(stream)}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  })
}

export function accessDenied(): CallError {
  return new CallError(status.PERMISSION_DENIED, 'Access Denied.', { exception: 'access-denied' })
}

export function notAuthenticated(): CallError {
  return new CallError(status.UNAUTHENTICATED, 'Unauthenticated.')
}

/** Converts an error to the one that ends the call, and reports unexpected errors to `onFault`. */
export function toCallError(error: unknown, onFault: (error: unknown) => void): CallError {
  if (error instanceof CallError) return error
  if (error instanceof StoreUnavailableError) return new CallError(status.UNAVAILABLE, headerText(error.message))
  onFault(error)
  return unexpectedError()
}

/** Percent-encodes text unless it is printable ASCII, which is all that headers can contain. */
export function headerText(text: string): string {
  return /^[ -~]*$/.test(text) ? text : encodeURIComponent(text)
}
