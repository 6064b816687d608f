import { type Command, Option } from 'commander'
import type { CommandContext } from '../commands/handle-command.js'
import { refusalText } from '../commands/refusal-texts.js'
import { isPayable } from '../domain/currency.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import type { Refusal } from '../kernel/decision.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import type { Page, Place } from '../queries/list-page.js'
import type { Workplace } from './cli-stores.js'
import { logged, loggingTo, onlyReads } from './operator-log.js'
import { cursor, integer } from './options.js'
import { type Column, jsonLine, readable, table } from './readable.js'

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

/** How the result of a command is printed. */
interface Presentation<Result> {
  /** What `--json` prints; the result when absent. */
  readonly json?: (result: Result) => unknown
  /** What people read; the same as with `--json`, in lines, when absent. */
  readonly text?: (result: Result, workplace: Workplace) => string
  /** A sentence where what was found, and is printed, is bad: exit status 1. */
  readonly bad?: (result: Result) => string | undefined
}

/** What people see of a list: a table, or that there is nothing in it. */
export interface Listing<Item> {
  readonly columns: (workplace: Workplace) => readonly Column<Item>[]
  /** A sentence. */
  readonly none: string
  /** What one would do next, on stderr. */
  readonly hint?: (items: readonly Item[]) => string | undefined
}

/**
 * Gives a command `--json` and its action, which works on the opened stores of the configuration. Where there is no log only
 * a command that says so makes one: any other would answer "no such transfer" to who is in the wrong directory.
 */
export function answer<Arguments extends (string | number)[], Options, Result>(
  command: Command,
  action: (workplace: Workplace, options: Options, ...args: Arguments) => Promise<Result>,
  { log, ...presentation }: Presentation<Result> & { readonly log?: 'may be new' } = {},
): void {
  takesJson(command).action(async () => {
    // Here and not above: opening the log loads most of the program, which --help and a wrong option need not wait for.
    const { openWorkplace } = await import('./cli-stores.js')
    const workplace = await openWorkplace(process.env, log ?? 'must exist', (message) => tell(command, message))
    try {
      requireWholeAmounts(command, workplace)
      await completeShortId(command, workplace)
      const options = command.opts<Options & object>()
      const run = () => action(workplace, options, ...(command.processedArgs as Arguments))
      const result = await (onlyReads(command) ? run() : logged(workplace, command, run))
      const { json = (same: Result): unknown => same, text, bad } = presentation
      print(command, json(result), text && (() => text(result, workplace)))
      const problem = bad?.(result)
      if (problem !== undefined) throw new Refused(problem)
    } catch (error) {
      if (error instanceof DoneByAnother) print(command, error.answer)
      throw error
    } finally {
      await workplace.close()
    }
  })
}

/** Likewise for a command that opens the stores in a way of its own, or none. */
export function answerAlone<Result extends object>(
  command: Command,
  action: (configuration: Configuration, context: CommandContext) => Promise<Result>,
  text?: (result: Result) => string,
  /** A sentence where what was found, and is printed, is bad: exit status 1. */
  bad?: (result: Result) => string | undefined,
): void {
  takesJson(command).action(async () => {
    const { readConfiguration } = await import('../operations/configuration/configuration.js')
    const configuration = readConfiguration(process.env)
    const place = loggingTo(configuration.dataDirectory)
    const run = () => action(configuration, place.context)
    const result = await (onlyReads(command) ? run() : logged(place, command, run))
    print(command, result, text && (() => text(result)))
    const problem = bad?.(result)
    if (problem !== undefined) throw new Refused(problem)
  })
}

/** Likewise for all of a list at once. */
export function answerList<Arguments extends (string | number)[], Item extends object>(
  command: Command,
  action: (workplace: Workplace, options: object, ...args: Arguments) => Promise<readonly Item[]>,
  listing: Listing<Item>,
): void {
  answer(command, action, { text: (items, workplace) => listed(items, listing, workplace) })
}

export interface PageOptions {
  readonly limit: number
  readonly cursor: Place | undefined
}

/**
 * Likewise for a list in pages, with `--limit` and `--cursor`, of which `placeIn` makes something. With `--json` the answer is
 * `{items, nextCursor}`.
 */
export function answerPage<Options extends Omit<PageOptions, 'cursor'>, Item extends object>(
  command: Command,
  action: (workplace: Workplace, options: Options) => Promise<Page<Item>>,
  listing: Listing<Item>,
  placeIn: (text: string) => unknown = cursor,
): void {
  command
    .addOption(
      new Option('--limit <n>', 'at most so many, 1 to 1000').argParser(integer({ min: 1, max: 1000 })).default(50),
    )
    .option('--cursor <nextCursor>', 'those that follow the page before', placeIn)
  answer(command, action, {
    text({ items, nextCursor }, workplace) {
      if (nextCursor !== null) workplace.tell(`there are more: --cursor ${nextCursor}`)
      return listed(items, listing, workplace)
    },
  })
}

function listed<Item>(items: readonly Item[], { columns, none, hint }: Listing<Item>, workplace: Workplace): string {
  const next = hint?.(items)
  if (next !== undefined) workplace.tell(next)
  return items.length === 0 ? `${none}\n` : table(items, columns(workplace))
}

export function takesJson(command: Command): Command {
  return command.option('--json', 'print one JSON document on stdout and nothing else')
}

/** On the program's stdout, which a test may have replaced. */
export function print(command: Command, answer: unknown, text = () => readable(answer)): void {
  const { json } = command.opts<{ readonly json?: true }>()
  command.configureOutput().writeOut?.(json ? jsonLine(answer) : text())
}

/** A line on the program's stderr. */
export function tell(command: Command, message: string): void {
  command.configureOutput().writeErr?.(`transferd: ${message}\n`)
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

/** Tables show the beginning of an id: who copies it means the one transfer whose id begins so. @throws Refused */
async function completeShortId(command: Command, { readModels }: Workplace): Promise<void> {
  const nameOf = command.processedArgs[0] === 'transfer' ? 'id' : 'trackingId'
  const index = command.registeredArguments.findIndex((argument) => argument.name() === nameOf)
  const { transfer } = command.opts<{ readonly transfer?: string }>()
  const start = index < 0 ? transfer : (command.processedArgs[index] as string)
  if (start === undefined || !/^[0-9a-f]{8}[0-9a-f-]{0,27}$/.test(start)) return
  const { transfersThatBegin } = await import('../queries/transfer-queries.js')
  const [only, another] = await transfersThatBegin(await readModels(), start, 2)
  if (another !== undefined) throw new Refused(`Several transfers begin with ${start}: give more of the id.`)
  if (only === undefined) return
  if (index < 0) command.setOptionValue('transfer', only._id)
  else command.processedArgs[index] = only._id
}

/** The merchant, or that there is none as an error. @throws Refused */
export async function findMerchant({ merchants }: Workplace, id: string): Promise<Merchant> {
  const merchant = await merchants.find(id)
  if (!merchant) throw new Refused('There is no such merchant.')
  return merchant
}

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** The value, or the refusal as an error. @throws Refused */
export function accepted<Result extends Decided>(result: Result): Extract<Result, { accepted: true }> {
  if (!result.accepted) throw new Refused(refusalText(result.refusal, result.refusal.field))
  return result as Extract<Result, { accepted: true }>
}
