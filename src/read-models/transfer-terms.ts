import { erasedText } from '../domain/personal-data.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { searchable } from '../kernel/text.js'

/**
 * What transfers are found by beside what their list has an index for: what is said at the creation and never changes. One document
 * for each term, whose `_id` is merchant, kind, term, time and transfer in this order, so whoever searches reads a range of it.
 */

interface Searched {
  readonly referenceId: string
  readonly userId: string
  readonly name: string
  readonly paymentMethod: number
  /** Withdrawals only. */
  readonly accountNumber?: string
}

/** So that a place has room in a cursor, whatever the characters. */
const maxCharacters = 60

/** The beginning of a term that is a text; the rest is as {@link searchable} makes it. */
export function textTerm(text: string): string {
  const characters = searchable(text)
  // No text has more characters than units.
  return `t${characters.length <= maxCharacters ? characters : Array.from(characters).slice(0, maxCharacters).join('')}`
}

export function methodTerm(paymentMethod: number): string {
  return `m${paymentMethod}`
}

/** Each once, in order. */
export function textTermsOf({ referenceId, userId, name, accountNumber = '' }: Searched): readonly string[] {
  const terms = new Set([referenceId, userId, name, accountNumber].filter((text) => text !== erasedText).map(textTerm))
  terms.delete(textTerm(''))
  return [...terms].sort()
}

/** How the ids of a merchant's terms begin; a {@link termPlace} follows. */
export function termsBegin(merchantId: string, kind: TransferKind): string {
  return `${shortMerchant(merchantId)}|${kind === 'deposit' ? 'd' : 'w'}`
}

/** By term, and for each newest first. */
export function termPlace(term: string, createdAt: string, trackingId: string): string {
  return termSince(term, createdAt) + digitsOf(trackingId)
}

/** What all places of a term are behind that were created at this moment, or before; those created later are before it. */
export function termSince(term: string, moment: string): string {
  return `${term}${termEnd}${(latestMs - Date.parse(moment)).toString(36).padStart(timeDigits, '0')}`
}

/** In no term, and before every character that is in one: `ada` comes before `adam`. */
const termEnd = '\t'
/** The last moment whose year has four digits. */
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')
const timeDigits = latestMs.toString(36).length

/** The term and the transfer that a place tells of. */
export function parseTermPlace(place: string): { readonly term: string; readonly trackingId: string } {
  const end = place.indexOf(termEnd)
  return { term: place.slice(0, end), trackingId: idOf(place.slice(end + termEnd.length + timeDigits)) }
}

/** What {@link parseTermPlace} takes, and nothing else that could be in a cursor. */
export function isTermPlace(text: string): boolean {
  return placePattern.test(text)
}

const placePattern = new RegExp(`^[^\\t]+${termEnd}[0-9a-z]{${timeDigits}}[0-9a-f]{32}$`)
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Before what is no UUID, and in no short form of one. */
const longMark = '='

/** In no order that anybody asks for; each of a merchant's terms begins so. */
function shortMerchant(id: string): string {
  return uuid.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url') : longMark + id
}

/** Those of the same moment are in the order of their ids. */
function digitsOf(id: string): string {
  return uuid.test(id) ? id.replaceAll('-', '') : longMark + id
}

function idOf(digits: string): string {
  if (digits.startsWith(longMark)) return digits.slice(longMark.length)
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)]
  return parts.join('-')
}
