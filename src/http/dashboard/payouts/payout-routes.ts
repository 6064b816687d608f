import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { FoundTransfer, TransferResult } from '../../../commands/transfer/transfer-requests.js'
import { violate } from '../../../domain/decider.js'
import type { Transfer } from '../../../domain/transfer/transfer.js'
import { knownZone, storedTrackingId } from '../../query-parameters.js'
import { type InvalidField, invalidFields, RequestError, refusals, withNames } from '../../refusals.js'
import { toRequestError } from '../../server/error-handler.js'
import { checkReceipt, checkText, checkTexts } from '../../settlement-checks.js'
import {
  BankFileRequest,
  BulkAction,
  BulkCompletion,
  BulkResponse,
  PayoutQueueQuery,
  PayoutQueueResponse,
  PayoutsResponse,
} from '../api.js'
import { ruleOfFailure } from '../dashboard-failure.js'
import { sendFile } from '../downloads.js'
import { actorNames, userContext } from '../session-guard.js'
import { detailOf, seenTransfer } from '../transfers/dashboard-transfer-view.js'
import { payoutQueue } from './payout-queue.js'
import { acceptedOf, requireRecentSignIn } from './settlement-routes.js'

type Item = Static<typeof BulkAction>['items'][number]
type Outcome = BulkResponse['items'][number]

/** Allows 200 withdrawals with a receipt URL each. */
const bodyLimit = 512 * 1024

/** A file for a bank is exact, and not for spreadsheets. */
const fileTypes = {
  csv: ['csv', 'text/csv; charset=utf-8'],
  'pain.001': ['xml', 'application/xml; charset=utf-8'],
} as const

/** Pays withdrawals as a batch. Each is decided individually. */
export const payoutRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, installationName } = app.services
  const claim = app.viewers.allow('transfers:settle')
  const pay = app.viewers.allow('transfers:settle', { recent: 'large payments' })
  app.post('/withdrawals/claim', { bodyLimit, ...claim({ body: BulkAction }, BulkResponse) }, (request) =>
    oneByOne(request, request.body.items, ({ trackingId, revision }) =>
      transfers.act(trackingId, { type: 'Claim' }, userContext(request), { revision }),
    ),
  )
  app.post('/withdrawals/complete', { bodyLimit, ...pay({ body: BulkCompletion }, BulkResponse) }, async (request) => {
    const { items, manualControl } = request.body
    for (const { receiptUrl } of items) {
      checkTexts({ receiptUrl })
      await checkReceipt(app.services, receiptUrl)
    }
    const known = await Promise.all(items.map(({ trackingId }) => findSeenTransfer(request, trackingId)))
    for (const found of known) if (found) requireRecentSignIn(request, found.transfer)
    return oneByOne(request, items, ({ trackingId, revision, receiptUrl }, { status }) => {
      if (status === 'ManualControl' && !manualControl) {
        throw new RequestError('not-possible', { violation: violate('in-manual-control') })
      }
      const completion = receiptUrl === undefined ? {} : { receiptUrl }
      return transfers.act(trackingId, { type: 'Complete', ...completion }, userContext(request), {
        revision,
        underClaim: true,
      })
    })
  })
  app.post('/withdrawals/bank-file', { bodyLimit, ...pay({ body: BankFileRequest }) }, async (request, reply) => {
    const { date, messageId, text } = await fileFor(request, request.body)
    const [extension, type] = fileTypes[request.body.format]
    const from = installationName.replaceAll(/[^\p{L}\p{M}\p{N}.-]+/gu, '-')
    return sendFile(reply, `withdrawals-for-bank-${from}-${date}-${messageId}.${extension}`, type, text)
  })
  app.get(
    '/withdrawals/queue',
    app.viewers.allow('transfers:settle')({ querystring: PayoutQueueQuery }, PayoutQueueResponse),
    (request) => payoutQueue(request, request.query),
  )
  app.get('/payouts', app.viewers.allow('transfers:read')({}, PayoutsResponse), async () => ({
    stopped: await transfers.arePayoutsStopped(),
  }))
}

async function oneByOne(
  request: FastifyRequest,
  items: readonly Item[],
  action: (item: Item, found: Transfer) => Promise<TransferResult>,
): Promise<{ items: Outcome[] }> {
  const outcomes: Outcome[] = []
  for (const item of items) outcomes.push(await outcomeOf(request, item, action))
  return { items: outcomes }
}

/** Never rejects, because the results of earlier withdrawals must be returned. */
async function outcomeOf(
  request: FastifyRequest,
  item: Item,
  action: (item: Item, found: Transfer) => Promise<TransferResult>,
): Promise<Outcome> {
  const { trackingId } = item
  try {
    const { transfer } = await seenTransfer(request, trackingId)
    if (transfer.kind !== 'withdrawal') throw new RequestError('unknown-transfer')
    const found = acceptedOf(request, await action({ ...item, trackingId: transfer.trackingId }, transfer))
    return { trackingId, transfer: await detailOf(request, found), error: null }
  } catch (error) {
    const failed = toRequestError(error, request)
    const { code, message } = refusals[failed.refusal]
    const now = await findSeenTransfer(request, trackingId).catch(() => undefined)
    const transfer = now ? await detailOf(request, now) : null
    return { trackingId, transfer, error: { code, message, ...ruleOfFailure(failed) } }
  }
}

async function findSeenTransfer(request: FastifyRequest, trackingId: string): Promise<FoundTransfer | undefined> {
  try {
    return await seenTransfer(request, trackingId)
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

const bankFileFields = {
  ...({ format: 'format', date: 'date', debtor: 'debtor' } as const),
  ...({ name: 'debtor.name', iban: 'debtor.iban', bic: 'debtor.bic' } as const),
  street: 'debtor.address.street',
  building: 'debtor.address.building',
  postcode: 'debtor.address.postcode',
  town: 'debtor.address.town',
  country: 'debtor.address.country',
}

/** @throws RequestError that names every problem of the batch */
async function fileFor(request: FastifyRequest, { trackingIds, manualControl, ...batch }: BankFileRequest) {
  const { currency, transfers } = request.server.services
  if (await transfers.arePayoutsStopped()) throw new RequestError('payouts-stopped')
  checkText('repeat.reason', batch.repeat?.reason)
  // An upper-case id is the same id and would otherwise be paid twice.
  const distinct = [...new Set(trackingIds.map(storedTrackingId))]
  const found = await Promise.all(distinct.map((trackingId) => seenTransfer(request, trackingId)))
  // Uploading the file to a bank pays the withdrawals.
  for (const { transfer } of found) requireRecentSignIn(request, transfer)
  const excluded = found.flatMap(({ transfer: { status, referenceId } }, index): InvalidField[] => {
    if (status !== 'ManualControl' || manualControl) return []
    return [{ field: `trackingIds[${index}]`, subject: referenceId, ...violate('in-manual-control') }]
  })
  if (excluded.length > 0) throw invalidFields(excluded)
  const timeZone = knownZone(batch.timeZone)
  const wanted = { ...batch, timeZone, trackingIds: distinct, underClaim: true }
  const file = await transfers.produceBankFile(wanted, currency, userContext(request))
  if (file.accepted) return file
  const fields = file.problems.map((problem): InvalidField => {
    if (problem.about !== 'trackingIds') {
      return { field: bankFileFields[problem.about], rule: problem.rule, values: problem.values }
    }
    const { trackingId, referenceId } = problem.transfer
    // Each withdrawal is a field: a page shows only the first violation of a field.
    const field = `trackingIds[${distinct.indexOf(trackingId)}]`
    return { field, subject: referenceId, ...withNames(problem, actorNames(request)) }
  })
  throw invalidFields(fields)
}
