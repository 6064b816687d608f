import { UnreadableEventError } from '../event-store/event-codec.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { SearchError } from '../queries/transfer-search.js'
import { ReadModelsUnavailableError } from '../read-models/read-models.js'

export type ToReader = { readonly id: number } & (
  | {
      readonly kind: 'pages' | 'walks' | 'files'
      /** The name in the list of this kind in `reader-tasks.ts`. */
      readonly name: string
      readonly query: unknown
    }
  /** Requests the next page of a file. */
  | { readonly kind: 'next' }
  | { readonly kind: 'cancel' }
)

export type FromReader = { readonly id: number } & (
  | { readonly kind: 'response'; readonly value: unknown; readonly rows: number }
  /** A page of a file as text in UTF-8, or `null` at its end. */
  | { readonly kind: 'page'; readonly bytes: Uint8Array | null }
  | { readonly kind: 'failed'; readonly error: SentError }
)

type SentError = Pick<Error, 'name' | 'message' | 'stack'>

/** The errors that a message turns into again. Any other error keeps only its name and texts. */
const known = { StoreUnavailableError, ReadModelsUnavailableError, UnreadableEventError, SearchError }

export function sentError(error: unknown): SentError {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  const fields = Object.hasOwn(known, name) ? { ...(error as Error) } : {}
  return { ...fields, name, message, stack }
}

export function receivedError(error: SentError): Error {
  const type = Object.hasOwn(known, error.name) ? known[error.name as keyof typeof known] : Error
  return Object.assign(Object.create(type.prototype), error)
}
