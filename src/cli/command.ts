import { type Command, Option } from 'commander'
import { isPayable } from '../domain/currency.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import type { Page, Place } from '../queries/list-page.js'
import { logged, onlyReads } from './operator-log.js'
import { cursor, integer } from './options.js'
import { jsonLine, readable } from './readable.js'
import type { Workplace } from './workplace.js'

/** The command was understood and is refused: exit status 1. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** Somebody else has done it before, so nothing was changed: exit status 3. */
export class DoneByAnother extends Refused {
  constructor(
    message: string,
    /** Printed all the same. */
    readonly answer: object,
  ) {
    super(message)
  }
}

/** The command makes no sense as given: exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What a command does; the answer is printed as JSON or readably. */
type Action<Arguments extends (string | number)[], Options> = (
  workplace: Workplace,
  options: Options,
  ...args: Arguments
) => Promise<unknown>

/**
 * Gives a command `--json` and its action, which works on the opened stores of the configuration. Where there is no log only
 * a command that says so makes one: any other would answer "no such transfer" to who is in the wrong directory.
 */
export function answer<Arguments extends (string | number)[], Options>(
  command: Command,
  action: Action<Arguments, Options>,
  log: 'must exist' | 'may be new' = 'must exist',
): void {
  run(command, action, log, readable)
}

export interface PageOptions {
  readonly limit: number
  readonly cursor: Place | undefined
}

/** Gives a command of a list `--limit` and `--cursor`, too. With `--json` the answer is `{items, nextCursor}`. */
export function answerPage<Options extends PageOptions>(
  command: Command,
  action: (workplace: Workplace, options: Options) => Promise<Page<object>>,
): void {
  command
    .addOption(new Option('--limit <n>', 'at most so many, 1 to 1000').argParser(integer(1, 1000)).default(50))
    .option('--cursor <nextCursor>', 'those that follow the page before', cursor)
  run(command, action, 'must exist', ({ items, nextCursor }) => {
    if (nextCursor !== null) console.error(`transferd: there are more: --cursor ${nextCursor}`)
    return readable(items)
  })
}

function run<Arguments extends (string | number)[], Options, Result>(
  command: Command,
  action: (workplace: Workplace, options: Options, ...args: Arguments) => Promise<Result>,
  log: 'must exist' | 'may be new',
  shown: (result: Result) => string,
): void {
  command.option('--json', 'print one JSON document on stdout and nothing else').action(async () => {
    const options = command.opts<Options & { json?: true }>()
    // Here and not above: opening the stores loads most of the program, which --help and a wrong option need not wait for.
    const { openWorkplace } = await import('./workplace.js')
    const workplace = await openWorkplace(process.env, log)
    try {
      requireWholeAmounts(command, workplace)
      const args = command.processedArgs as Arguments
      const work = () => action(workplace, options, ...args)
      const result = await (onlyReads(command) ? work() : logged(workplace, command, work))
      process.stdout.write(options.json ? jsonLine(result) : shown(result))
    } catch (error) {
      if (error instanceof DoneByAnother) {
        process.stdout.write(options.json ? jsonLine(error.answer) : readable(error.answer))
      }
      throw error
    } finally {
      await workplace.close()
    }
  })
}

/** What has no coin cannot have moved. Amounts are the only options that are bigints. @throws UsageError */
function requireWholeAmounts(command: Command, { configuration: { currency } }: Workplace): void {
  const options = command.opts<{ readonly [name: string]: unknown }>()
  const tooFine = command.options.find((option) => {
    const value = options[option.attributeName()]
    return typeof value === 'bigint' && !isPayable(currency, value)
  })
  if (tooFine) throw new UsageError(`${tooFine.long} must be whole: ${currency.code} has no decimals`)
}

/** The merchant, or that there is none as an error. @throws Refused */
export async function findMerchant({ merchants }: Workplace, id: string): Promise<Merchant> {
  const merchant = await merchants.find(id)
  if (!merchant) throw new Refused('There is no such merchant.')
  return merchant
}

/** The value, or the refusal as an error. @throws Refused */
export function accepted<Result extends { readonly accepted: boolean }>(
  result: Result,
): Extract<Result, { accepted: true }> {
  if (result.accepted) return result as Extract<Result, { accepted: true }>
  throw new Refused((result as unknown as { refusal: { message: string } }).refusal.message)
}
