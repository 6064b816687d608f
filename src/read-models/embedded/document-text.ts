import type { Document } from '../read-models.js'

/** MongoDB's limit. */
const DOCUMENT_CHARACTERS_MAX = 16 * 1024 * 1024

/**
 * Returns the text that a row stores: the document without its `_id`, which has its own column. @throws TypeError
 */
export function storedText(document: Document): string {
  if (Object.keys(document).length === 1) return '{}'
  const text = JSON.stringify(document)
  if (text.length > DOCUMENT_CHARACTERS_MAX)
    throw new TypeError(`read models: document "${document._id}" has ${text.length} characters, too many`)
  const start = startOf(document._id)
  if (text.startsWith(start)) return text.length === start.length + 1 ? '{}' : `{${text.slice(start.length + 1)}`
  const { _id, ...fields } = document
  return JSON.stringify(fields)
}

/** Returns the document's JSON, `_id` first. */
export function wholeText(id: string, stored: string): string {
  return stored === '{}' ? `${startOf(id)}}` : `${startOf(id)},${stored.slice(1)}`
}

function startOf(id: string): string {
  return `{"_id":${JSON.stringify(id)}`
}
