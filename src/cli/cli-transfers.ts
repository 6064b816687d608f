import type { Command } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import type { TransferResult } from '../commands/transfer/transfer-requests.js'
import { formatTwoDecimals, toJsonNumber } from '../domain/money.js'
import { type Status, statusCodes } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { FoundTransfer } from '../queries/transfer-queries.js'
import type { CommandStores } from './cli-stores.js'
import { AlreadyDone, defineCommand, findMerchant, type Listing, listed, Refused, UsageError } from './command.js'
import {
  amount,
  choice,
  cursor,
  flag,
  message,
  type OptionSpecs,
  option,
  pageOptions,
  reason,
  required,
  time,
  url,
  type Values,
} from './options.js'
import { age, shortId } from './readable.js'

export function addTransferCommands(program: Command): void {
  const transfers = program.command('transfers').description('show and settle transfers')
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
        const { viewOfDocument } = await import('../http/v1/v1-transfer-view.js')
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
  addSettlingCommands(transfers)
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
  const { viewOfTransfer } = await import('../http/v1/v1-transfer-view.js')
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

const statusChanges = [
  {
    name: 'manual',
    type: 'SendToManualControl',
    description: 'send a transfer to manual review',
    events: ['TransferSentToManualControl', 'TransferReopened'],
  },
  {
    name: 'cancel',
    type: 'Cancel',
    description: 'cancel a transfer without payment',
    events: ['TransferCancelled'],
  },
  {
    name: 'fail',
    type: 'Fail',
    description: 'record that a transfer could not be paid',
    events: ['TransferFailed'],
  },
] as const

/** Adds the commands that settle a transfer and its money. */
function addSettlingCommands(transfers: Command): void {
  const amountDefault = 'the transferred amount (default: the received amount, or the requested one)'
  settles(transfers, 'complete', 'record that the money has arrived or was paid', {
    options: {
      amount: option('<amount>', amountDefault, amount),
      confirmAmount: option('<amount>', 'repeats an unlikely amount', amount),
      reason: option('<text>', 'required if the amount differs from the received one', reason),
      receiptUrl: option('<url>', 'the address of the receipt', url),
      message: option('<text>', 'for the merchant', message),
    },
    async decide({ transfers, context, notify }, id, { amount, confirmAmount, reason, receiptUrl, message }) {
      const amounts = { transactionAmountMinor: amount, confirmedAmountMinor: confirmAmount }
      const result = await transfers.act(id, { type: 'Complete', ...amounts, reason, receiptUrl, message }, context)
      if (result.accepted && result.transfer.status === 'Cancelled')
        notify('the deposit was cancelled because the amount differs from the requested one: nothing is booked')
      return result
    },
    hasEffect: ({ type, data }) =>
      type === 'TransferCompleted' || ('autoCancelledAmountMinor' in data && data.autoCancelledAmountMinor !== null),
  })
  for (const { name, type, description, events } of statusChanges) {
    settles(transfers, name, description, {
      options: { message: option('<text>', 'for the merchant', message) },
      decide: ({ transfers, context }, id, options) =>
        transfers.act(id, { type, message: options.message ?? null }, context),
      hasEffect: (event) => events.some((each) => each === event.type),
    })
  }
  settles(transfers, 'reopen', 'put a cancelled or failed deposit into ManualControl', {
    options: { reason: required(option('<text>', 'for the merchant', reason)) },
    decide: ({ transfers, context }, id, { reason }) => transfers.act(id, { type: 'Reopen', reason }, context),
    hasEffect: ({ type }) => type === 'TransferReopened',
  })
  const receipt = "the address of the return's receipt; each receipt stands for one return"
  settles(transfers, 'return', 'record that money of a deposit was paid back', {
    options: {
      amount: required(option('<amount>', 'the returned amount, such as 95.00', amount)),
      receiptUrl: required(option('<url>', receipt, url)),
    },
    decide: ({ transfers, context }, id, { amount: amountMinor, receiptUrl }) =>
      transfers.act(id, { type: 'ReturnFunds', amountMinor, receiptUrl }, context),
    hasEffect: ({ type, data }, { receiptUrl }) => type === 'FundsReturned' && data.receiptUrl === receiptUrl,
  })
  settles(transfers, 'resolve', 'end the need for attention of a deposit', {
    options: { reason: required(option('<text>', 'how it was settled', reason)) },
    decide: ({ transfers, context }, id, { reason }) =>
      transfers.act(id, { type: 'ResolveAttention', reason }, context),
    hasEffect: ({ type }) => type === 'AttentionResolved',
  })
}

interface Settling<Options extends OptionSpecs> {
  readonly options: Options
  readonly decide: (stores: CommandStores, trackingId: string, options: Values<Options>) => Promise<TransferResult>
  /** Returns whether an event has the effect of the command. */
  readonly hasEffect: (event: TransferEvent, options: Values<Options>) => boolean
}

function settles<Options extends OptionSpecs>(
  transfers: Command,
  name: string,
  description: string,
  { options, decide, hasEffect }: Settling<Options>,
): void {
  defineCommand(transfers, `${name} <trackingId>`, description, {
    options,
    async run(stores, given, trackingId: string) {
      const result = await decide(stores, trackingId, given)
      return settled(stores, trackingId, result, (event) => hasEffect(event, given))
    },
  })
}

/**
 * Returns the transfer after the command. If the command changed nothing, looks for the earlier event that had its effect, to report the
 * user. @throws Refused, AlreadyDone
 */
async function settled(
  stores: CommandStores,
  trackingId: string,
  result: TransferResult,
  hasEffect: (event: TransferEvent) => boolean,
) {
  const { transfers, context } = stores
  if (!result.accepted) throw await refusalOf(stores, trackingId, result)
  const { changed, revision } = result
  const shown = { ...(await shownTransfer(stores, (await transfers.find(trackingId))!)), changed }
  if (changed) return shown
  const history = await transfers.history(trackingId)
  const done = history.findLast((entry) => entry.revision <= revision && hasEffect(entry.event))
  if (!done) {
    stores.notify('nothing was changed: there is nothing to do')
    return shown
  }
  const [{ actor }, { at }] = [done.metadata, done.event.data]
  const { status, transactionAmountMinor } = result.transfer
  const state = `${status} with ${formatTwoDecimals(transactionAmountMinor)}`
  const notice = `nothing was changed: ${actor} did it at ${at}, and the transfer was already ${state}`
  if (actor !== context.actor) throw new AlreadyDone(notice, { ...shown, doneBy: { actor, at } })
  stores.notify(notice)
  return shown
}

const ends: readonly TransferEvent['type'][] = ['TransferCompleted', 'TransferCancelled', 'TransferFailed']

/** Returns the refusal, with the user who gave the transfer its final status. */
async function refusalOf(
  stores: CommandStores,
  trackingId: string,
  { refusal }: Extract<TransferResult, { accepted: false }>,
): Promise<Refused> {
  const { transfers, context } = stores
  const text = refusalText(refusal)
  if (refusal.rule !== 'status-final' && refusal.rule !== 'booking-final') return new Refused(text)
  const end = (await transfers.history(trackingId)).findLast(({ event }) => ends.includes(event.type))
  if (!end) return new Refused(text)
  const [{ actor }, { at }] = [end.metadata, end.event.data]
  const reasonWithActor = `${text} ${actor} did that at ${at}.`
  if (refusal.rule === 'status-final' || actor === context.actor) return new Refused(reasonWithActor)
  // The second of two operators who complete a transfer gets this status regardless of the amounts.
  const shown = { ...(await shownTransfer(stores, (await transfers.find(trackingId))!)), changed: false }
  return new AlreadyDone(`nothing was changed: ${reasonWithActor}`, { ...shown, doneBy: { actor, at } })
}
