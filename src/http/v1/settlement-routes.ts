import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { TransferResult } from '../../commands/transfer/transfer-requests.js'
import { parseAmount } from '../../domain/money.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { badRequest, bodyFailures, settlingFailures, unknownTransfer } from '../envelope.js'
import { accepted, invalid, RequestError } from '../refusals.js'
import { merchantContext } from '../server/merchant-gate.js'
import { checkedAmount, checkedReturnReason, checkReceipt, checkReference, checkTexts } from '../settlement-checks.js'
import { keyRoutes, ownTransfer } from './requests.js'
import {
  DepositReceipt,
  DepositRefund,
  TransferCorrection,
  TransferParams,
  TransferResponse,
  WithdrawalAction,
  WithdrawalCancellation,
  WithdrawalCompletion,
  WithdrawalRepayment,
  WithdrawalReturn,
} from './v1-schemas.js'
import { shownActor, viewOf } from './v1-transfer-view.js'

const response = { 200: TransferResponse, ...badRequest, ...unknownTransfer, ...settlingFailures, ...bodyFailures }
const revisionText =
  'Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response.'

/** Adds the routes with which a merchant's program pays withdrawals and records money, as users do on the dashboard. */
export const settlementRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, currency } = app.services
  const keyed = keyRoutes(app, 'settlement', 'Settlement')
  const settle = <Body extends TSchema>(operationId: string, summary: string, body: Body, condition = '') =>
    keyed(operationId, summary, { description: condition + revisionText, params: TransferParams, body, response })
  const act = async (
    request: FastifyRequest<{ Params: { trackingId: string } }>,
    action: (trackingId: string) => Promise<TransferResult>,
    kind?: TransferKind,
  ) => {
    const { transfer } = await ownTransfer(request)
    if (kind !== undefined && transfer.kind !== kind) throw new RequestError('unknown-transfer')
    return viewOf(transfers, accepted('transfer', await action(transfer.trackingId), shownActor))
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
      return act(
        request,
        (trackingId) => transfers.act(trackingId, { type }, merchantContext(request), { revision, underClaim: true }),
        'withdrawal',
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
      return act(
        request,
        (trackingId) =>
          transfers.act(trackingId, { type: 'Complete', ...completion }, merchantContext(request), acting),
        'withdrawal',
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
      return act(
        request,
        (trackingId) => transfers.act(trackingId, { type: 'Cancel', message }, merchantContext(request), acting),
        'withdrawal',
      )
    },
  )
  const requiredAmount = (text: string | undefined): bigint => amountOf('amount', text ?? '')!
  app.post(
    '/v1/deposits/:trackingId/receive',
    settle(
      'receiveDeposit',
      'Record a payment for a deposit that is paid manually',
      DepositReceipt,
      'Payments add up. The deposit is completed when their sum is the requested amount within your tolerance. ',
    ),
    async (request) => {
      const { revision, confirmedAmount, reference, receiptUrl } = request.body
      checkTexts({ receiptUrl })
      checkReference(reference)
      await checkReceipt(app.services, receiptUrl)
      const receivedAmountMinor = requiredAmount(request.amountText)
      const confirmedAmountMinor = amountOf('confirmedAmount', confirmedAmount?.toString())
      const payment = { receivedAmountMinor, confirmedAmountMinor, reference, receiptUrl }
      return act(
        request,
        (trackingId) =>
          transfers.act(trackingId, { type: 'ReceivePart', ...payment }, merchantContext(request), { revision }),
        'deposit',
      )
    },
  )
  app.post(
    '/v1/withdrawals/:trackingId/returned',
    settle(
      'recordWithdrawalReturn',
      'Record that the bank sent money of a completed withdrawal back',
      WithdrawalReturn,
      'The status stays, and the withdrawal needs attention until the operator decides about the money. ',
    ),
    async (request) => {
      const { revision, reference, receiptUrl } = request.body
      checkTexts({ receiptUrl })
      checkReference(reference)
      const reasonCode = checkedReturnReason(request.body.reasonCode)
      await checkReceipt(app.services, receiptUrl)
      const back = { returnedAmountMinor: requiredAmount(request.amountText), reasonCode, reference, receiptUrl }
      return act(
        request,
        (trackingId) =>
          transfers.act(trackingId, { type: 'ReturnPayout', ...back }, merchantContext(request), { revision }),
        'withdrawal',
      )
    },
  )
  app.post(
    '/v1/withdrawals/:trackingId/repayments',
    settle(
      'repayWithdrawal',
      'Pay the returned money of a withdrawal again',
      WithdrawalRepayment,
      'Creates a withdrawal to the account that you specify, which is paid like any other. ',
    ),
    (request) => {
      const { revision, referenceId, accountNumber, identityNumber, paymentMethod } = request.body
      const payee = { accountNumber, identityNumber: identityNumber ?? undefined, paymentMethod }
      const repayment = {
        type: 'RequestRepayment',
        referenceId,
        amountMinor: requiredAmount(request.amountText),
      } as const
      return act(
        request,
        (trackingId) => transfers.act(trackingId, { ...repayment, ...payee }, merchantContext(request), { revision }),
        'withdrawal',
      )
    },
  )
  app.post(
    '/v1/transfers/:trackingId/refunds',
    settle(
      'refundDeposit',
      'Return money of a deposit',
      DepositRefund,
      'A withdrawal returns the money to the account that you specify, and is paid like any other. Without an account, the wallet credits the account that paid the deposit. The money is reserved until then. ',
    ),
    (request) => {
      const { revision, referenceId, accountNumber, identityNumber, paymentMethod } = request.body
      const amountMinor = requiredAmount(request.amountText)
      const to = accountNumber === undefined ? 'wallet' : 'account'
      const payee = { accountNumber, identityNumber: identityNumber ?? undefined, paymentMethod }
      return act(
        request,
        (trackingId) =>
          transfers.act(
            trackingId,
            { type: 'RequestRefund', referenceId, amountMinor, to, ...payee },
            merchantContext(request),
            { revision },
          ),
        'deposit',
      )
    },
  )
  app.post(
    '/v1/transfers/:trackingId/correct',
    settle(
      'correctTransfer',
      'Correct the amount of a completed transfer',
      TransferCorrection,
      'The status stays, and a callback with the new amount follows. Above the threshold for approvals, a second user must approve the correction: until then it is the `proposedAmount`. ',
    ),
    (request) => {
      const { revision, confirmedAmount, reason, reference } = request.body
      checkTexts({ reason })
      checkReference(reference)
      const amountMinor = requiredAmount(request.amountText)
      const confirmedAmountMinor = amountOf('confirmedAmount', confirmedAmount?.toString())
      const correction = { amountMinor, confirmedAmountMinor, reason, reference }
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type: 'Correct', ...correction }, merchantContext(request), { revision }),
      )
    },
  )
}
