import type { Command } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import type { TransferResult } from '../commands/transfer/transfer-requests.js'
import { formatTwoDecimals } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { CommandStores } from './cli-stores.js'
import { AlreadyDone, defineCommand, Refused } from './command.js'
import { amount, message, type OptionSpecs, option, reason, required, url, type Values } from './options.js'
import { shownTransfer } from './transfer-commands.js'

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
export function addSettlingCommands(transfers: Command): void {
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
  const { actor } = done.metadata
  const { at } = done.event.data
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
  const { actor } = end.metadata
  const { at } = end.event.data
  const reasonWithActor = `${text} ${actor} did that at ${at}.`
  if (refusal.rule === 'status-final' || actor === context.actor) return new Refused(reasonWithActor)
  // The second of two operators who complete a transfer gets this status regardless of the amounts.
  const shown = { ...(await shownTransfer(stores, (await transfers.find(trackingId))!)), changed: false }
  return new AlreadyDone(`nothing was changed: ${reasonWithActor}`, { ...shown, doneBy: { actor, at } })
}
