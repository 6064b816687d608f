import type { Command } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import type { CompleteRequest, TransferResult } from '../commands/transfer/transfer-requests.js'
import { formatTwoDecimals } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { CommandStores } from './cli-stores.js'
import { AlreadyDone, defineCommand, Refused } from './command.js'
import { amount, message, reason, trackingId, url } from './options.js'
import { shownTransfer } from './shown-transfer.js'

/** Adds the commands that settle a transfer and its money. */
export function addSettlingCommands(transfers: Command): void {
  const command = (name: string, description: string) =>
    transfers.command(name).argument('<trackingId>', '', trackingId).description(description)
  addComplete(command('complete', 'record that the money has arrived or was paid'))
  for (const [name, type, description, events] of statusChanges) {
    settles<{ message?: string }>(
      command(name, description).option('--message <text>', 'for the merchant', message),
      ({ transfers, context }, id, options) => transfers.changeStatus(id, type, options.message ?? null, context),
      (event) => events.includes(event.type),
    )
  }
  settles<{ reason: string }>(
    command('reopen', 'put a cancelled or failed deposit into ManualControl').requiredOption(
      '--reason <text>',
      'for the merchant',
      reason,
    ),
    ({ transfers, context }, id, options) => transfers.reopen(id, options.reason, context),
    ({ type }) => type === 'TransferReopened',
  )
  settles<{ amount: bigint; receiptUrl: string }>(
    command('return', 'record that money of a deposit was paid back')
      .requiredOption('--amount <amount>', 'the returned amount, such as 95.00', amount)
      .requiredOption(
        '--receipt-url <url>',
        "the address of the return's receipt; each receipt stands for one return",
        url,
      ),
    ({ transfers, context }, id, { amount: amountMinor, receiptUrl }) =>
      transfers.returnFunds(id, { amountMinor, receiptUrl }, context),
    ({ type, data }, { receiptUrl }) => type === 'FundsReturned' && data.receiptUrl === receiptUrl,
  )
  settles<{ reason: string }>(
    command('resolve', 'end the need for attention of a deposit').requiredOption(
      '--reason <text>',
      'how it was settled',
      reason,
    ),
    ({ transfers, context }, id, options) => transfers.resolveAttention(id, options.reason, context),
    ({ type }) => type === 'AttentionResolved',
  )
}

type StatusChange = 'SendToManualControl' | 'Cancel' | 'Fail'

const statusChanges: readonly (readonly [
  name: string,
  type: StatusChange,
  description: string,
  events: readonly TransferEvent['type'][],
])[] = [
  [
    'manual',
    'SendToManualControl',
    'send a transfer to manual review',
    ['TransferSentToManualControl', 'TransferReopened'],
  ],
  ['cancel', 'Cancel', 'cancel a transfer without payment', ['TransferCancelled']],
  ['fail', 'Fail', 'record that a transfer could not be paid', ['TransferFailed']],
]

interface CompleteOptions extends Pick<CompleteRequest, 'reason' | 'receiptUrl' | 'message'> {
  readonly amount?: bigint
  readonly confirmAmount?: bigint
}

function addComplete(command: Command): void {
  command
    .option('--amount <amount>', 'the transferred amount (default: the received amount, or the requested one)', amount)
    .option('--confirm-amount <amount>', 'repeats an unlikely amount', amount)
    .option('--reason <text>', 'required if the amount differs from the received one', reason)
    .option('--receipt-url <url>', 'the address of the receipt', url)
    .option('--message <text>', 'for the merchant', message)
  settles<CompleteOptions>(
    command,
    async ({ transfers, context, notify }, id, { amount, confirmAmount, reason, receiptUrl, message }) => {
      const amounts = { transactionAmountMinor: amount, confirmedAmountMinor: confirmAmount }
      const result = await transfers.complete(id, { ...amounts, reason, receiptUrl, message }, context)
      if (result.accepted && result.transfer.status === 'Cancelled') {
        notify('the deposit was cancelled because the amount differs from the requested one: nothing is booked')
      }
      return result
    },
    ({ type, data }) =>
      type === 'TransferCompleted' || ('autoCancelledAmountMinor' in data && data.autoCancelledAmountMinor !== null),
  )
}

/** Defines a command by its decision and by the event that has its effect. */
function settles<Options>(
  command: Command,
  decide: (stores: CommandStores, trackingId: string, options: Options) => Promise<TransferResult>,
  hasEffect: (event: TransferEvent, options: Options) => boolean,
): void {
  defineCommand(command, async (stores: CommandStores, options: Options, trackingId: string) => {
    const result = await decide(stores, trackingId, options)
    return settled(stores, trackingId, result, (event) => hasEffect(event, options))
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
  const found = await transfers.find(trackingId)
  const shown = { ...(await shownTransfer(stores, found!)), changed }
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
  const found = await transfers.find(trackingId)
  const shown = { ...(await shownTransfer(stores, found!)), changed: false }
  return new AlreadyDone(`nothing was changed: ${reasonWithActor}`, { ...shown, doneBy: { actor, at } })
}
