import type { Command } from 'commander'
import type { CompleteRequest, TransferResult } from '../commands/transfers.js'
import { formatTwoDecimals } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import { answer, DoneByAnother, Refused } from './command.js'
import { amount, message, reason, trackingId, url } from './options.js'
import { shownTransfer } from './shown-transfer.js'
import type { Workplace } from './workplace.js'

/** The commands by which a person decides about a transfer and its money. */
export function addSettlingCommands(transfers: Command): void {
  addComplete(transfers)
  addChange(transfers, 'manual', 'SendToManualControl', 'somebody has to look at it')
  addChange(transfers, 'cancel', 'Cancel', 'nothing is paid')
  addChange(transfers, 'fail', 'Fail', 'it could not be paid')
  const reopen = transferCommand(transfers, 'reopen', 'put a cancelled or failed deposit into ManualControl')
  answer(
    reopen.requiredOption('--reason <text>', 'for the merchant', reason),
    async (workplace: Workplace, options: { reason: string }, trackingId: string) => {
      const { transfers, context } = workplace
      const result = await transfers.reopen(trackingId, options.reason, context)
      return settled(workplace, trackingId, result, ({ type }) => type === 'TransferReopened')
    },
  )
  addReturn(transfers)
  const resolve = transferCommand(transfers, 'resolve', "nothing more has to be done about a deposit's money")
  answer(
    resolve.requiredOption('--reason <text>', 'how it was settled', reason),
    async (workplace: Workplace, options: { reason: string }, trackingId: string) => {
      const { transfers, context } = workplace
      const result = await transfers.resolveAttention(trackingId, options.reason, context)
      return settled(workplace, trackingId, result, ({ type }) => type === 'AttentionResolved')
    },
  )
}

function transferCommand(transfers: Command, name: string, description: string): Command {
  return transfers.command(name).argument('<trackingId>', '', trackingId).description(description)
}

interface CompleteOptions {
  amount?: bigint
  confirmAmount?: bigint
  receiptUrl?: string
  message?: string
  reason?: string
}

function addComplete(transfers: Command): void {
  const complete = transferCommand(transfers, 'complete', 'the money has arrived, or was paid')
  answer(
    complete
      .option(
        '--amount <amount>',
        'what was really transferred, such as 95.00; otherwise what was received, or the requested amount where nothing was',
        amount,
      )
      .option('--confirm-amount <amount>', 'the same amount once more, where it is unlikely', amount)
      .option('--reason <text>', 'why another amount than was received', reason)
      .option('--receipt-url <url>', 'address of the receipt', url)
      .option('--message <text>', 'for the merchant', message),
    async (workplace: Workplace, options: CompleteOptions, trackingId: string) => {
      const { amount, confirmAmount, ...texts } = options
      const request: CompleteRequest = {
        ...(amount !== undefined && { transactionAmountMinor: amount }),
        ...(confirmAmount !== undefined && { confirmedAmountMinor: confirmAmount }),
        ...(texts.reason !== undefined && { reason: texts.reason }),
        ...(texts.receiptUrl !== undefined && { receiptUrl: texts.receiptUrl }),
        ...(texts.message !== undefined && { message: texts.message }),
      }
      const result = await workplace.transfers.complete(trackingId, request, workplace.context)
      if (result.accepted && result.transfer.status === 'Cancelled') {
        workplace.tell('the amount is not the requested one, for which the deposit was cancelled: nothing is booked')
      }
      const isCompletion = ({ type, data }: TransferEvent) =>
        type === 'TransferCompleted' || ('autoCancelledAmountMinor' in data && data.autoCancelledAmountMinor !== null)
      return settled(workplace, trackingId, result, isCompletion)
    },
  )
}

const eventOf = {
  SendToManualControl: ['TransferSentToManualControl', 'TransferReopened'],
  Cancel: ['TransferCancelled'],
  Fail: ['TransferFailed'],
} as const satisfies { readonly [change: string]: readonly TransferEvent['type'][] }

function addChange(transfers: Command, name: string, type: keyof typeof eventOf, description: string): void {
  answer(
    transferCommand(transfers, name, description).option('--message <text>', 'for the merchant', message),
    async (workplace: Workplace, options: { message?: string }, trackingId: string) => {
      const { transfers, context } = workplace
      const result = await transfers.changeStatus(trackingId, type, options.message ?? null, context)
      const types: readonly string[] = eventOf[type]
      return settled(workplace, trackingId, result, (event) => types.includes(event.type))
    },
  )
}

function addReturn(transfers: Command): void {
  const command = transferCommand(transfers, 'return', "a deposit's money was given back")
  answer(
    command
      .requiredOption('--amount <amount>', 'how much, such as 95.00', amount)
      .requiredOption('--receipt-url <url>', 'address of the receipt of the return; each stands for one return', url),
    async (workplace: Workplace, options: { amount: bigint; receiptUrl: string }, trackingId: string) => {
      const { transfers, context } = workplace
      const returned = { amountMinor: options.amount, receiptUrl: options.receiptUrl }
      const result = await transfers.returnFunds(trackingId, returned, context)
      return settled(
        workplace,
        trackingId,
        result,
        ({ type, data }) => type === 'FundsReturned' && data.receiptUrl === options.receiptUrl,
      )
    },
  )
}

/**
 * The transfer as the log has it after the command. Where that changed nothing, the log says who did before what it asks for: the
 * event that `isIt`, among those that were there when it was decided. @throws Refused, DoneByAnother
 */
async function settled(
  workplace: Workplace,
  trackingId: string,
  result: TransferResult,
  isIt: (event: TransferEvent) => boolean,
) {
  const { transfers, context } = workplace
  if (!result.accepted) throw await refusalOf(workplace, trackingId, result)
  const { changed, revision } = result
  const found = await transfers.find(trackingId)
  const shown = { ...(await shownTransfer(workplace, found!)), changed }
  if (changed) return shown
  const history = await transfers.history(trackingId)
  const done = history.findLast((entry) => entry.revision <= revision && isIt(entry.event))
  if (!done) {
    workplace.tell('nothing was changed: there is nothing to do')
    return shown
  }
  const { actor } = done.metadata
  const { at } = done.event.data
  const { status, transactionAmountMinor } = result.transfer
  const stood = `${status} with ${formatTwoDecimals(transactionAmountMinor)}`
  const told = `nothing was changed: ${actor} did it at ${at}, and the transfer was ${stood} before`
  if (actor !== context.actor) throw new DoneByAnother(told, { ...shown, doneBy: { actor, at } })
  workplace.tell(told)
  return shown
}

const ends: readonly TransferEvent['type'][] = ['TransferCompleted', 'TransferCancelled', 'TransferFailed']

/** Who meets what somebody else has made final wants to know who that was. */
async function refusalOf(
  workplace: Workplace,
  trackingId: string,
  { refusal }: Extract<TransferResult, { accepted: false }>,
): Promise<Refused> {
  const { transfers, context } = workplace
  const rule = 'rule' in refusal ? refusal.rule : undefined
  if (rule !== 'final' && rule !== 'booked') return new Refused(refusal.message)
  const end = (await transfers.history(trackingId)).findLast(({ event }) => ends.includes(event.type))
  if (!end) return new Refused(refusal.message)
  const { actor } = end.metadata
  const { at } = end.event.data
  const told = `${refusal.message} ${actor} did that at ${at}.`
  if (rule === 'final' || actor === context.actor) return new Refused(told)
  // The second of two operators who complete is told so whatever amount each of them names.
  const found = await transfers.find(trackingId)
  const shown = { ...(await shownTransfer(workplace, found!)), changed: false }
  return new DoneByAnother(`nothing was changed: ${told}`, { ...shown, doneBy: { actor, at } })
}
