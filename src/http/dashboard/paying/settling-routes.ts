import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TransferResult } from '../../../commands/transfer/transfer-requests.js'
import type { Currency } from '../../../domain/money.js'
import { needsApproval } from '../../../domain/transfer/settling.js'
import type { Transfer } from '../../../domain/transfer/transfer.js'
import type { FoundTransfer } from '../../../queries/transfer-queries.js'
import { accepted, RequestError } from '../../refusals.js'
import { checkedAmount, checkTexts } from '../../settlement-checks.js'
import {
  ApproveAction,
  CompleteAction,
  MessageAction,
  PlainAction,
  ReasonAction,
  ReturnAction,
  type TransferAction,
  TransferDetail,
} from '../api.js'
import { contextOf } from '../session-guard.js'
import {
  actorOf,
  detailOf,
  permissionOf,
  seenTransfer,
  type TransferOptions,
  TransferParams,
  viewingOf,
} from '../transfers/transfer-routes.js'

export interface SettlingOptions extends TransferOptions {
  readonly currency: Currency
}

type About = FastifyRequest<{ Params: { trackingId: string } }>

/** Adds the actions on a transfer. Each names the revision that the user saw, and fails with the later events if there are any. */
export const settlingRoutes: FastifyPluginAsyncTypebox<SettlingOptions> = async (app, options) => {
  const { transfers, currency } = options
  const route = <Body>(action: TransferAction, body: Body) => ({
    method: 'POST' as const,
    url: `/transfers/:trackingId/${action}`,
    ...app.viewers.allow(permissionOf[action]),
    schema: { hide: true, params: TransferParams, body, response: { 200: TransferDetail } },
  })
  const act = async (request: About, action: (found: FoundTransfer) => Promise<TransferResult>) => {
    const result = await action(await seenTransfer(app, options, request, request.params.trackingId))
    return detailOf(acceptedOf(result, request, options), request, options)
  }
  for (const action of ['claim', 'release'] as const) {
    app.route({
      ...route(action, PlainAction),
      handler: (request) => {
        const { revision } = request.body
        return act(request, ({ transfer }) => transfers[action](transfer.trackingId, contextOf(request), { revision }))
      },
    })
  }
  app.route({
    ...route('approve', ApproveAction),
    handler: (request) => {
      const { revision } = request.body
      const amountMinor = amountOf('amountMinor', request.body.amountMinor, currency)
      const approval = amountMinor === undefined ? {} : { amountMinor }
      return act(request, ({ transfer: { trackingId } }) =>
        transfers.approve(trackingId, approval, contextOf(request), { revision }),
      )
    },
  })
  app.route({
    ...route('complete', CompleteAction),
    handler: (request) => {
      const { revision, amountMinor, confirmedAmountMinor, receiptUrl, message, reason } = request.body
      checkTexts({ receiptUrl, message, reason })
      const completion = {
        ...{ receiptUrl, message, reason },
        transactionAmountMinor: amountOf('amountMinor', amountMinor, currency),
        confirmedAmountMinor: amountOf('confirmedAmountMinor', confirmedAmountMinor, currency),
      }
      return act(request, ({ transfer }) => {
        askRecent(app, request, options, [
          { transfer, amountMinor: completion.transactionAmountMinor ?? transfer.amountMinor },
        ])
        const acting = { revision, underClaim: true }
        return transfers.complete(transfer.trackingId, completion, contextOf(request), acting)
      })
    },
  })
  for (const [action, type] of [
    ['cancel', 'Cancel'],
    ['manual-control', 'SendToManualControl'],
  ] as const) {
    app.route({
      ...route(action, MessageAction),
      handler: (request) => {
        const { revision, message } = request.body
        checkTexts({ message })
        // Manual control ends nothing, so it needs no claim.
        const acting = { revision, underClaim: action === 'cancel' }
        return act(request, ({ transfer: { trackingId } }) =>
          transfers.changeStatus(trackingId, type, message, contextOf(request), acting),
        )
      },
    })
  }
  app.route({
    ...route('return', ReturnAction),
    handler: (request) => {
      const { revision, receiptUrl } = request.body
      checkTexts({ receiptUrl })
      const returned = { amountMinor: amountOf('amountMinor', request.body.amountMinor, currency)!, receiptUrl }
      return act(request, ({ transfer: { trackingId } }) =>
        transfers.returnFunds(trackingId, returned, contextOf(request), { revision }),
      )
    },
  })
  for (const [action, method] of [
    ['resolve', 'resolveAttention'],
    ['reopen', 'reopen'],
  ] as const) {
    app.route({
      ...route(action, ReasonAction),
      handler: (request) => {
        const { revision, reason } = request.body
        checkTexts({ reason })
        return act(request, ({ transfer: { trackingId } }) =>
          transfers[method](trackingId, reason, contextOf(request), { revision }),
        )
      },
    })
  }
}

/** @throws RequestError with the later events and their users */
export function acceptedOf(result: TransferResult, request: FastifyRequest, options: SettlingOptions): FoundTransfer {
  return accepted('transfer', result, viewingOf(request, options).nameOf)
}

/** Requires a recent sign-in for a large payment. @throws RequestError */
export function askRecent(
  app: FastifyInstance,
  request: FastifyRequest,
  options: SettlingOptions,
  payments: readonly { readonly transfer: Transfer; readonly amountMinor: bigint }[],
): void {
  if (app.viewers.sessions.isRecent(request.visit!.session)) return
  const viewing = viewingOf(request, options)
  const isLarge = payments.some(({ transfer, amountMinor }) => {
    return needsApproval(transfer, amountMinor, actorOf(transfer, viewing, options).approvalAboveMinor)
  })
  if (isLarge) throw new RequestError('recent-sign-in-needed')
}

/** @throws RequestError for an amount that the currency cannot represent */
function amountOf(field: string, amountMinor: number | undefined, currency: Currency): bigint | undefined {
  return checkedAmount(field, amountMinor === undefined ? undefined : BigInt(amountMinor), currency)
}
