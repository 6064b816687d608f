import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import type { Scope } from '../../domain/merchant/api-key.js'
import { type Status, statusCodes } from '../../domain/transfer/status.js'
import type { ReadBy } from '../../readers/readers.js'
import { keyFailures } from '../envelope.js'
import { storedTrackingId } from '../query-parameters.js'
import { RequestError } from '../refusals.js'

interface Documentation extends FastifySchema {
  readonly description?: string
  readonly response: object
}

/** Returns a function that creates the options of a route which requires a WebApiKey with this scope, with its documentation. */
export function keyRoutes({ gate }: FastifyInstance, scope: Scope, tag: string) {
  return <Schema extends Documentation>(operationId: string, summary: string, schema: Schema) => ({
    ...gate.requireKey(scope),
    schema: { tags: [tag], operationId, summary, ...schema, response: { ...keyFailures, ...schema.response } },
  })
}

/** Rows per second. A reader of the feed is allowed 20 full pages per second, after a burst of 200. */
const rows = { perSecond: 2_000, burst: 20_000 }

/** Returns the merchant of a request as a reader, whose reads are limited. */
export function readBy({ merchant }: FastifyRequest): ReadBy {
  return { key: merchant!.merchantId, rows }
}

/** Finds a transfer in the log, so it is never behind. @throws RequestError if it is missing or another merchant's, without a difference */
export async function ownTransfer(request: FastifyRequest<{ Params: { trackingId: string } }>) {
  const found = await request.server.services.transfers.find(storedTrackingId(request.params.trackingId))
  if (found?.transfer.merchantId !== request.merchant!.merchantId) throw new RequestError('unknown-transfer')
  return found
}

/** Returns the status with this name or number. The schema allows no others. */
export function statusOf(text: string | undefined): Status | undefined {
  const names = Object.keys(statusCodes) as Status[]
  return names.find((name) => text === name || text === String(statusCodes[name]))
}

const inMetadata = /^metadata\[(.*)\]$/s

/**
 * Turns the parameters `metadata[<key>]` of a query into an object. Any other name that starts with `metadata` is invalid: if it was
 * ignored, a mistyped filter would list all transfers.
 */
export async function nestMetadata(request: FastifyRequest): Promise<void> {
  const all = Object.entries(request.query as { readonly [name: string]: unknown })
  const filters = all.filter(([name]) => name.startsWith('metadata'))
  if (filters.length === 0) return
  const others = all.filter(([name]) => !name.startsWith('metadata'))
  const texts = filters.map(([name, value]) => [inMetadata.exec(name)?.[1], value] as const)
  const metadata = texts.every(([key]) => key !== undefined) ? Object.fromEntries(texts) : 'not an object'
  request.query = { ...Object.fromEntries(others), metadata }
}
