import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import {
  type FoundTransfer,
  hasEffect,
  type TransferAction,
  type TransferResult,
} from '../commands/transfer/transfer-requests.js'
import { violate } from '../domain/decider.js'
import { formatTwoDecimals, toJsonNumber } from '../domain/money.js'
import { refusalText } from '../domain/refusal-texts.js'
import { type Status, statusCodes } from '../domain/transfer/status.js'
import type { Transfer } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { storedUuid } from '../kernel/uuid.js'
import { addBankFileCommand } from './cli-bank-files.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, type Examples, findMerchant } from './command.js'
import { AlreadyDone, Refused, refusedBy, UsageError } from './failures.js'
import { amountText, columnsOnlyIn, type ListColumn, type Listing } from './listing.js'
import {
  amount,
  choice,
  cursor,
  flag,
  integer,
  message,
  type OptionSpecs,
  option,
  pageOptions,
  reason,
  reference,
  required,
  returnReason,
  text,
  time,
  url,
  type Values,
} from './options.js'
import { age, shortId } from './readable.js'

export function addTransferCommands(program: Command): void {
  const transfers = program.command('transfers').description('show and settle transfers')
  defineCommand(transfers, 'show <trackingId>', 'show a transfer', {
    examples: ['7b0f2c1e --watch', '7b0f2c1e --json'],
    watch: true,
    async run(stores, _, trackingId: string) {
      const found = await stores.transfers.find(trackingId)
      if (!found) throw refusedBy(violate('unknown-transfer'))
      return {
        ...(await shownTransfer(stores, found)),
        walletCollections: await walletCollections(stores, trackingId),
      }
    },
  })
  const attention = 'only transfers whose money needs a decision; cannot be combined with other filters'
  defineCommand(transfers, 'list', 'transfers, newest first', {
    examples: [
      '--status Pending --kind withdrawal --merchant f5ebe0d2',
      '--from 2026-11-21 --to 2026-11-22 --limit 1000 --json',
    ],
    options: {
      merchant: option('<id>', 'of this merchant', storedUuid),
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
          : await queries.listTransfers({ readModels }, { merchantId: merchant, ...filter })
        const { viewsOfDocuments } = await import('../http/v1/v1-transfer-view.js')
        const currency = stores.configuration.currency.code
        const views = await viewsOfDocuments(stores.transfers, items)
        const viewed = views.map((view, n) => ({ ...view, currency, merchantId: items[n]!.merchantId }))
        return { items: viewed, nextCursor }
      }
      const merchantIds = merchant ? [merchant] : (await stores.allMerchants()).map(({ merchantId }) => merchantId)
      const { items, nextCursor } = await queries.listByReferenceId(stores.transfers, merchantIds, referenceId, filter)
      return { items: await Promise.all(items.map((each) => shownTransfer(stores, each))), nextCursor }
    },
    list: transferListing,
    watch: true,
  })
  addSettlingCommands(transfers)
  addBankFileCommand(transfers)
}

type ShownTransfer = Awaited<ReturnType<typeof shownTransfer>>

const transferListing: Listing<ShownTransfer> = {
  columns: {
    trackingId: { head: 'ID', short: ({ trackingId }) => shortId(trackingId) },
    kind: {},
    statusDescription: { head: 'STATUS' },
    amount: amountColumn('amount'),
    referenceId: { head: 'REFERENCE', max: 28 },
    merchantId: { head: 'MERCHANT', short: ({ merchantId }) => shortId(merchantId) },
    createdAt: { head: 'AGE', short: ({ createdAt }) => age(createdAt) },
    transactionAmount: { ...amountColumn('transactionAmount'), head: 'MOVED', only: 'wide and csv' },
    ...columnsOnlyIn('wide and csv', 'updatedAt', 'expiresAt', 'userId', 'claimedBy', 'message'),
    ...columnsOnlyIn('csv', 'transactionId', 'channel', 'currency', 'hasAmountMismatch', 'needsAttention'),
    status: { head: 'STATUS CODE', only: 'csv' },
    receivedAmount: { ...amountColumn('receivedAmount'), only: 'csv' },
    returnedAmount: { ...amountColumn('returnedAmount'), only: 'csv' },
    refundedAmount: { ...amountColumn('refundedAmount'), only: 'csv' },
    reservedAmount: { ...amountColumn('reservedAmount'), only: 'csv' },
    resolvedAmount: { ...amountColumn('resolvedAmount'), only: 'csv' },
    lateFunds: { ...amountColumn('lateFunds'), only: 'csv' },
    approvedAmount: { ...amountColumn('approvedAmount'), only: 'csv' },
    proposedAmount: { ...amountColumn('proposedAmount'), only: 'csv' },
    ...columnsOnlyIn(
      'csv',
      'receiptUrl',
      'name',
      'username',
      'paymentMethod',
      'claimedUntil',
      'bankFile',
      'bankRejection',
    ),
    ...columnsOnlyIn('csv', 'exceededLimits', 'accountNumber', 'identityNumber', 'refundOf', 'refunds'),
    ...columnsOnlyIn('csv', 'repaymentOf', 'repayments', 'metadata', 'revision'),
  },
  none: 'No transfers found.',
  hint: (items) =>
    items.some(({ needsAttention }) => needsAttention)
      ? 'some need attention: transferd transfers return <id>, or resolve <id> (transfers list --needs-attention)'
      : undefined,
}

type AmountField = 'lateFunds' | Extract<keyof ShownTransfer, `${string}mount`>

function amountColumn(field: AmountField): ListColumn<ShownTransfer> {
  const textOf = ({ currency, [field]: amount }: ShownTransfer) =>
    typeof amount === 'number' ? amountText(amount, currency) : null
  return { cell: textOf, align: 'right' }
}

/** Returns a transfer as `GET /v1/transfers/:trackingId` shows it, with the currency and the merchant. */
async function shownTransfer({ configuration, transfers }: CommandStores, found: FoundTransfer) {
  const { viewOf } = await import('../http/v1/v1-transfer-view.js')
  const currency = configuration.currency.code
  const view = await viewOf(transfers, found)
  return { ...view, currency, merchantId: found.transfer.merchantId }
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

const statusChanges = [
  {
    ...({ name: 'manual', type: 'SendToManualControl', description: 'send a transfer to manual review' } as const),
    examples: ['7b0f2c1e', '7b0f2c1e --message "We are checking your payment."'],
  },
  {
    ...({ name: 'cancel', type: 'Cancel', description: 'cancel a transfer without payment' } as const),
    examples: ['7b0f2c1e', '7b0f2c1e --message "The deposit was paid twice."'],
  },
  {
    ...({ name: 'fail', type: 'Fail', description: 'record that a transfer could not be paid' } as const),
    examples: ['19c4a7d0', '19c4a7d0 --message "The bank rejected the account."'],
  },
] as const

/** Adds the commands that settle a transfer and its money. */
function addSettlingCommands(transfers: Command): void {
  const confirmAmount = option('<amount>', 'repeats an unlikely amount', amount)
  const amountDefault = 'the transferred amount (default: the received amount, or the requested one)'
  settles(
    transfers,
    'complete',
    'record that the money has arrived or was paid',
    ['7b0f2c1e', '7b0f2c1e --amount 95.00 --reason "the bank kept a fee" --receipt-url https://bank.example/r/1'],
    {
      amount: option('<amount>', amountDefault, amount),
      confirmAmount,
      reason: option('<text>', 'required if the amount differs from the received one', reason),
      receiptUrl: option('<url>', 'the address of the receipt', url),
      message: option('<text>', 'for the merchant', message),
    },
    ({ amount: transactionAmountMinor, confirmAmount: confirmedAmountMinor, reason, receiptUrl, message }) => {
      return { type: 'Complete', transactionAmountMinor, confirmedAmountMinor, reason, receiptUrl, message }
    },
  )
  settles(
    transfers,
    'receive',
    'record a payment for a deposit that is paid manually, which can arrive in parts',
    [
      '7b0f2c1e --amount 60 --reference FT2611270091',
      '7b0f2c1e --amount 40 --reference FT2611280017 --receipt-url https://bank.example/r/5',
    ],
    {
      amount: required(option('<amount>', 'the received amount, such as 60.00', amount)),
      confirmAmount,
      reference: required(option('<text>', "the bank's reference; each stands for one payment", reference)),
      receiptUrl: option('<url>', 'the address of the receipt', url),
    },
    ({ amount: receivedAmountMinor, confirmAmount: confirmedAmountMinor, reference, receiptUrl }) => {
      return { type: 'ReceivePart', receivedAmountMinor, confirmedAmountMinor, reference, receiptUrl }
    },
  )
  settles(
    transfers,
    'correct',
    'correct the amount of a completed transfer',
    [
      '7b0f2c1e --amount 95.00 --reason "The amount was mistyped."',
      '19c4a7d0 --amount 95.00 --reason "The bank paid less." --reference CASE-4711',
    ],
    {
      amount: required(option('<amount>', 'the amount that moved, such as 95.00', amount)),
      confirmAmount,
      reason: required(option('<text>', 'why, for the history', reason)),
      reference: option('<text>', 'your own reference; each stands for one correction', reference),
    },
    ({ amount: amountMinor, confirmAmount: confirmedAmountMinor, reason, reference }) => {
      return { type: 'Correct', amountMinor, confirmedAmountMinor, reason, reference }
    },
  )
  settles(
    transfers,
    'approve-correction',
    "approve another user's correction",
    ['7b0f2c1e --amount 95.00', '7b0f2c1e --amount 95.00 --json'],
    { amount: required(option('<amount>', 'the proposed amount, such as 95.00', amount)) },
    ({ amount: amountMinor }) => ({ type: 'ApproveCorrection', amountMinor }),
  )
  for (const { name, type, description, examples } of statusChanges) {
    const options = { message: option('<text>', 'for the merchant', message) }
    settles(transfers, name, description, examples, options, ({ message = null }) => ({ type, message }))
  }
  const releases = ['19c4a7d0', '19c4a7d0 --json'] as const
  settles(transfers, 'release', "end a user's claim of a withdrawal, also of one in a bank file", releases, {}, () => ({
    type: 'Release',
  }))
  const reopens = [
    '7b0f2c1e --reason "Your payment arrived."',
    '7b0f2c1e --reason "Your payment arrived." --json',
  ] as const
  const why = { reason: required(option('<text>', 'for the merchant', reason)) }
  settles(transfers, 'reopen', 'put a cancelled or failed deposit into ManualControl', reopens, why, ({ reason }) => {
    return { type: 'Reopen', reason }
  })
  const receipt = "the address of the return's receipt; each receipt stands for one return"
  settles(
    transfers,
    'return',
    'record that money of a deposit was paid back',
    [
      '7b0f2c1e --amount 95.00 --receipt-url https://bank.example/r/2',
      '7b0f2c1e --amount 5 --receipt-url https://bank.example/r/3 --json',
    ],
    {
      amount: required(option('<amount>', 'the returned amount, such as 95.00', amount)),
      receiptUrl: required(option('<url>', receipt, url)),
    },
    ({ amount: amountMinor, receiptUrl }) => ({ type: 'ReturnFunds', amountMinor, receiptUrl }),
  )
  settles(
    transfers,
    'returned',
    'record that the bank sent money of a completed withdrawal back',
    [
      '19c4a7d0 --amount 95.00 --reason-code AC04 --reference RT2611270091',
      '19c4a7d0 --amount 5 --reason-code NARR --reference RT2611280017 --receipt-url https://bank.example/r/6',
    ],
    {
      amount: required(option('<amount>', 'the amount that came back, such as 95.00', amount)),
      reasonCode: required(returnReason),
      reference: required(option('<text>', "the bank's reference; each stands for one return", reference)),
      receiptUrl: option('<url>', 'the address of the receipt', url),
    },
    ({ amount: returnedAmountMinor, reasonCode, reference, receiptUrl }) => {
      return { type: 'ReturnPayout', returnedAmountMinor, reasonCode, reference, receiptUrl }
    },
  )
  const identityNumber = option('<number>', 'the identity number of the customer', text(64))
  const payoutMethod = (description: string) =>
    option('<code>', description, integer({ min: 0, max: Number.MAX_SAFE_INTEGER }))
  const payoutReference = option('<id>', 'the referenceId of the new withdrawal (default: a new UUID)', reference)
  settles(
    transfers,
    'pay-again',
    'pay the returned money of a withdrawal again, by another withdrawal',
    [
      '19c4a7d0 --amount 95.00 --account TR330006100519786457841326',
      '19c4a7d0 --amount 5 --account TR330006100519786457841326 --reference-id RP-4711 --json',
    ],
    {
      amount: required(option('<amount>', 'the amount to pay again, such as 95.00', amount)),
      account: required(option('<number>', 'the account that receives it', text(64))),
      identityNumber,
      paymentMethod: payoutMethod("of the new withdrawal (default: the earlier one's)"),
      referenceId: payoutReference,
    },
    ({ amount: amountMinor, account: accountNumber, referenceId = randomUUID(), ...payee }) => {
      return { type: 'RequestRepayment', referenceId, amountMinor, accountNumber, ...payee }
    },
  )
  settles(
    transfers,
    'refund',
    'return money of a deposit by a withdrawal, or to the wallet account that paid it',
    [
      '7b0f2c1e --amount 95.00 --account TR330006100519786457841326',
      '7b0f2c1e --amount 5 --reference-id RF-4711 --json',
    ],
    {
      amount: required(option('<amount>', 'the amount to return, such as 95.00', amount)),
      account: option('<number>', 'the account that receives it (default: the wallet account)', text(64)),
      identityNumber,
      paymentMethod: payoutMethod("of the withdrawal (default: the deposit's, or the first one for withdrawals)"),
      referenceId: payoutReference,
    },
    ({ amount: amountMinor, account: accountNumber, referenceId = randomUUID(), ...payee }) => {
      const to = accountNumber === undefined ? 'wallet' : 'account'
      return { type: 'RequestRefund', referenceId, amountMinor, to, accountNumber, ...payee }
    },
  )
  const decided = {
    refundId: required(option('<id>', 'the refundId, as transferd transfers show prints it', storedUuid)),
  }
  for (const [name, type, description] of [
    ['approve-refund', 'ApproveRefund', "approve another user's return or refund"],
    ['reject-refund', 'RejectRefund', 'reject a proposed return or refund'],
  ] as const) {
    const examples = ['7b0f2c1e --refund-id 0d41a6f2', '7b0f2c1e --refund-id 0d41a6f2 --json'] as const
    settles(transfers, name, description, examples, decided, ({ refundId }) => ({ type, refundId }))
  }
  const resolutions = [
    '7b0f2c1e --reason "The customer was credited."',
    '7b0f2c1e --reason "Booked elsewhere." --json',
  ] as const
  const how = { reason: required(option('<text>', 'how it was settled', reason)) }
  settles(
    transfers,
    'resolve',
    'end the need for attention of a transfer, and reject a proposed correction',
    resolutions,
    how,
    ({ reason }) => {
      return { type: 'ResolveAttention', reason }
    },
  )
}

function settles<Options extends OptionSpecs>(
  transfers: Command,
  name: string,
  description: string,
  examples: Examples,
  options: Options,
  actionOf: (given: Values<Options>) => TransferAction,
): void {
  defineCommand(transfers, `${name} <trackingId>`, description, {
    examples,
    options,
    run: (stores, given, trackingId: string) => settled(stores, trackingId, actionOf(given)),
  })
}

/**
 * Returns the transfer after the action. If it changed nothing, looks for the earlier event that had its effect, to report the user.
 * @throws Refused, AlreadyDone
 */
async function settled(stores: CommandStores, trackingId: string, action: TransferAction) {
  const { transfers, context, notify } = stores
  const result = await transfers.act(trackingId, action, context)
  if (!result.accepted) throw await refusalOf(stores, trackingId, result)
  const { changed, transfer } = result
  const proposed = transfer.proposedCorrection
  if (action.type === 'Correct' && proposed)
    notify(
      `another user must approve the correction: transferd transfers approve-correction ${trackingId} --amount ${formatTwoDecimals(proposed.amountMinor)}`,
    )
  const proposedRefund = transfer.kind === 'deposit' && transfer.refunds.findLast(({ state }) => state === 'proposed')
  if ((action.type === 'ReturnFunds' || action.type === 'RequestRefund') && proposedRefund)
    notify(
      `another user must approve it: transferd transfers approve-refund ${trackingId} --refund-id ${proposedRefund.refundId}`,
    )
  if (action.type === 'Complete' && transfer.status === 'Cancelled')
    notify('the deposit was cancelled because the amount differs from the requested one: nothing is booked')
  const shown = { ...(await shownTransfer(stores, (await transfers.find(trackingId))!)), changed }
  if (changed) return shown
  const done = (await transfers.history(trackingId)).findLast(({ event }) => hasEffect(action, event))
  notify(
    done ? noticeOf(done.metadata.actor, done.event.data.at, transfer) : 'nothing was changed: there is nothing to do',
  )
  return shown
}

function noticeOf(actor: string, at: string, { status, transactionAmountMinor }: Transfer): string {
  const state = `${status} with ${formatTwoDecimals(transactionAmountMinor)}`
  return `nothing was changed: ${actor} did it at ${at}, and the transfer was already ${state}`
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
  if (refusal.rule === 'done-before') {
    const found = (await transfers.find(trackingId))!
    const [actor, at] = [String(refusal.values.by), String(refusal.values.done)]
    const shown = { ...(await shownTransfer(stores, found)), changed: false, doneBy: { actor, at } }
    return new AlreadyDone(refusal, noticeOf(actor, at, found.transfer), shown)
  }
  if (refusal.rule !== 'status-final' && refusal.rule !== 'booking-final') return refusedBy(refusal)
  const end = (await transfers.history(trackingId)).findLast(({ event }) => ends.includes(event.type))
  if (!end) return refusedBy(refusal)
  const [{ actor }, { at }] = [end.metadata, end.event.data]
  const reasonWithActor = `${text} ${actor} did that at ${at}.`
  if (refusal.rule === 'status-final' || actor === context.actor)
    return new Refused(refusal.rule, reasonWithActor, refusal.values)
  // The second of two operators who complete a transfer gets this status regardless of the amounts.
  const shown = { ...(await shownTransfer(stores, (await transfers.find(trackingId))!)), changed: false }
  return new AlreadyDone(refusal, `nothing was changed: ${reasonWithActor}`, { ...shown, doneBy: { actor, at } })
}
