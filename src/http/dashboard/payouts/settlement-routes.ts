import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { derivedEventId } from '../../../commands/ids.js'
import type { FoundTransfer, TransferResult } from '../../../commands/transfer/transfer-requests.js'
import { needsApproval } from '../../../domain/transfer/payout.js'
import type { Transfer } from '../../../domain/transfer/transfer.js'
import { accepted } from '../../refusals.js'
import {
  checkedAmount,
  checkedReturnReason,
  checkReceipt,
  checkReference,
  checkTexts,
} from '../../settlement-checks.js'
import {
  ApproveAction,
  ApproveCorrectionAction,
  CompleteAction,
  CorrectAction,
  MessageAction,
  PayAgainAction,
  PayoutReturnedAction,
  PlainAction,
  TransferParams as params,
  permissionOf,
  ReasonAction,
  ReceiveAction,
  RefundAction,
  RefundDecision,
  ReturnAction,
  type TransferAction,
  TransferDetail,
} from '../api.js'
import { actorNames, userContext } from '../session-guard.js'
import { actorOf, detailOf, seenTransfer } from '../transfers/dashboard-transfer-view.js'

/** The actions that need a recent sign-in above the merchant's threshold. */
const largePayments: readonly TransferAction[] = ['complete', 'correct', 'return', 'refund', 'pay-again']

type ActionRequest = FastifyRequest<{ Params: { trackingId: string } }>

/** Adds the actions on a transfer. Each names the revision that the user saw, and fails with the later events if there are any. */
export const settlementRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, currency } = app.services
  const url = <Action extends TransferAction>(action: Action) => `/transfers/:trackingId/${action}` as const
  const options = <Body extends TSchema>(action: TransferAction, body: Body) =>
    app.viewers.allow(permissionOf[action], largePayments.includes(action) ? { recent: 'large payments' } : {})(
      { params, body },
      TransferDetail,
    )
  const act = async (
    request: ActionRequest,
    action: (trackingId: string, found: Transfer) => Promise<TransferResult>,
  ) => {
    const { transfer } = await seenTransfer(request, request.params.trackingId)
    return detailOf(request, acceptedOf(request, await action(transfer.trackingId, transfer)))
  }
  /** @throws RequestError for an amount that the currency cannot represent */
  const amountOf = (field: string, amountMinor: number | undefined) =>
    checkedAmount(field, amountMinor === undefined ? undefined : BigInt(amountMinor), currency)

  for (const [action, type] of [
    ['claim', 'Claim'],
    ['release', 'Release'],
  ] as const) {
    app.post(url(action), options(action, PlainAction), (request) => {
      const { revision } = request.body
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type }, userContext(request), { revision, underClaim: true }),
      )
    })
  }
  app.post(url('approve'), options('approve', ApproveAction), (request) => {
    const { revision } = request.body
    const amountMinor = amountOf('amountMinor', request.body.amountMinor)
    const approval = amountMinor === undefined ? {} : { amountMinor }
    return act(request, (trackingId) =>
      transfers.act(trackingId, { type: 'Approve', ...approval }, userContext(request), { revision }),
    )
  })
  app.post(url('complete'), options('complete', CompleteAction), async (request) => {
    const { revision, amountMinor, confirmedAmountMinor, receiptUrl, message, reason } = request.body
    checkTexts({ receiptUrl, message, reason })
    await checkReceipt(app.services, receiptUrl)
    const completion = {
      receiptUrl,
      message,
      reason,
      transactionAmountMinor: amountOf('amountMinor', amountMinor),
      confirmedAmountMinor: amountOf('confirmedAmountMinor', confirmedAmountMinor),
    }
    const acting = { revision, underClaim: true }
    return act(request, (trackingId, transfer) => {
      requireRecentSignIn(request, transfer, completion.transactionAmountMinor)
      return transfers.act(trackingId, { type: 'Complete', ...completion }, userContext(request), acting)
    })
  })
  app.post(url('receive'), options('receive', ReceiveAction), async (request) => {
    const { revision, confirmedAmountMinor, reference, receiptUrl } = request.body
    checkTexts({ receiptUrl })
    checkReference(reference)
    await checkReceipt(app.services, receiptUrl)
    const payment = {
      receivedAmountMinor: amountOf('amountMinor', request.body.amountMinor)!,
      confirmedAmountMinor: amountOf('confirmedAmountMinor', confirmedAmountMinor),
      reference,
      receiptUrl,
    }
    return act(request, (trackingId) =>
      transfers.act(trackingId, { type: 'ReceivePart', ...payment }, userContext(request), { revision }),
    )
  })
  app.post(url('correct'), options('correct', CorrectAction), (request) => {
    const { revision, confirmedAmountMinor, reason, reference } = request.body
    checkTexts({ reason })
    checkReference(reference)
    const correction = {
      amountMinor: amountOf('amountMinor', request.body.amountMinor)!,
      confirmedAmountMinor: amountOf('confirmedAmountMinor', confirmedAmountMinor),
      reason,
      reference,
    }
    return act(request, (trackingId, transfer) => {
      requireRecentSignIn(request, transfer, correction.amountMinor)
      return transfers.act(trackingId, { type: 'Correct', ...correction }, userContext(request), { revision })
    })
  })
  app.post(url('approve-correction'), options('approve-correction', ApproveCorrectionAction), (request) => {
    const { revision } = request.body
    const amountMinor = amountOf('amountMinor', request.body.amountMinor)!
    return act(request, (trackingId) =>
      transfers.act(trackingId, { type: 'ApproveCorrection', amountMinor }, userContext(request), { revision }),
    )
  })
  for (const [action, type] of [
    ['cancel', 'Cancel'],
    ['manual-control', 'SendToManualControl'],
  ] as const) {
    app.post(url(action), options(action, MessageAction), (request) => {
      const { revision, message } = request.body
      checkTexts({ message })
      // Manual control ends nothing, so it needs no claim.
      const acting = { revision, underClaim: action === 'cancel' }
      return act(request, (trackingId) => transfers.act(trackingId, { type, message }, userContext(request), acting))
    })
  }
  app.post(url('return'), options('return', ReturnAction), async (request) => {
    const { revision, receiptUrl } = request.body
    checkTexts({ receiptUrl })
    await checkReceipt(app.services, receiptUrl)
    const returned = { amountMinor: amountOf('amountMinor', request.body.amountMinor)!, receiptUrl }
    return act(request, (trackingId, transfer) => {
      requireRecentSignIn(request, transfer, returned.amountMinor)
      return transfers.act(trackingId, { type: 'ReturnFunds', ...returned }, userContext(request), { revision })
    })
  })
  app.post(url('refund'), options('refund', RefundAction), (request) => {
    const { revision, accountNumber } = request.body
    const amountMinor = amountOf('amountMinor', request.body.amountMinor)!
    const to = accountNumber === undefined ? 'wallet' : 'account'
    return act(request, (trackingId, transfer) => {
      requireRecentSignIn(request, transfer, amountMinor)
      const context = userContext(request)
      // The same for a repeat of the request.
      const referenceId = derivedEventId(trackingId, `refund ${revision} ${context.actor}`)
      const refund = { type: 'RequestRefund', referenceId, amountMinor, to, accountNumber } as const
      return transfers.act(trackingId, refund, context, { revision })
    })
  })
  app.post(url('pay-again'), options('pay-again', PayAgainAction), (request) => {
    const { revision, accountNumber } = request.body
    const amountMinor = amountOf('amountMinor', request.body.amountMinor)!
    return act(request, (trackingId, transfer) => {
      requireRecentSignIn(request, transfer, amountMinor)
      const context = userContext(request)
      const referenceId = derivedEventId(trackingId, `repayment ${revision} ${context.actor}`)
      const repayment = { type: 'RequestRepayment', referenceId, amountMinor, accountNumber } as const
      return transfers.act(trackingId, repayment, context, { revision })
    })
  })
  app.post(url('payout-returned'), options('payout-returned', PayoutReturnedAction), async (request) => {
    const { revision, reference, receiptUrl } = request.body
    checkTexts({ receiptUrl })
    checkReference(reference)
    const reasonCode = checkedReturnReason(request.body.reasonCode)
    await checkReceipt(app.services, receiptUrl)
    const returnedAmountMinor = amountOf('amountMinor', request.body.amountMinor)!
    const back = { returnedAmountMinor, reasonCode, reference, receiptUrl }
    return act(request, (trackingId) =>
      transfers.act(trackingId, { type: 'ReturnPayout', ...back }, userContext(request), { revision }),
    )
  })
  for (const [action, type] of [
    ['approve-refund', 'ApproveRefund'],
    ['reject-refund', 'RejectRefund'],
  ] as const) {
    app.post(url(action), options(action, RefundDecision), (request) => {
      const { revision, refundId } = request.body
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type, refundId }, userContext(request), { revision }),
      )
    })
  }
  for (const [action, type] of [
    ['resolve', 'ResolveAttention'],
    ['reopen', 'Reopen'],
  ] as const) {
    app.post(url(action), options(action, ReasonAction), (request) => {
      const { revision, reason } = request.body
      checkTexts({ reason })
      return act(request, (trackingId) =>
        transfers.act(trackingId, { type, reason }, userContext(request), { revision }),
      )
    })
  }
}

/** @throws RequestError with the later events and their users */
export function acceptedOf(request: FastifyRequest, result: TransferResult): FoundTransfer {
  return accepted('transfer', result, actorNames(request))
}

/** Requires a recent sign-in for a large payment. @throws RequestError */
export function requireRecentSignIn(
  request: FastifyRequest,
  transfer: Transfer,
  amountMinor = transfer.amountMinor,
): void {
  const isLarge = needsApproval(transfer, amountMinor, actorOf(request, transfer, amountMinor))
  if (isLarge) request.server.viewers.requireRecent(request)
}
