import { type Command, Option } from 'commander'
import type { TransferResult } from '../commands/transfers.js'
import { toJsonNumber } from '../domain/money.js'
import type { TransferKind } from '../domain/transfer/events.js'
import { type Status, statusCodes } from '../domain/transfer/transfer.js'
import type { FoundTransfer } from '../queries/transfers.js'
import { accepted, answer, answerPage, type PageOptions, Refused } from './command.js'
import { amount, message, moment, reason, trackingId, url } from './options.js'
import { allMerchants, type Workplace } from './workplace.js'

export function addTransferCommands(program: Command): void {
  const transfers = program.command('transfers').description('look at transfers and settle them')
  answer(
    transfers.command('show').argument('<trackingId>', '', trackingId).description('a transfer as the log has it'),
    showTransfer,
  )
  const list = transfers.command('list').description('transfers, newest first')
  answerPage(
    list
      .option('--merchant <id>', 'of this merchant')
      .option('--reference-id <id>', 'with this referenceId')
      .addOption(new Option('--status <status>', 'with this status').choices(Object.keys(statusCodes)))
      .addOption(new Option('--kind <kind>', 'of this kind').choices(['deposit', 'withdrawal']))
      .option('--from <time>', 'created then or later', moment)
      .option('--to <time>', 'created before', moment),
    listTransfers,
  )
  const complete = transfers
    .command('complete')
    .argument('<trackingId>', '', trackingId)
    .description('the money has arrived, or was paid')
  answer(
    complete
      .option(
        '--amount <amount>',
        'what was really transferred, such as 95.00; otherwise the money known to have come, or else the requested amount',
        amount,
      )
      .option('--receipt-url <url>', 'address of the receipt', url)
      .option('--message <text>', 'for the merchant', message),
    completeTransfer,
  )
  addChange(transfers, 'manual', 'SendToManualControl', 'somebody has to look at it')
  addChange(transfers, 'cancel', 'Cancel', 'nothing is paid')
  const reopen = transfers
    .command('reopen')
    .argument('<trackingId>', '', trackingId)
    .description('put a cancelled or failed deposit into ManualControl')
  answer(reopen.requiredOption('--reason <text>', 'for the merchant', reason), reopenTransfer)
  addChange(transfers, 'fail', 'Fail', 'it could not be paid')
}

function addChange(
  transfers: Command,
  name: string,
  type: 'SendToManualControl' | 'Cancel' | 'Fail',
  description: string,
): void {
  const command = transfers.command(name).argument('<trackingId>', '', trackingId).description(description)
  answer(
    command.option('--message <text>', 'for the merchant', message),
    async (workplace: Workplace, options: { message?: string }, trackingId: string) => {
      const { transfers, context } = workplace
      return changedTransfer(
        workplace,
        await transfers.changeStatus(trackingId, type, options.message ?? null, context),
      )
    },
  )
}

async function completeTransfer(
  workplace: Workplace,
  options: { amount?: bigint; receiptUrl?: string; message?: string },
  trackingId: string,
) {
  const request = {
    ...(options.amount !== undefined && { transactionAmountMinor: options.amount }),
    ...(options.receiptUrl !== undefined && { receiptUrl: options.receiptUrl }),
    ...(options.message !== undefined && { message: options.message }),
  }
  return changedTransfer(workplace, await workplace.transfers.complete(trackingId, request, workplace.context))
}

async function reopenTransfer(workplace: Workplace, options: { reason: string }, trackingId: string) {
  return changedTransfer(workplace, await workplace.transfers.reopen(trackingId, options.reason, workplace.context))
}

async function showTransfer(workplace: Workplace, _options: object, trackingId: string) {
  const found = await workplace.transfers.find(trackingId)
  if (!found) throw new Refused('There is no such transfer.')
  return { ...(await view(workplace, found)), walletCollections: await walletCollections(workplace, trackingId) }
}

/** Whose account paid, as the log has it: whoever gives money back must know whom. In the order the wallet was asked. */
async function walletCollections({ eventStore }: Workplace, trackingId: string) {
  const { loadStream } = await import('../commands/handle-command.js')
  const { paymentStream } = await import('../commands/ids.js')
  const { paymentDecider } = await import('../domain/payment/payment.js')
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
}

async function listTransfers(workplace: Workplace, options: ListOptions) {
  const { merchant, referenceId, status, kind, from, to, limit, cursor } = options
  if (merchant !== undefined && !(await workplace.merchants.find(merchant))) {
    throw new Refused('There is no such merchant.')
  }
  const queries = await import('../queries/transfers.js')
  const filter = { status, kind, from, to, limit, cursor }
  if (referenceId === undefined) {
    const { items, nextCursor } = await queries.listTransfers(workplace.readModels, merchant, filter)
    const { viewOfDocument } = await import('../http/transfer-view.js')
    const currency = workplace.configuration.currency.code
    return {
      items: items.map((each) => ({ ...viewOfDocument(each), currency, merchantId: each.merchantId })),
      nextCursor,
    }
  }
  const merchantIds = merchant ? [merchant] : (await allMerchants(workplace)).map(({ merchantId }) => merchantId)
  const { items, nextCursor } = await queries.listByReferenceId(workplace.transfers, merchantIds, referenceId, filter)
  return { items: await Promise.all(items.map((each) => view(workplace, each))), nextCursor }
}

/** As the log has it after the change; somebody else may have gone on meanwhile. */
async function changedTransfer(workplace: Workplace, result: TransferResult) {
  const { transfer, changed } = accepted(result)
  if (!changed) console.error(`transferd: nothing was changed: the transfer was ${transfer.status} before`)
  const found = await workplace.transfers.find(transfer.trackingId)
  return { ...(await view(workplace, found!)), changed }
}

/** As `GET /v1/transfers/:trackingId` shows it, with the currency and the merchant. */
async function view({ configuration }: Workplace, { transfer, revision }: FoundTransfer) {
  const { viewOfTransfer } = await import('../http/transfer-view.js')
  const currency = configuration.currency.code
  return { ...viewOfTransfer(transfer, revision), currency, merchantId: transfer.merchantId }
}
