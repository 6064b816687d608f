import { styleText } from 'node:util'
import { type Command, Option } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import { settlementAmountProblem } from '../commands/transfer/transfer-requests.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { type Refusal, violate } from '../kernel/rules.js'
import { isStoredUuid, storedUuid, storedUuidPrefix } from '../kernel/uuid.js'
import type { CommandStores } from './cli-stores.js'
import { confirm, type Question, requireTerminal } from './confirmation.js'
import { AlreadyDone, Refused, refusedBy, UsageError } from './failures.js'
import { type Logging, pathOf, securityLogIn, withSecurityLog } from './operator-log.js'
import { flagOf, type OptionSpecs, type Values } from './options.js'
import { type Output, outputOf } from './output.js'
import { type Columns, jsonLine, readable, shortIdLength, table } from './readable.js'

/** The parts that a command works on. A command without a configuration leaves no line in the security log. */
interface Parts extends Output, Partial<Logging> {
  close?(): Promise<void>
}

/** The table of a list. */
export interface Listing<Row> {
  readonly columns: Columns<Row>
  /** The sentence that replaces an empty table. */
  readonly none: string
  /** Returns a suggestion for the next step, which is printed on stderr. */
  readonly hint?: (rows: readonly Row[]) => string | undefined
}

type RowOf<Result> = Result extends { readonly items: readonly (infer Row)[] } | readonly (infer Row)[] ? Row : never

export type Examples = readonly [string, string, ...string[]]

/** The descriptions, parsers and choices of arguments, by their names. */
type ArgumentSpecs = {
  readonly [name: string]: {
    readonly description?: string
    readonly parse?: (text: string) => string | number
    readonly choices?: readonly string[]
  }
}

const id = { parse: storedUuid }
const usualArgs: ArgumentSpecs = { trackingId: id, merchantId: id, id }

interface Definition<Opened, Options extends OptionSpecs, Arguments extends unknown[], Result> {
  /** What follows the name of the command, at least twice. The help shows it. */
  readonly examples: Examples
  /** A text after the options in the help. */
  readonly notes?: string
  readonly args?: ArgumentSpecs
  readonly options?: Options
  /** Makes the command ask before it runs, and adds `--yes`. For commands that stop a merchant or cannot be undone. */
  readonly confirmation?: {
    /** Whether the options need a confirmation. Defaults to always. */
    readonly when?: (options: Values<Options>) => boolean
    readonly question: (opened: Opened, options: Values<Options>, ...args: Arguments) => Question | Promise<Question>
  }
  /**
   * Only a command with `may be new` creates a missing log. Any other would report a missing transfer to a user who is in the wrong
   * directory.
   */
  readonly log?: 'may be new'
  /** Returns the result to print; `undefined` if the command prints it itself. */
  readonly run: (
    opened: Opened,
    options: Values<Options> & { readonly json?: true },
    ...args: Arguments
  ) => Promise<Result>
  /** Returns the document that `--json` prints. Defaults to the result. */
  readonly json?: (result: Result) => unknown
  /** Returns the human-readable text. Defaults to the fields of the JSON document, one per line. */
  readonly text?: (result: Result, opened: Opened) => string
  /** The table of a result that is a list or a page of one. */
  readonly list?: Listing<RowOf<Result>>
  /** Returns a sentence if the printed result is a finding that should end with exit status 1. */
  readonly finding?: (result: Result) => string | undefined
}

function definer<Opened extends Parts>(
  open: (command: Command, log: 'must exist' | 'may be new') => Promise<Opened>,
  prepare?: (command: Command, opened: Opened) => Promise<void>,
) {
  return <Result, Arguments extends (string | number | readonly string[])[], Options extends OptionSpecs>(
    parent: Command,
    usage: string,
    description: string,
    definition: Definition<Opened, Options, Arguments, Result>,
  ): void => {
    const { args = {}, options = {}, log = 'must exist', run, json = (same: Result): unknown => same } = definition
    const command = parent.command(usage).description(description)
    for (const argument of command.registeredArguments) {
      const { description = '', parse, choices } = { ...usualArgs[argument.name()], ...args[argument.name()] }
      argument.description = description
      if (parse) argument.argParser(parse)
      if (choices) argument.choices(choices)
    }
    for (const [name, { form, description, complete }] of Object.entries<OptionSpecs[string]>(options)) {
      const zone = form === '<time>' ? ' (UTC)' : ''
      command.addOption(complete(new Option(`${flagOf(name)} ${form}`.trim(), `${description}${zone}`)))
    }
    if (definition.notes !== undefined) command.addHelpText('after', definition.notes)
    addExamples(command, definition.examples)
    const { confirmation } = definition
    if (confirmation) command.option('--yes', 'do it without asking')
    command.option('--json', 'print exactly one JSON document on stdout').action(async () => {
      const given = command.opts<Values<Options> & { readonly yes?: true }>()
      const question = given.yes || confirmation?.when?.(given) === false ? undefined : confirmation?.question
      if (question) requireTerminal(command)
      const opened = await open(command, log)
      try {
        await prepare?.(command, opened)
        if (question) await confirm(await question(opened, given, ...(command.processedArgs as Arguments)))
        const action = () => run(opened, given, ...(command.processedArgs as Arguments))
        const result = await withSecurityLog(opened, command, action)
        const { list, text = list && (() => listed(result, list, opened)), finding } = definition
        if (result !== undefined) print(command, json(result), text && (() => text(result, opened)))
        const problem = finding?.(result)
        if (problem !== undefined) throw new Refused('check-failed', problem)
      } catch (error) {
        if (error instanceof AlreadyDone) print(command, error.result)
        throw error
      } finally {
        await opened.close?.()
      }
    })
  }
}

/** Shows examples at the end of the help of a command. */
export function addExamples(command: Command, examples: Examples): void {
  const lines = () => examples.map((each) => `  transferd ${pathOf(command)} ${each}`.trimEnd()).join('\n')
  command.addHelpText('after', () => `\n${styleText('bold', 'Examples:', { validateStream: false })}\n${lines()}`)
}

/** Defines a command on the stores that the configuration names. */
export const defineCommand = definer(
  async (command, log) => {
    // Import late: opening the log loads most of the program, which --help and a wrong option do not need.
    const { openCommandStores } = await import('./cli-stores.js')
    return openCommandStores(process.env, log, outputOf(command))
  },
  async (command, stores) => {
    requireWholeAmounts(command, stores)
    await completeShortIds(command, stores)
  },
)

/** Defines a command that needs the configuration, and opens no stores or opens them itself. */
export const defineStandaloneCommand = definer(async (command) => {
  const { readConfiguration } = await import('../operations/configuration/configuration.js')
  const configuration = readConfiguration(process.env)
  return { ...outputOf(command), ...securityLogIn(configuration.dataDirectory), configuration }
})

/** Defines a command that needs no configuration, or reads it itself. It leaves no line in the security log. */
export const defineBareCommand = definer(async (command) => ({ ...outputOf(command), command }))

/** Returns the text of a list, or of a page. Prints its hint, and the cursor of the next page. */
export function listed<Row>(result: unknown, { columns, none, hint }: Listing<Row>, { notify }: Output): string {
  const { items, nextCursor = null } = (Array.isArray(result) ? { items: result } : result) as {
    readonly items: readonly Row[]
    readonly nextCursor?: string | null
  }
  if (nextCursor !== null) notify(`there are more: use --cursor ${nextCursor}`)
  const next = hint?.(items)
  if (next !== undefined) notify(next)
  return items.length === 0 ? `${none}\n` : table(items, columns)
}

/** Prints a result as `--json` demands. */
export function print(command: Command, result: unknown, text = () => readable(result)): void {
  const { json } = command.opts<{ readonly json?: true }>()
  outputOf(command).write(json ? jsonLine(result) : text())
}

/** Rejects amounts that the currency cannot represent. Only amounts are bigint options. @throws UsageError */
function requireWholeAmounts(command: Command, { configuration: { currency } }: CommandStores): void {
  const options = command.opts<{ readonly [name: string]: unknown }>()
  for (const option of command.options) {
    const value = options[option.attributeName()]
    const problem = typeof value === 'bigint' ? settlementAmountProblem(currency, value) : undefined
    if (problem) throw new UsageError(refusalText(problem, option.long), problem.rule)
  }
}

/** Completes the ids of transfers and merchants that were shortened to their first characters, as tables show them. @throws Refused */
async function completeShortIds(command: Command, stores: CommandStores): Promise<void> {
  const { processedArgs, registeredArguments } = command
  const of = registeredArguments[0]?.name() === 'of' ? processedArgs[0] : 'merchant'
  for (const [n, argument] of registeredArguments.entries()) {
    const kind = { trackingId: 'transfer', merchantId: 'merchant', id: of }[argument.name()]
    processedArgs[n] = await completed(stores, kind, processedArgs[n])
  }
  const options = command.opts<{ readonly [name: string]: unknown }>()
  for (const kind of ['transfer', 'merchant'])
    if (options[kind] !== undefined) command.setOptionValue(kind, await completed(stores, kind, options[kind]))
}

async function completed(stores: CommandStores, kind: string | undefined, given: unknown): Promise<unknown> {
  if (Array.isArray(given)) return Promise.all(given.map((each) => completed(stores, kind, each)))
  if (typeof given !== 'string' || (kind !== 'transfer' && kind !== 'merchant')) return given
  const prefix = storedUuidPrefix(given)
  if (prefix === undefined || prefix.length < shortIdLength || isStoredUuid(prefix)) return given
  const [only, another] = await (kind === 'transfer' ? transfersWith : merchantsWith)(stores, prefix)
  const ids = kind === 'transfer' ? 'trackingIds' : 'merchantIds'
  if (another !== undefined)
    throw new Refused('ambiguous-id', `Several ${ids} start with ${given}. Add more characters.`)
  return only ?? given
}

async function transfersWith({ readModels }: CommandStores, prefix: string): Promise<readonly string[]> {
  const { transfersByIdPrefix } = await import('../queries/transfer-queries.js')
  return (await transfersByIdPrefix(await readModels(), prefix, 2)).map(({ _id }) => _id)
}

async function merchantsWith(stores: CommandStores, prefix: string): Promise<readonly string[]> {
  const all = await stores.allMerchants()
  return all.flatMap(({ merchantId }) => (merchantId.startsWith(prefix) ? [merchantId] : []))
}

/** @throws Refused if the merchant does not exist */
export async function findMerchant({ merchants }: CommandStores, id: string): Promise<Merchant> {
  const merchant = await merchants.find(id)
  if (!merchant) throw refusedBy(violate('unknown-merchant'))
  return merchant
}

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** Returns an accepted result. @throws Refused with the reason of a rejected one */
export function accepted<Result extends Decided>(result: Result): Extract<Result, { accepted: true }> {
  if (!result.accepted) throw refusedBy(result.refusal, result.refusal.field)
  return result as Extract<Result, { accepted: true }>
}
