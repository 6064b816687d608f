import type { Document } from '../read-models.js'

/** MongoDB's own limit. */
const DOCUMENT_CHARACTERS_MAX = 16 * 1024 * 1024

/**
 * A document as its row keeps it: without the `_id`, which the row has in a column of its own. Rows of earlier versions have it in the text,
 * first of all. @throws TypeError
 */
export function storedText(document: Document): string {
  if (Object.keys(document).length === 1) return '{}'
  const text = JSON.stringify(document)
  if (text.length > DOCUMENT_CHARACTERS_MAX)
    throw new TypeError(`read models: document "${document._id}" has ${text.length} characters, too many`)
  const begin = beginOf(document._id)
  if (text.startsWith(begin)) return text.length === begin.length + 1 ? '{}' : `{${text.slice(begin.length + 1)}`
  const { _id, ...fields } = document
  return JSON.stringify(fields)
}

/** The document's own text, `_id` first. */
export function wholeText(id: string, stored: string): string {
  if (stored.startsWith('{"_id":')) return stored
  return stored === '{}' ? `${beginOf(id)}}` : `${beginOf(id)},${stored.slice(1)}`
}

function beginOf(id: string): string {
  return `{"_id":${JSON.stringify(id)}`
}
