import { type Status, statusCodes } from '../../domain/transfer/transfer.js'
import { parseTime } from '../../kernel/time.js'
import { type Place, parseCursor } from '../../queries/list-page.js'
import { invalid } from '../refusals.js'

export const maxLimit = 100
export const defaultLimit = 50

/** @throws RequestError naming the parameter, as do all of these */
export function limitOf(text: string | undefined): number {
  const limit = Number(text ?? defaultLimit)
  if (limit > maxLimit) throw invalid('limit', 'whole-number', { least: 1, most: maxLimit })
  return limit
}

/** `text`: a name or a number, as the schema lets pass. */
export function statusOf(text: string | undefined): Status | undefined {
  const names = Object.keys(statusCodes) as Status[]
  return names.find((name) => text === name || text === String(statusCodes[name]))
}

/** In UTC with milliseconds, as stored; a date alone is its first moment in UTC. */
export function timeOf(name: 'from' | 'to' | 'parkedSince', text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const moment = parseTime(text)
  if (moment === undefined) throw invalid(name, 'time-invalid')
  return moment
}

export function cursorOf(text: string | undefined): Place | undefined {
  if (text === undefined) return undefined
  const place = parseCursor(text)
  if (!place) throw invalid('cursor', 'cursor-invalid')
  return place
}
