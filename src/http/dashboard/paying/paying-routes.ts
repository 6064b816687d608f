import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { uuidV5 } from '../../../commands/ids.js'
import type { TransferResult } from '../../../commands/transfer/transfer-requests.js'
import { type BankFormat, bankFile } from '../../../domain/bank-file.js'
import type { FoundTransfer } from '../../../queries/transfer-queries.js'
import { type InvalidField, invalidFields, RequestError, refusals, withNames } from '../../refusals.js'
import { toRequestError } from '../../server/error-handler.js'
import { checkTexts } from '../../settlement-checks.js'
import { streamId } from '../../v1/own-transfer.js'
import { BankFileRequest, BulkAction, BulkAnswer, PayoutsAnswer } from '../api.js'
import { ruleOfFailure } from '../dashboard-failure.js'
import { contextOf } from '../session-guard.js'
import { actorOf, detailOf, seenTransfer, viewingOf } from '../transfers/transfer-routes.js'
import { acceptedOf, askRecent, type SettlingOptions } from './settling-routes.js'

type Item = Static<typeof BulkAction>['items'][number]
type Outcome = Static<typeof BulkAnswer>['items'][number]

/** Allows 200 withdrawals with a receipt URL each. */
const bulkLimit = 512 * 1024

/** Pays withdrawals as a batch. Each is decided individually. */
export const payingRoutes: FastifyPluginAsyncTypebox<SettlingOptions> = async (app, options) => {
  const { transfers } = options
  const route = (action: string) => ({
    method: 'POST' as const,
    url: `/withdrawals/${action}`,
    bodyLimit: bulkLimit,
    ...app.viewers.allow('transfers:settle'),
  })
  app.route({
    ...route('claim'),
    schema: { hide: true, body: BulkAction, response: { 200: BulkAnswer } },
    handler: (request) =>
      oneByOne(app, request, options, request.body.items, ({ trackingId, revision }) =>
        transfers.claim(trackingId, contextOf(request), { revision }),
      ),
  })
  app.route({
    ...route('complete'),
    schema: { hide: true, body: BulkAction, response: { 200: BulkAnswer } },
    handler: async (request) => {
      const { items } = request.body
      for (const { receiptUrl } of items) checkTexts({ receiptUrl })
      const known = await Promise.all(items.map(({ trackingId }) => seenOrNone(app, request, options, trackingId)))
      askRecent(app, request, options, known.flatMap(paymentOf))
      return oneByOne(app, request, options, items, ({ trackingId, revision, receiptUrl }) => {
        const completion = receiptUrl === undefined ? {} : { receiptUrl }
        return transfers.complete(trackingId, completion, contextOf(request), { revision, underClaim: true })
      })
    },
  })
  app.route({
    ...route('bank-file'),
    schema: { hide: true, body: BankFileRequest },
    handler: async (request, reply) => {
      const { format } = request.body
      const text = await fileFor(app, request, options, request.body)
      const name = `withdrawals-${options.clock().slice(0, 10)}.${format === 'csv' ? 'csv' : 'xml'}`
      reply.header('content-disposition', `attachment; filename="${name}"`)
      return reply.type(fileTypes[format]).send(text)
    },
  })
  app.route({
    method: 'GET',
    url: '/payouts',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, response: { 200: PayoutsAnswer } },
    handler: async () => ({ stopped: await transfers.arePayoutsStopped() }),
  })
}

const fileTypes: { readonly [format in BankFormat]: string } = {
  csv: 'text/csv; charset=utf-8',
  'pain.001': 'application/xml; charset=utf-8',
}

async function oneByOne(
  app: FastifyInstance,
  request: FastifyRequest,
  options: SettlingOptions,
  items: readonly Item[],
  action: (item: Item) => Promise<TransferResult>,
): Promise<{ items: Outcome[] }> {
  const outcomes: Outcome[] = []
  for (const item of items) outcomes.push(await outcomeOf(app, request, options, item, action))
  return { items: outcomes }
}

/** Never rejects, because the results of earlier withdrawals must be returned. */
async function outcomeOf(
  app: FastifyInstance,
  request: FastifyRequest,
  options: SettlingOptions,
  item: Item,
  action: (item: Item) => Promise<TransferResult>,
): Promise<Outcome> {
  const { trackingId } = item
  try {
    const { transfer } = await seenTransfer(app, options, request, trackingId)
    if (transfer.kind !== 'withdrawal') throw new RequestError('unknown-transfer')
    const found = acceptedOf(await action({ ...item, trackingId: transfer.trackingId }), request, options)
    return { trackingId, transfer: await detailOf(found, request, options), error: null }
  } catch (error) {
    const failed = toRequestError(error)
    const { code, message } = refusals[failed.refusal]
    const now = await seenOrNone(app, request, options, trackingId).catch(() => undefined)
    const transfer = now ? await detailOf(now, request, options) : null
    return { trackingId, transfer, error: { code, message, ...ruleOfFailure(failed) } }
  }
}

async function seenOrNone(
  app: FastifyInstance,
  request: FastifyRequest,
  options: SettlingOptions,
  trackingId: string,
): Promise<FoundTransfer | undefined> {
  try {
    return await seenTransfer(app, options, request, trackingId)
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

function paymentOf(found: FoundTransfer | undefined) {
  return found ? [{ transfer: found.transfer, amountMinor: found.transfer.amountMinor }] : []
}

/** @throws RequestError that names every problem of the batch */
async function fileFor(
  app: FastifyInstance,
  request: FastifyRequest,
  options: SettlingOptions,
  { format, trackingIds, debtor }: Static<typeof BankFileRequest>,
): Promise<string> {
  const { currency, clock, transfers } = options
  if (await transfers.arePayoutsStopped()) throw new RequestError('payouts-stopped')
  // An upper-case id is the same id and would otherwise be paid twice.
  const distinct = [...new Set(trackingIds.map(streamId))]
  const found = await Promise.all(distinct.map((trackingId) => seenTransfer(app, options, request, trackingId)))
  // Uploading the file to a bank pays the withdrawals.
  askRecent(app, request, options, found.flatMap(paymentOf))
  const viewing = viewingOf(request, options)
  const withdrawals = found.map(({ transfer }) => ({ transfer, actor: actorOf(transfer, viewing, options) }))
  const ids = found.map(({ transfer }) => transfer.trackingId).sort()
  const messageId = uuidV5(JSON.stringify([debtor?.iban, ids]), ids[0]!).replaceAll('-', '')
  const file = bankFile({ format, debtor, currency, messageId, withdrawals, at: clock() })
  if (file.accepted) return file.text
  const fields = file.problems.map((problem): InvalidField => {
    if (problem.about !== 'trackingIds') return { field: problem.about, rule: problem.rule, values: problem.values }
    const { trackingId, referenceId } = problem.transfer
    // Each withdrawal is a field: a page shows only the first violation of a field.
    const field = `trackingIds/${distinct.indexOf(trackingId)}`
    return { field, subject: referenceId, ...withNames(problem, viewing.nameOf) }
  })
  throw invalidFields(fields)
}
