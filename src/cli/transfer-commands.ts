import type { Command } from 'commander'
import { toJsonNumber } from '../domain/money.js'
import { type Status, statusCodes } from '../domain/transfer/transfer.js'
import type { FoundTransfer } from '../queries/transfer-queries.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, findMerchant, type Listing, listed, Refused, UsageError } from './command.js'
import { choice, cursor, flag, option, pageOptions, time } from './options.js'
import { age, shortId } from './readable.js'

/** Adds the commands that show transfers. */
export function addTransferCommands(transfers: Command): void {
  defineCommand(transfers, 'show <trackingId>', 'show a transfer', {
    async run(stores, _, trackingId: string) {
      const found = await stores.transfers.find(trackingId)
      if (!found) throw new Refused('Transfer not found.')
      return {
        ...(await shownTransfer(stores, found)),
        walletCollections: await walletCollections(stores, trackingId),
      }
    },
  })
  const attention = 'only transfers whose money needs a decision; cannot be combined with other filters'
  defineCommand(transfers, 'list', 'transfers, newest first', {
    options: {
      merchant: option('<id>', 'of this merchant'),
      referenceId: option('<id>', 'with this referenceId'),
      status: choice('<status>', 'with this status', Object.keys(statusCodes) as Status[]),
      kind: choice('<kind>', 'of this kind', ['deposit', 'withdrawal'] as const),
      from: option('<time>', 'created at or after', time),
      to: option('<time>', 'created before', time),
      needsAttention: flag(attention),
      ...pageOptions(cursor),
    },
    async run(stores, options) {
      const { merchant, referenceId, status, kind, from, to, needsAttention, limit, cursor } = options
      if (merchant !== undefined) await findMerchant(stores, merchant)
      const queries = await import('../queries/transfer-queries.js')
      const filter = { status, kind, from, to, limit, cursor }
      if (needsAttention && [merchant, referenceId, status, kind, from, to].some((each) => each !== undefined))
        throw new UsageError('--needs-attention cannot be combined with other filters')
      if (referenceId === undefined) {
        const readModels = await stores.readModels()
        const { items, nextCursor } = needsAttention
          ? await queries.listNeedingAttention(readModels, filter)
          : await queries.listTransfers(readModels, merchant, filter)
        const { viewOfDocument } = await import('../http/v1/transfer-view.js')
        const currency = stores.configuration.currency.code
        const viewed = items.map((each) => ({ ...viewOfDocument(each), currency, merchantId: each.merchantId }))
        return { items: viewed, nextCursor }
      }
      const merchantIds = merchant ? [merchant] : (await stores.allMerchants()).map(({ merchantId }) => merchantId)
      const { items, nextCursor } = await queries.listByReferenceId(stores.transfers, merchantIds, referenceId, filter)
      return { items: await Promise.all(items.map((each) => shownTransfer(stores, each))), nextCursor }
    },
    text: (page, stores) => listed(page, transferTable(stores), stores),
  })
}

function transferTable({ configuration: { currency } }: CommandStores): Listing<ShownTransfer> {
  return {
    columns: {
      ID: ({ trackingId }) => shortId(trackingId),
      KIND: 'kind',
      STATUS: 'statusDescription',
      AMOUNT: { cell: ({ amount }) => `${amount.toFixed(currency.decimals)} ${currency.code}`, align: 'right' },
      REFERENCE: { cell: 'referenceId', max: 28 },
      MERCHANT: ({ merchantId }) => shortId(merchantId),
      AGE: ({ createdAt }) => age(createdAt),
    },
    none: 'No transfers found.',
    hint: (items) =>
      items.some(({ needsAttention }) => needsAttention)
        ? 'some need attention: transferd transfers return <id>, or resolve <id> (transfers list --needs-attention)'
        : undefined,
  }
}

type ShownTransfer = Awaited<ReturnType<typeof shownTransfer>>

/** Returns a transfer as `GET /v1/transfers/:trackingId` shows it, with the currency and the merchant. */
export async function shownTransfer({ configuration }: CommandStores, { transfer, revision }: FoundTransfer) {
  const { viewOfTransfer } = await import('../http/v1/transfer-view.js')
  const currency = configuration.currency.code
  return { ...viewOfTransfer(transfer, revision), currency, merchantId: transfer.merchantId }
}

/** Returns the accounts that paid, in the order of the wallet's collections. An operator needs them to return money. */
async function walletCollections({ eventStore }: CommandStores, trackingId: string) {
  const { loadStream } = await import('../commands/handle-command.js')
  const { paymentStream } = await import('../domain/streams.js')
  const { paymentDecider } = await import('../domain/payment.js')
  const { state } = await loadStream(eventStore, paymentDecider, paymentStream(trackingId))
  return state.collections.map(
    ({ accountNumber, amountMinor, outcome, collectedAmountMinor, reason, receiptUrl, endedAt }) => ({
      accountNumber,
      amount: toJsonNumber(amountMinor),
      outcome,
      collectedAmount: toJsonNumber(collectedAmountMinor),
      ...{ endedAt, reason, receiptUrl },
    }),
  )
}
