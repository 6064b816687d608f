import type { Document } from '../read-models.js'

/** MongoDB's own limit. */
const DOCUMENT_CHARACTERS_MAX = 16 * 1024 * 1024

/**
 * Returns the text that a row stores: the document without its `_id`, which has its own column. @throws TypeError
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

/** Returns the document's JSON, `_id` first. */
export function wholeText(id: string, stored: string): string {
  return stored === '{}' ? `${beginOf(id)}}` : `${beginOf(id)},${stored.slice(1)}`
}

function beginOf(id: string): string {
  return `{"_id":${JSON.stringify(id)}`
}
