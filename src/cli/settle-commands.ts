import type { Command } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import type { CompleteRequest, TransferResult } from '../commands/transfer/transfer-requests.js'
import { formatTwoDecimals } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { CommandStores } from './cli-stores.js'
import { AlreadyDone, defineCommand, Refused } from './command.js'
import { amount, message, reason, trackingId, url } from './options.js'
import { shownTransfer } from './shown-transfer.js'

/** The commands by which a person decides about a transfer and its money. */
export function addSettlingCommands(transfers: Command): void {
  const command = (name: string, description: string) =>
    transfers.command(name).argument('<trackingId>', '', trackingId).description(description)
  addComplete(command('complete', 'the money has arrived, or was paid'))
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
    command('return', "a deposit's money was given back")
      .requiredOption('--amount <amount>', 'how much, such as 95.00', amount)
      .requiredOption('--receipt-url <url>', 'address of the receipt of the return; each stands for one return', url),
    ({ transfers, context }, id, { amount: amountMinor, receiptUrl }) =>
      transfers.returnFunds(id, { amountMinor, receiptUrl }, context),
    ({ type, data }, { receiptUrl }) => type === 'FundsReturned' && data.receiptUrl === receiptUrl,
  )
  settles<{ reason: string }>(
    command('resolve', "nothing more has to be done about a deposit's money").requiredOption(
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
  ['manual', 'SendToManualControl', 'somebody has to look at it', ['TransferSentToManualControl', 'TransferReopened']],
  ['cancel', 'Cancel', 'nothing is paid', ['TransferCancelled']],
  ['fail', 'Fail', 'it could not be paid', ['TransferFailed']],
]

interface CompleteOptions extends Pick<CompleteRequest, 'reason' | 'receiptUrl' | 'message'> {
  readonly amount?: bigint
  readonly confirmAmount?: bigint
}

function addComplete(command: Command): void {
  command
    .option(
      '--amount <amount>',
      'what was really transferred, such as 95.00; otherwise what was received, or the requested amount where nothing was',
      amount,
    )
    .option('--confirm-amount <amount>', 'the same amount once more, where it is unlikely', amount)
    .option('--reason <text>', 'why another amount than was received', reason)
    .option('--receipt-url <url>', 'address of the receipt', url)
    .option('--message <text>', 'for the merchant', message)
  settles<CompleteOptions>(
    command,
    async ({ transfers, context, notify }, id, { amount, confirmAmount, reason, receiptUrl, message }) => {
      const amounts = { transactionAmountMinor: amount, confirmedAmountMinor: confirmAmount }
      const result = await transfers.complete(id, { ...amounts, reason, receiptUrl, message }, context)
      if (result.accepted && result.transfer.status === 'Cancelled') {
        notify('the amount is not the requested one, for which the deposit was cancelled: nothing is booked')
      }
      return result
    },
    ({ type, data }) =>
      type === 'TransferCompleted' || ('autoCancelledAmountMinor' in data && data.autoCancelledAmountMinor !== null),
  )
}

/** Gives a command its decision, and the event that is its doing. */
function settles<Options>(
  command: Command,
  decide: (stores: CommandStores, trackingId: string, options: Options) => Promise<TransferResult>,
  isIt: (event: TransferEvent, options: Options) => boolean,
): void {
  defineCommand(command, async (stores: CommandStores, options: Options, trackingId: string) => {
    const result = await decide(stores, trackingId, options)
    return settled(stores, trackingId, result, (event) => isIt(event, options))
  })
}

/**
 * The transfer as the log has it after the command. Where that changed nothing, the log says who did before what it asks for: the
 * event that `isIt`, among those that were there when it was decided. @throws Refused, AlreadyDone
 */
async function settled(
  stores: CommandStores,
  trackingId: string,
  result: TransferResult,
  isIt: (event: TransferEvent) => boolean,
) {
  const { transfers, context } = stores
  if (!result.accepted) throw await refusalOf(stores, trackingId, result)
  const { changed, revision } = result
  const found = await transfers.find(trackingId)
  const shown = { ...(await shownTransfer(stores, found!)), changed }
  if (changed) return shown
  const history = await transfers.history(trackingId)
  const done = history.findLast((entry) => entry.revision <= revision && isIt(entry.event))
  if (!done) {
    stores.notify('nothing was changed: there is nothing to do')
    return shown
  }
  const { actor } = done.metadata
  const { at } = done.event.data
  const { status, transactionAmountMinor } = result.transfer
  const stood = `${status} with ${formatTwoDecimals(transactionAmountMinor)}`
  const told = `nothing was changed: ${actor} did it at ${at}, and the transfer was ${stood} before`
  if (actor !== context.actor) throw new AlreadyDone(told, { ...shown, doneBy: { actor, at } })
  stores.notify(told)
  return shown
}

const ends: readonly TransferEvent['type'][] = ['TransferCompleted', 'TransferCancelled', 'TransferFailed']

/** Who meets what somebody else has made final wants to know who that was. */
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
  const told = `${text} ${actor} did that at ${at}.`
  if (refusal.rule === 'status-final' || actor === context.actor) return new Refused(told)
  // The second of two operators who complete is told so whatever amount each of them names.
  const found = await transfers.find(trackingId)
  const shown = { ...(await shownTransfer(stores, found!)), changed: false }
  return new AlreadyDone(`nothing was changed: ${told}`, { ...shown, doneBy: { actor, at } })
}
