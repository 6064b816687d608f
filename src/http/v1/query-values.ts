import { type Status, statusCodes } from '../../domain/transfer/transfer.js'
import { parseTime } from '../../kernel/time.js'
import { parseCursor, type SortKey } from '../../queries/list-page.js'
import { invalid } from '../refusals.js'

export const maxLimit = 100
export const defaultLimit = 50

/** @throws RequestError that names the parameter, as do the other functions here */
export function limitOf(text: string | undefined): number {
  const limit = Number(text ?? defaultLimit)
  if (limit > maxLimit) throw invalid('limit', 'whole-number', { least: 1, most: maxLimit })
  return limit
}

/** Returns the status with this name or number. The schema allows no others. */
export function statusOf(text: string | undefined): Status | undefined {
  const names = Object.keys(statusCodes) as Status[]
  return names.find((name) => text === name || text === String(statusCodes[name]))
}

/** Returns the time in UTC with milliseconds, as stored. A date means its start in UTC. */
export function timeOf(name: 'from' | 'to' | 'parkedSince', text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (time === undefined) throw invalid(name, 'time-invalid')
  return time
}

export function cursorOf(text: string | undefined): SortKey | undefined {
  if (text === undefined) return undefined
  const place = parseCursor(text)
  if (!place) throw invalid('cursor', 'cursor-invalid')
  return place
}
