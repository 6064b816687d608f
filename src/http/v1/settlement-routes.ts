import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { TransferResult } from '../../commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { type Currency, parseAmount } from '../../domain/money.js'
import { badRequest, bodyFailures, keyFailures, settlingFailures, unknownTransfer } from '../envelope.js'
import { accepted, invalid, RequestError } from '../refusals.js'
import { contextOf } from '../server/merchant-gate.js'
import { checkedAmount, checkTexts } from '../settlement-checks.js'
import { ownTransfer } from './own-transfer.js'
import { shownActor, viewOfTransfer } from './transfer-view.js'
import {
  TransferAnswer,
  TransferParams,
  WithdrawalAction,
  WithdrawalCancellation,
  WithdrawalCompletion,
} from './v1-schemas.js'

export interface SettlementOptions {
  readonly transfers: TransferCommands
  readonly currency: Currency
}

const answers = {
  response: {
    200: TransferAnswer,
    ...badRequest,
    ...keyFailures,
    ...unknownTransfer,
    ...settlingFailures,
    ...bodyFailures,
  },
}
const tags = ['Settlement']
const revisionText =
  'Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response.'

/** Adds the routes with which a merchant's program pays withdrawals, as users do on the dashboard. */
export const settlementRoutes: FastifyPluginAsyncTypebox<SettlementOptions> = async (app, { transfers, currency }) => {
  const act = async (
    request: FastifyRequest<{ Params: { trackingId: string } }>,
    action: (trackingId: string) => Promise<TransferResult>,
  ) => {
    const { transfer } = await ownTransfer(transfers, request, request.params.trackingId)
    if (transfer.kind !== 'withdrawal') throw new RequestError('unknown-transfer')
    const done = accepted('transfer', await action(transfer.trackingId), shownActor)
    return viewOfTransfer(done.transfer, done.revision)
  }
  for (const [action, operationId, summary] of [
    ['claim', 'claimWithdrawal', 'Claim a withdrawal for 15 minutes'],
    ['release', 'releaseWithdrawal', 'Release a claim'],
  ] as const) {
    app.route({
      method: 'POST',
      url: `/v1/withdrawals/:trackingId/${action}`,
      ...app.gate.requireKey('settlement'),
      schema: {
        tags,
        operationId,
        summary,
        description: revisionText,
        params: TransferParams,
        body: WithdrawalAction,
        ...answers,
      },
      handler: (request) => {
        const { revision } = request.body
        return act(request, (trackingId) => transfers[action](trackingId, contextOf(request), { revision }))
      },
    })
  }
  app.route({
    method: 'POST',
    url: '/v1/withdrawals/:trackingId/complete',
    ...app.gate.requireKey('settlement'),
    schema: {
      tags,
      operationId: 'completeWithdrawal',
      summary: 'Complete a paid withdrawal',
      description: `Requires your own claim. ${revisionText}`,
      params: TransferParams,
      body: WithdrawalCompletion,
      ...answers,
    },
    handler: (request) => {
      const { revision, confirmedAmount, receiptUrl, message } = request.body
      checkTexts({ receiptUrl, message })
      const transactionAmountMinor = amountOf('amount', request.amountText, currency)
      const confirmedText = confirmedAmount === undefined ? undefined : String(confirmedAmount)
      const confirmedAmountMinor = amountOf('confirmedAmount', confirmedText, currency)
      const completion = { transactionAmountMinor, confirmedAmountMinor, receiptUrl, message }
      const acting = { revision, underClaim: true }
      return act(request, (trackingId) => transfers.complete(trackingId, completion, contextOf(request), acting))
    },
  })
  app.route({
    method: 'POST',
    url: '/v1/withdrawals/:trackingId/cancel',
    ...app.gate.requireKey('settlement'),
    schema: {
      tags,
      operationId: 'cancelWithdrawal',
      summary: 'Cancel a withdrawal without paying it',
      description: `Requires your own claim. ${revisionText}`,
      params: TransferParams,
      body: WithdrawalCancellation,
      ...answers,
    },
    handler: (request) => {
      const { revision, message } = request.body
      checkTexts({ message })
      const acting = { revision, underClaim: true }
      return act(request, (trackingId) =>
        transfers.changeStatus(trackingId, 'Cancel', message, contextOf(request), acting),
      )
    },
  })
}

/** Parses an amount as it was sent. @throws RequestError that names the field */
function amountOf(name: string, text: string | undefined, currency: Currency): bigint | undefined {
  if (text === undefined) return undefined
  const amountMinor = parseAmount(text)
  if (amountMinor === undefined) throw invalid(name, 'amount-invalid')
  return checkedAmount(name, amountMinor, currency)
}
