import {
  ConsumerDroppedError,
  InvalidSettingsError,
  MaximumSubscribersReachedError,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
  StoreUnavailableError,
} from '../event-store.js'

/** The gRPC status codes that are used here. */
const cancelled = 1
const internal = 13
const unavailable = 14
const unauthenticated = 16
const permissionDenied = 7

/** An error of gRPC, or of the client. */
interface CallError extends Error {
  readonly code?: number
  readonly details?: string
  /** The client's name of the error. */
  readonly type?: string
  readonly metadata?: { get(name: string): readonly unknown[] }
}

/** Returns the server's name of the error, such as `access-denied`. */
function kindOf(error: CallError): string | undefined {
  return error.type ?? error.metadata?.get('exception')[0]?.toString()
}

/** Returns whether the connection is lost, and not only the call. */
export function meansLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, details } = error as CallError
  const kind = kindOf(error as CallError)
  if (kind === 'unavailable' || kind === 'cancelled') return true
  if (kind !== undefined && kind !== 'unknown') return false
  if (code === cancelled) return details !== 'Cancelled on client'
  // 13: the connection broke in the middle of a message, or the other side does not speak this protocol.
  return code === unavailable || code === internal || error.message.startsWith('Failed to discover')
}

const errorsByKind: { readonly [kind: string]: new (message: string) => Error } = {
  'persistent-subscription-exists': PersistentSubscriptionExistsError,
  'persistent-subscription-does-not-exist': PersistentSubscriptionMissingError,
  'persistent-subscription-failed': InvalidSettingsError,
  'persistent-subscription-dropped': ConsumerDroppedError,
  'maximum-subscribers-reached': MaximumSubscribersReachedError,
}

/** Returns an error of the port for the error of a call. Its message holds no secrets: neither gRPC nor the client repeats any. */
export function toStoreError(error: unknown, what: string): Error {
  if (error instanceof StoreUnavailableError || error instanceof ConsumerDroppedError) return error
  if (!(error instanceof Error)) return new StoreUnavailableError(`${what}: ${String(error)}`)
  const { code } = error as CallError
  const kind = kindOf(error as CallError)
  const PortError = errorsByKind[kind ?? '']
  if (PortError) return new PortError(`${what}: ${error.message}`)
  const isDenied = kind === 'access-denied' || code === unauthenticated || code === permissionDenied
  const reason = isDenied ? 'access denied; the user of the URL must exist and be one of $admins' : error.message
  return new StoreUnavailableError(`${what}: ${reason}`)
}
