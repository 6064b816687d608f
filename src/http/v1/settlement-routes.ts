import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { TransferResult } from '../../commands/transfer/transfer-requests.js'
import { parseAmount } from '../../domain/money.js'
import { badRequest, bodyFailures, settlingFailures, unknownTransfer } from '../envelope.js'
import { accepted, invalid, RequestError } from '../refusals.js'
import { merchantContext } from '../server/merchant-gate.js'
import { checkedAmount, checkReceipt, checkTexts } from '../settlement-checks.js'
import { keyRoutes, ownTransfer } from './requests.js'
import {
  TransferParams,
  TransferResponse,
  WithdrawalAction,
  WithdrawalCancellation,
  WithdrawalCompletion,
} from './v1-schemas.js'
import { shownActor, viewOfTransfer } from './v1-transfer-view.js'

const response = { 200: TransferResponse, ...badRequest, ...unknownTransfer, ...settlingFailures, ...bodyFailures }
const revisionText =
  'Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response.'

/** Adds the routes with which a merchant's program pays withdrawals, as users do on the dashboard. */
export const settlementRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, currency } = app.services
  const keyed = keyRoutes(app, 'settlement', 'Settlement')
  const settle = <Body extends TSchema>(operationId: string, summary: string, body: Body, condition = '') =>
    keyed(operationId, summary, { description: condition + revisionText, params: TransferParams, body, response })
  const act = async (
    request: FastifyRequest<{ Params: { trackingId: string } }>,
    action: (trackingId: string) => Promise<TransferResult>,
  ) => {
    const { transfer } = await ownTransfer(request)
    if (transfer.kind !== 'withdrawal') throw new RequestError('unknown-transfer')
    const done = accepted('transfer', await action(transfer.trackingId), shownActor)
    return viewOfTransfer(done.transfer, done.revision)
  }
  /** Parses an amount as it was sent. @throws RequestError that names the field */
  const amountOf = (name: string, text: string | undefined): bigint | undefined => {
    if (text === undefined) return undefined
    const amountMinor = parseAmount(text)
    if (amountMinor === undefined) throw invalid(name, 'amount-invalid')
    return checkedAmount(name, amountMinor, currency)
  }
  for (const [action, type, operationId, summary] of [
    ['claim', 'Claim', 'claimWithdrawal', 'Claim a withdrawal for 15 minutes'],
    ['release', 'Release', 'releaseWithdrawal', 'Release a claim'],
  ] as const) {
    const options = settle(operationId, summary, WithdrawalAction)
    app.post(`/v1/withdrawals/:trackingId/${action}`, options, (request) => {
      const { revision } = request.body
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type }, merchantContext(request), { revision, underClaim: true }),
      )
    })
  }
  app.post(
    '/v1/withdrawals/:trackingId/complete',
    settle('completeWithdrawal', 'Complete a paid withdrawal', WithdrawalCompletion, 'Requires your own claim. '),
    async (request) => {
      const { revision, confirmedAmount, receiptUrl, message } = request.body
      checkTexts({ receiptUrl, message })
      await checkReceipt(app.services, receiptUrl)
      const transactionAmountMinor = amountOf('amount', request.amountText)
      const confirmedAmountMinor = amountOf('confirmedAmount', confirmedAmount?.toString())
      const completion = { transactionAmountMinor, confirmedAmountMinor, receiptUrl, message }
      const acting = { revision, underClaim: true }
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type: 'Complete', ...completion }, merchantContext(request), acting),
      )
    },
  )
  app.post(
    '/v1/withdrawals/:trackingId/cancel',
    settle(
      'cancelWithdrawal',
      'Cancel a withdrawal without paying it',
      WithdrawalCancellation,
      'Requires your own claim. ',
    ),
    (request) => {
      const { revision, message } = request.body
      checkTexts({ message })
      const acting = { revision, underClaim: true }
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type: 'Cancel', message }, merchantContext(request), acting),
      )
    },
  )
}
