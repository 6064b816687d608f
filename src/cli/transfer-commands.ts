import { type Command, Option } from 'commander'
import { toJsonNumber } from '../domain/money.js'
import { type Status, statusCodes } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import type { CommandStores } from './cli-stores.js'
import {
  defineCommand,
  definePagedCommand,
  findMerchant,
  type Listing,
  type PageOptions,
  Refused,
  UsageError,
} from './command.js'
import { time, trackingId } from './options.js'
import { age, shortId } from './readable.js'
import { addSettlingCommands } from './settle-commands.js'
import { shownTransfer } from './shown-transfer.js'

export function addTransferCommands(program: Command): void {
  const transfers = program.command('transfers').description('show and settle transfers')
  defineCommand(
    transfers.command('show').argument('<trackingId>', '', trackingId).description('show a transfer'),
    showTransfer,
  )
  const list = transfers.command('list').description('transfers, newest first')
  definePagedCommand(
    list
      .option('--merchant <id>', 'of this merchant')
      .option('--reference-id <id>', 'with this referenceId')
      .addOption(new Option('--status <status>', 'with this status').choices(Object.keys(statusCodes)))
      .addOption(new Option('--kind <kind>', 'of this kind').choices(['deposit', 'withdrawal']))
      .option('--from <time>', 'created at or after', time)
      .option('--to <time>', 'created before', time)
      .option(
        '--needs-attention',
        'only transfers whose money needs a decision; cannot be combined with other filters',
      ),
    listTransfers,
    transferTable,
  )
  addSettlingCommands(transfers)
}

type ShownTransfer = Awaited<ReturnType<typeof shownTransfer>>

const transferTable: Listing<ShownTransfer> = {
  columns: ({ configuration: { currency } }) => [
    { head: 'ID', cell: ({ trackingId }) => shortId(trackingId) },
    { head: 'KIND', cell: ({ kind }) => kind },
    { head: 'STATUS', cell: ({ statusDescription }) => statusDescription },
    { head: 'AMOUNT', cell: ({ amount }) => `${amount.toFixed(currency.decimals)} ${currency.code}`, align: 'right' },
    { head: 'REFERENCE', cell: ({ referenceId }) => referenceId, max: 28 },
    { head: 'MERCHANT', cell: ({ merchantId }) => shortId(merchantId) },
    { head: 'AGE', cell: ({ createdAt }) => age(createdAt) },
  ],
  emptyText: 'No transfers found.',
  hint: (items) =>
    items.some(({ needsAttention }) => needsAttention)
      ? 'some need attention: transferd transfers return <id>, or resolve <id> (transfers list --needs-attention)'
      : undefined,
}

async function showTransfer(stores: CommandStores, _options: object, trackingId: string) {
  const found = await stores.transfers.find(trackingId)
  if (!found) throw new Refused('Transfer not found.')
  return {
    ...(await shownTransfer(stores, found)),
    walletCollections: await walletCollections(stores, trackingId),
  }
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
      endedAt,
      reason,
      receiptUrl,
    }),
  )
}

interface ListOptions extends PageOptions {
  merchant?: string
  referenceId?: string
  status?: Status
  kind?: TransferKind
  from?: string
  to?: string
  needsAttention?: true
}

async function listTransfers(stores: CommandStores, options: ListOptions) {
  const { merchant, referenceId, status, kind, from, to, needsAttention, limit, cursor } = options
  if (merchant !== undefined) await findMerchant(stores, merchant)
  const queries = await import('../queries/transfer-queries.js')
  const filter = { status, kind, from, to, limit, cursor }
  if (needsAttention && [merchant, referenceId, status, kind, from, to].some((each) => each !== undefined)) {
    throw new UsageError('--needs-attention cannot be combined with other filters')
  }
  if (referenceId === undefined) {
    const readModels = await stores.readModels()
    const { items, nextCursor } = needsAttention
      ? await queries.listNeedingAttention(readModels, filter)
      : await queries.listTransfers(readModels, merchant, filter)
    const { viewOfDocument } = await import('../http/v1/transfer-view.js')
    const currency = stores.configuration.currency.code
    return {
      items: items.map((each) => ({ ...viewOfDocument(each), currency, merchantId: each.merchantId })),
      nextCursor,
    }
  }
  const merchantIds = merchant ? [merchant] : (await stores.allMerchants()).map(({ merchantId }) => merchantId)
  const { items, nextCursor } = await queries.listByReferenceId(stores.transfers, merchantIds, referenceId, filter)
  return { items: await Promise.all(items.map((each) => shownTransfer(stores, each))), nextCursor }
}
