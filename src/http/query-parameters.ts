import { parseTime } from '../kernel/time.js'
import { isStoredUuid, storedUuid } from '../kernel/uuid.js'
import { parseCursor, type SortKey } from '../queries/list-page.js'
import { SearchError, type TransferSearch } from '../queries/transfer-search.js'
import { invalid, invalidFields, RequestError } from './refusals.js'

export const maxLimit = 100
export const defaultLimit = 50

/** @throws RequestError if it is not a trackingId */
export function storedTrackingId(trackingId: string): string {
  const stored = storedUuid(trackingId)
  if (!isStoredUuid(stored)) throw new RequestError('unknown-transfer')
  return stored
}

/** @throws RequestError that names the parameter, as do the other functions here */
export function limitOf(text: string | undefined): number {
  const limit = Number(text ?? defaultLimit)
  if (limit > maxLimit) throw invalid('limit', 'whole-number', { least: 1, most: maxLimit })
  return limit
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

/** Returns the time zone of the server if none is given. @throws RequestError for an unknown one */
export function knownZone(timeZone: string | undefined): string {
  try {
    return new Intl.DateTimeFormat(undefined, { timeZone }).resolvedOptions().timeZone
  } catch {
    throw invalid('timeZone', 'time-zone-invalid')
  }
}

/** @throws RequestError that names the parameter which a search rejects; `parameterOf`: the parameters with different names than its fields */
export async function searched<Found>(
  search: Promise<Found>,
  parameterOf: { readonly [field in keyof TransferSearch]?: string } = {},
): Promise<Found> {
  try {
    return await search
  } catch (error) {
    if (!(error instanceof SearchError)) throw error
    throw invalidFields([{ field: parameterOf[error.field] ?? error.field, ...error.violation }])
  }
}
