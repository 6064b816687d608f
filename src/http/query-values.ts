import type { TransferKind } from '../domain/transfer/events.js'
import { type Status, statusCodes } from '../domain/transfer/transfer.js'
import { failures, RequestError } from './errors.js'

export const maxLimit = 100
const defaultLimit = 50

export interface Cursor {
  readonly createdAt: string
  readonly trackingId: string
}

/** @throws RequestError naming the parameter, as do all of these */
export function limitOf(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  const limit = Number(text)
  if (limit > maxLimit) throw badParameter('limit', `must be from 1 to ${maxLimit}`)
  return limit
}

export function statusOf(text: string | undefined): Status | undefined {
  if (text === undefined) return undefined
  for (const [name, code] of Object.entries(statusCodes))
    if (text === name || text === String(code)) return name as Status
  throw badParameter('status', 'must be a number from 1 to 5 or the name of a status')
}

export function kindOf(text: string | undefined): TransferKind | undefined {
  if (text === undefined || text === 'deposit' || text === 'withdrawal') return text
  throw badParameter('kind', 'must be deposit or withdrawal')
}

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** In UTC with milliseconds, as stored; a date alone is its first moment in UTC. */
export function timeOf(name: 'from' | 'to', text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const ms = isoTime.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw badParameter(name, 'must be an ISO 8601 date, or a time with its zone')
  return new Date(ms).toISOString()
}

export function formatCursor({ createdAt, trackingId }: Cursor): string {
  return Buffer.from(`${createdAt}|${trackingId}`).toString('base64url')
}

export function cursorOf(text: string | undefined): Cursor | undefined {
  if (text === undefined) return undefined
  const clear = Buffer.from(text, 'base64url').toString('latin1')
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|([0-9a-f-]{36})$/.exec(clear)
  if (!match?.[1] || !match[2]) throw badParameter('cursor', 'must be the nextCursor of an earlier answer')
  return { createdAt: match[1], trackingId: match[2] }
}

export function badParameter(name: string, problem: string): RequestError {
  return new RequestError(failures.invalidRequest, {
    validationErrors: [{ message: `${name} ${problem}`, members: [name] }],
  })
}
