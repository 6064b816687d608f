import type {
  Condition,
  Document,
  Filter,
  FindOptions,
  WordSearch,
  WordSearchPage,
  WriteOperation,
} from '../read-models.js'
import { isFound, type Words, wordsField } from '../word-search.js'

const maxRead = 1_000
/** Follows all characters of a word. */
const last = '\u{10ffff}'

interface Documents {
  find(filter: Filter, options: FindOptions): Promise<readonly Document[]>
  count(filter: Filter, limit: number): Promise<number>
}

/**
 * Reads all documents of a rare word or value, or else the next documents in their order, and checks the other words here: no index returns the
 * documents of a prefix in order, so that the server would read all of them for one page.
 */
export async function searchWords(
  documents: Documents,
  order: string,
  words: Words,
  search: WordSearch,
): Promise<WordSearchPage> {
  const { words: prefixes, wholeWord, equal = {}, direction, after, limit } = search
  const lists: readonly Filter[] = [
    ...prefixes.map((prefix) => ({ [wordsField]: startingWith(prefix) })),
    ...(wholeWord === undefined ? [] : [{ [wordsField]: wholeWord }]),
    ...Object.entries(equal).map(([field, values]) => ({ [field]: { $in: values } })),
  ]
  let rare: Filter = {}
  for (const list of lists) {
    if ((await documents.count(list, maxRead)) === maxRead) continue
    rare = list
    break
  }
  const range = after === undefined ? {} : { [order]: direction === 1 ? { $gt: after } : { $lt: after } }
  const read = await documents.find({ ...rare, ...range }, { sort: { [order]: direction }, limit: maxRead })
  const found = read.filter((document) => isFound(words, document, search))
  const page = found.slice(0, limit)
  const end = found.length > limit ? page.at(-1) : read.length === maxRead ? read.at(-1) : undefined
  return { documents: page, next: end ? (end[order] as number) : null }
}

/** One element must meet both conditions. */
function startingWith(prefix: string): Condition & { readonly $elemMatch: object } {
  return { $elemMatch: { $gte: prefix, $lt: prefix + last } }
}

/** Adds the words to the documents of inserts and replacements. @throws TypeError on an update of a field from which words derive */
export function withWords(words: Words, operations: readonly WriteOperation[]): readonly WriteOperation[] {
  const added = (document: Document) => ({ ...document, [wordsField]: words.of(document) })
  return operations.map((operation) => {
    if ('insertOne' in operation) return { insertOne: { document: added(operation.insertOne.document) } }
    if ('replaceOne' in operation) {
      const { replaceOne } = operation
      return { replaceOne: { ...replaceOne, replacement: added(replaceOne.replacement) } }
    }
    if ('updateOne' in operation) {
      const { $set, $unset } = operation.updateOne.update
      const field = Object.keys({ ...$set, ...$unset }).find((field) => words.from.includes(field))
      if (field !== undefined) throw new TypeError(`read models: words derive from "${field}", so replace the document`)
    }
    return operation
  })
}
