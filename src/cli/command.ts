import { type Command, Option } from 'commander'
import type { CommandContext } from '../commands/handle-command.js'
import { refusalText } from '../commands/refusal-texts.js'
import { settlementAmountProblem } from '../commands/transfer/transfer-requests.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import type { Refusal } from '../kernel/rules.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import type { Page, SortKey } from '../queries/list-page.js'
import type { CommandStores } from './cli-stores.js'
import { isReadOnly, securityLogIn, withSecurityLog } from './operator-log.js'
import { cursor, integer } from './options.js'
import { type Column, jsonLine, readable, table } from './readable.js'

/** The command is valid but rejected: exit status 1. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** Another user has already done it, so nothing changed: exit status 3. */
export class AlreadyDone extends Refused {
  constructor(
    message: string,
    /** The result, which is printed anyway. */
    readonly result: object,
  ) {
    super(message)
  }
}

/** The command was used incorrectly: exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** How the result of a command is printed. */
interface Presentation<Result> {
  /** Returns the document that `--json` prints. Defaults to the result. */
  readonly json?: (result: Result) => unknown
  /** Returns the human-readable text. Defaults to the fields of the JSON document, one per line. */
  readonly text?: (result: Result, stores: CommandStores) => string
  /** Returns a sentence if the printed result is a finding that should end with exit status 1. */
  readonly finding?: (result: Result) => string | undefined
}

/** The table of a list. */
export interface Listing<Item> {
  readonly columns: (stores: CommandStores) => readonly Column<Item>[]
  /** The sentence that replaces an empty table. */
  readonly emptyText: string
  /** Returns a suggestion for the next step, which is printed on stderr. */
  readonly hint?: (items: readonly Item[]) => string | undefined
}

/**
 * Gives a command `--json` and its action, which works on the stores that the configuration names. Only a command with `log: 'may be new'`
 * creates a missing log. Any other would report a missing transfer to a user who is in the wrong directory.
 */
export function defineCommand<Arguments extends (string | number)[], Options, Result>(
  command: Command,
  action: (stores: CommandStores, options: Options, ...args: Arguments) => Promise<Result>,
  { log, ...presentation }: Presentation<Result> & { readonly log?: 'may be new' } = {},
): void {
  addJsonOption(command).action(async () => {
    // Import late: opening the log loads most of the program, which --help and a wrong option do not need.
    const { openCommandStores } = await import('./cli-stores.js')
    const stores = await openCommandStores(process.env, log ?? 'must exist', (message) => notify(command, message))
    try {
      requireWholeAmounts(command, stores)
      await completeShortId(command, stores)
      const options = command.opts<Options & object>()
      const run = () => action(stores, options, ...(command.processedArgs as Arguments))
      const result = await (isReadOnly(command) ? run() : withSecurityLog(stores, command, run))
      const { json = (same: Result): unknown => same, text, finding } = presentation
      print(command, json(result), text && (() => text(result, stores)))
      const problem = finding?.(result)
      if (problem !== undefined) throw new Refused(problem)
    } catch (error) {
      if (error instanceof AlreadyDone) print(command, error.result)
      throw error
    } finally {
      await stores.close()
    }
  })
}

/** Defines a command that opens no stores, or opens them itself. */
export function defineStandaloneCommand<Result extends object>(
  command: Command,
  action: (configuration: Configuration, context: CommandContext) => Promise<Result>,
  text?: (result: Result) => string,
  finding?: (result: Result) => string | undefined,
): void {
  addJsonOption(command).action(async () => {
    const { readConfiguration } = await import('../operations/configuration/configuration.js')
    const configuration = readConfiguration(process.env)
    const place = securityLogIn(configuration.dataDirectory)
    const run = () => action(configuration, place.context)
    const result = await (isReadOnly(command) ? run() : withSecurityLog(place, command, run))
    print(command, result, text && (() => text(result)))
    const problem = finding?.(result)
    if (problem !== undefined) throw new Refused(problem)
  })
}

/** Defines a command that prints a whole list. */
export function defineListCommand<Arguments extends (string | number)[], Item extends object>(
  command: Command,
  action: (stores: CommandStores, options: object, ...args: Arguments) => Promise<readonly Item[]>,
  listing: Listing<Item>,
): void {
  defineCommand(command, action, { text: (items, stores) => listed(items, listing, stores) })
}

export interface PageOptions {
  readonly limit: number
  readonly cursor: SortKey | undefined
}

/** Defines a command that prints one page of a list, `{items, nextCursor}` with `--json`. `parseAfter` parses the value of `--cursor`. */
export function definePagedCommand<Options extends Omit<PageOptions, 'cursor'>, Item extends object>(
  command: Command,
  action: (stores: CommandStores, options: Options) => Promise<Page<Item>>,
  listing: Listing<Item>,
  parseAfter: (text: string) => unknown = cursor,
): void {
  command
    .addOption(
      new Option('--limit <n>', 'the size of the page, 1 to 1000')
        .argParser(integer({ min: 1, max: 1000 }))
        .default(50),
    )
    .option('--cursor <nextCursor>', 'continue after an earlier page', parseAfter)
  defineCommand(command, action, {
    text({ items, nextCursor }, stores) {
      if (nextCursor !== null) stores.notify(`there are more: use --cursor ${nextCursor}`)
      return listed(items, listing, stores)
    },
  })
}

function listed<Item>(
  items: readonly Item[],
  { columns, emptyText, hint }: Listing<Item>,
  stores: CommandStores,
): string {
  const next = hint?.(items)
  if (next !== undefined) stores.notify(next)
  return items.length === 0 ? `${emptyText}\n` : table(items, columns(stores))
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'print exactly one JSON document on stdout')
}

/** Prints a result on the program's stdout, which a test may have replaced. */
export function print(command: Command, result: unknown, text = () => readable(result)): void {
  const { json } = command.opts<{ readonly json?: true }>()
  command.configureOutput().writeOut?.(json ? jsonLine(result) : text())
}

/** Prints a line on the program's stderr. */
export function notify(command: Command, message: string): void {
  command.configureOutput().writeErr?.(`transferd: ${message}\n`)
}

/** Rejects amounts that the currency cannot represent. Only amounts are bigint options. @throws UsageError */
function requireWholeAmounts(command: Command, { configuration: { currency } }: CommandStores): void {
  const options = command.opts<{ readonly [name: string]: unknown }>()
  for (const option of command.options) {
    const value = options[option.attributeName()]
    const problem = typeof value === 'bigint' ? settlementAmountProblem(currency, value) : undefined
    if (problem) throw new UsageError(refusalText(problem, option.long))
  }
}

/** Completes a trackingId that was shortened to its first characters, as tables show it. @throws Refused if it is ambiguous */
async function completeShortId(command: Command, { readModels }: CommandStores): Promise<void> {
  const nameOf = command.processedArgs[0] === 'transfer' ? 'id' : 'trackingId'
  const index = command.registeredArguments.findIndex((argument) => argument.name() === nameOf)
  const { transfer } = command.opts<{ readonly transfer?: string }>()
  const start = index < 0 ? transfer : (command.processedArgs[index] as string)
  if (start === undefined || !/^[0-9a-f]{8}[0-9a-f-]{0,27}$/.test(start)) return
  const { transfersByIdPrefix } = await import('../queries/transfer-queries.js')
  const [only, another] = await transfersByIdPrefix(await readModels(), start, 2)
  if (another !== undefined) throw new Refused(`Several trackingIds start with ${start}. Add more characters.`)
  if (only === undefined) return
  if (index < 0) command.setOptionValue('transfer', only._id)
  else command.processedArgs[index] = only._id
}

/** @throws Refused if the merchant does not exist */
export async function findMerchant({ merchants }: CommandStores, id: string): Promise<Merchant> {
  const merchant = await merchants.find(id)
  if (!merchant) throw new Refused('Merchant not found.')
  return merchant
}

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** Returns an accepted result. @throws Refused with the reason of a rejected one */
export function accepted<Result extends Decided>(result: Result): Extract<Result, { accepted: true }> {
  if (!result.accepted) throw new Refused(refusalText(result.refusal, result.refusal.field))
  return result as Extract<Result, { accepted: true }>
}
