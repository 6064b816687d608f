import type { Document, Scalar, WordSearch } from './read-models.js'

/** The field of an index over the words of documents. MongoDB stores it in the documents, and the port never returns it. */
export const wordsField = 'words'

/** How the documents of a collection are found by words. */
export interface Words {
  /** Returns the words of a document: without spaces, and the same for documents with the same {@link from}. */
  readonly of: (document: Document) => readonly string[]
  readonly from: readonly string[]
  /** The declared fields by which a search can be restricted. */
  readonly equal: readonly string[]
}

/** @throws TypeError */
export function checkWordSearch(
  words: Words | undefined,
  { words: prefixes, wholeWord, equal = {}, limit }: WordSearch,
): asserts words {
  if (!words) throw new TypeError('read models: the collection has no words')
  const wanted = wholeWord === undefined ? prefixes : [...prefixes, wholeWord]
  if (wanted.some((word) => word === '' || word.includes(' '))) throw new TypeError('read models: invalid word')
  const field = Object.keys(equal).find((field) => !words.equal.includes(field))
  if (field !== undefined) throw new TypeError(`read models: a search by words cannot be restricted by "${field}"`)
  if (wanted.length + Object.keys(equal).length === 0) throw new TypeError('read models: a search without words')
  if (!Number.isSafeInteger(limit) || limit < 1) throw new TypeError(`read models: invalid limit ${limit}`)
}

export function isFound(
  words: Words,
  document: Document,
  { words: prefixes, wholeWord, equal = {} }: WordSearch,
): boolean {
  const own = words.of(document)
  return (
    prefixes.every((prefix) => own.some((word) => word.startsWith(prefix))) &&
    (wholeWord === undefined || own.includes(wholeWord)) &&
    Object.entries(equal).every(([field, values]) => values.includes(document[field] as Scalar))
  )
}
