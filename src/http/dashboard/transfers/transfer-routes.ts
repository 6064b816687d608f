import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../../commands/transfer/transfers.js'
import type { UserDirectory } from '../../../commands/user/user-commands.js'
import { type Actor, possibleActions } from '../../../domain/transfer/allowed-actions.js'
import { needsApproval } from '../../../domain/transfer/settling.js'
import { isTerminal, noFunds, returnedMinor, type Transfer, unsettledMinor } from '../../../domain/transfer/transfer.js'
import { isAllowed, type Permission } from '../../../domain/user/permissions.js'
import { UnreadableEventError } from '../../../event-store/event-codec.js'
import { Type } from '../../../kernel/typebox.js'
import type { FoundTransfer } from '../../../queries/transfer-queries.js'
import { RequestError } from '../../refusals.js'
import { streamId } from '../../v1/own-transfer.js'
import { actorNames } from '../actor-names.js'
import { type TransferAction, TransferDetail, type TransferDetailView } from '../api.js'
import { rowOf, userIdOf, type Viewing } from './transfer-row.js'

export interface TransferOptions {
  readonly transfers: TransferCommands
  readonly directory: MerchantDirectory
  readonly userDirectory: UserDirectory
  readonly clock: () => string
}

export const TransferParams = Type.Object({ trackingId: Type.String() })

/** The permission that each action requires. */
export const permissionOf = {
  claim: 'transfers:settle',
  release: 'transfers:settle',
  complete: 'transfers:settle',
  cancel: 'transfers:settle',
  'manual-control': 'transfers:settle',
  return: 'transfers:settle',
  approve: 'transfers:approve',
  resolve: 'transfers:approve',
  reopen: 'transfers:approve',
} as const satisfies { readonly [action in TransferAction]: Permission }

export const transferRoutes: FastifyPluginAsyncTypebox<TransferOptions> = async (app, options) => {
  app.route({
    method: 'GET',
    url: '/transfers/:trackingId',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, params: TransferParams, response: { 200: TransferDetail } },
    handler: async (request) =>
      detailOf(await seenTransfer(app, options, request, request.params.trackingId), request, options),
  })
}

/** Loads a transfer from the log. @throws RequestError if it is unknown or the viewer has no access to its merchant */
export async function seenTransfer(
  app: FastifyInstance,
  { transfers }: Pick<TransferOptions, 'transfers'>,
  request: FastifyRequest,
  trackingId: string,
): Promise<FoundTransfer> {
  const found = await transfers.find(streamId(trackingId))
  if (!found || !app.viewers.sees(request, found.transfer.merchantId)) throw new RequestError('unknown-transfer')
  return found
}

/** Returns a complete transfer with the actions that the viewer can take. */
export async function detailOf(
  found: FoundTransfer,
  request: FastifyRequest,
  options: TransferOptions,
): Promise<TransferDetailView> {
  const { transfer } = found
  const viewing = viewingOf(request, options)
  const payoutsStopped = await arePayoutsStopped(transfer, options)
  const actor = { ...actorOf(transfer, viewing, options), payoutsStopped }
  const funds = transfer.kind === 'deposit' ? transfer.funds : noFunds
  return {
    ...rowOf(found, viewing),
    channel: transfer.kind === 'deposit' ? transfer.channel : null,
    identityNumber: transfer.kind === 'withdrawal' ? transfer.identityNumber : null,
    receiptUrl: transfer.receiptUrl,
    message: transfer.message,
    receivedMinor: Number(funds.receivedMinor),
    returnedMinor: Number(returnedMinor(funds)),
    resolvedMinor: Number(funds.resolvedMinor),
    unsettledMinor: Number(unsettledMinor(transfer)),
    approval: approvalOf(transfer, actor, viewing),
    actions: possibleActions(transfer, actor).filter((action) => isAllowed(viewing.viewer.role, permissionOf[action])),
    payoutsStopped,
  }
}

/** Returns whether payouts are stopped. This is only displayed, so a failure to read it does not fail the request. Commands check it again. */
async function arePayoutsStopped({ kind, status }: Transfer, { transfers }: TransferOptions): Promise<boolean> {
  if (kind === 'deposit' || isTerminal(status)) return false
  try {
    return await transfers.arePayoutsStopped()
  } catch (error) {
    // If the decision cannot be read, nothing can be paid.
    return error instanceof UnreadableEventError
  }
}

export function viewingOf({ viewer }: FastifyRequest, options: TransferOptions): Viewing {
  return { viewer, nameOf: actorNames(options.userDirectory, viewer), at: options.clock() }
}

/** Returns the viewer in the form that the domain's rules require. */
export function actorOf(
  { merchantId }: Transfer,
  { viewer, at }: Pick<Viewing, 'viewer' | 'at'>,
  { directory }: Pick<TransferOptions, 'directory'>,
): Actor {
  const approvalAboveMinor = directory.byId(merchantId)?.settings.approvalAboveMinor ?? null
  return { by: `user:${viewer.userId}`, approvalAboveMinor, at }
}

function approvalOf(transfer: Transfer, { approvalAboveMinor }: Actor, { nameOf }: Viewing) {
  const approval = transfer.kind === 'withdrawal' ? transfer.payout.approval : null
  return {
    needed: !isTerminal(transfer.status) && needsApproval(transfer, transfer.amountMinor, approvalAboveMinor),
    by: approval && {
      ...{ userId: userIdOf(approval.by), name: nameOf(approval.by), at: approval.at },
      amountMinor: Number(approval.amountMinor),
    },
  }
}
