import type { TransferDocument } from '../read-models/documents.js'
import { queriedWords, textWords } from '../read-models/transfer-words.js'
import type { ListSources } from './transfer-queries.js'
import { searchTransfers } from './transfer-search.js'

interface Found {
  readonly type: 'transfer' | 'merchant' | 'user'
  readonly id: string
  readonly title: string
  readonly subtitle: string
  /** Set for a transfer. */
  readonly transfer: TransferDocument | null
}

interface Named {
  readonly id: string
  readonly name: string
  /** Another text by which it is found and distinguished. */
  readonly also: string
}

interface SearchQuery {
  readonly text: string
  /** The merchants whose transfers the viewer is allowed to see; `undefined` for all. */
  readonly merchantIds: readonly string[] | undefined
  /** The merchants and users that the viewer is allowed to see. */
  readonly merchants: readonly Named[]
  readonly users: readonly Named[]
}

/** The limit of each type, so that many transfers hide no person. */
const maxFound = 6

/**
 * Finds transfers as {@link searchTransfers} does, and merchants and users by the words of their name and of their other text. Returns at
 * most {@link maxFound} of each. @throws ReadModelsUnavailableError
 */
export async function search(sources: ListSources, query: SearchQuery): Promise<readonly Found[]> {
  const text = query.text.trim()
  if (text === '') return []
  const { items } = await searchTransfers(sources, { merchantIds: query.merchantIds, text, limit: maxFound })
  return [...items.map(foundTransfer), ...named('merchant', query.merchants, text), ...named('user', query.users, text)]
}

function foundTransfer(transfer: TransferDocument): Found {
  const { _id: id, referenceId: title, name: subtitle } = transfer
  return { type: 'transfer', id, title, subtitle, transfer }
}

function named(type: 'merchant' | 'user', all: readonly Named[], text: string): Found[] {
  const readings = queriedWords(text)
  return all
    .filter(({ name, also }) => {
      const words = [...textWords(name), ...textWords(also)]
      return readings.some((prefixes) => prefixes.every((prefix) => words.some((word) => word.startsWith(prefix))))
    })
    .slice(0, maxFound)
    .map(({ id, name, also }) => ({ type, id, title: name, subtitle: also, transfer: null }))
}
