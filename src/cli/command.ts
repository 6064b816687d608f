import { styleText } from 'node:util'
import { type Command, Option } from 'commander'
import { settlementAmountProblem } from '../commands/transfer/transfer-requests.js'
import { type Refusal, violate } from '../domain/decider.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { refusalText } from '../domain/refusal-texts.js'
import { isStoredUuid, storedUuid, storedUuidPrefix } from '../kernel/uuid.js'
import type { CommandStores } from './cli-stores.js'
import { confirm, type Question, requireTerminal } from './confirmation.js'
import { AlreadyDone, Refused, refusedBy, UsageError } from './failures.js'
import { type List, type Listing, listed } from './listing.js'
import { type Logging, pathOf, securityLogIn, withSecurityLog } from './operator-log.js'
import { choices, flagOf, type OptionSpecs, type Values } from './options.js'
import { addFormatOptions, type Format, formatOf, formats, type Output, outputOf } from './output.js'
import { jsonLine, readable, shortIdLength } from './readable.js'
import { watchOption } from './watch-option.js'

/** The parts that a command works on. A command without a configuration leaves no line in the security log. */
interface Parts extends Output, Partial<Logging> {
  close?(): Promise<void>
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
  /** The arguments and options of at least two examples, which the help shows. */
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
    options: Values<Options> & { readonly output?: Format },
    ...args: Arguments
  ) => Promise<Result>
  /** Returns the JSON document. Defaults to the result. */
  readonly json?: (result: Result) => unknown
  /** Returns the human-readable text. Defaults to the table of a list, and to the fields of any other JSON document, one per line. */
  readonly text?: (result: Result, opened: Opened) => string
  /** The columns of a result that is a list or a page of one, which adds the formats of lists and `--columns`. */
  readonly list?: Listing<RowOf<Result>>
  /** Adds `--watch`, which runs the command again and again. For commands that show a changing state. */
  readonly watch?: true
  /** Returns a sentence if the printed result is a finding that should end with exit status 1. */
  readonly finding?: (result: Result) => string | undefined
}

/** The options of every command. Those that a command lacks are `undefined`. */
type Given<Options extends OptionSpecs> = Values<Options> & {
  readonly yes?: true
  readonly output?: Format
  readonly columns?: readonly string[]
  readonly watch?: number
}

function columnsOption<Row>({ columns }: Listing<Row>) {
  return choices('<name,...>', 'these columns in this order, in a table and in CSV', Object.keys(columns))
}

/** Returns a function that returns the text of a result; `undefined` for the fields of its JSON document. */
function textOf<Opened extends Parts, Options extends OptionSpecs, Arguments extends unknown[], Result>(
  { list, text }: Definition<Opened, Options, Arguments, Result>,
  result: Result,
  opened: Opened,
  { output = 'table', columns }: Given<OptionSpecs>,
): (() => string) | undefined {
  const isCustom = !list || (output === 'table' && !columns)
  if (text && isCustom) return () => text(result, opened)
  if (!list || output === 'json') return undefined
  return () => listed(result as List<RowOf<Result>>, list, output, columns, opened)
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
    const {
      args = {},
      options = {},
      log = 'must exist',
      run,
      json = (same: Result): unknown => same,
      list,
    } = definition
    const command = parent.command(usage).description(description)
    for (const argument of command.registeredArguments) {
      const { description = '', parse, choices } = { ...usualArgs[argument.name()], ...args[argument.name()] }
      argument.description = description
      if (parse) argument.argParser(parse)
      if (choices) argument.choices(choices)
    }
    const listOptions = list && { columns: columnsOption(list) }
    for (const [name, { form, description, complete }] of Object.entries<OptionSpecs[string]>({
      ...options,
      ...listOptions,
    })) {
      const zone = form === '<time>' ? ' (UTC)' : ''
      command.addOption(complete(new Option(`${flagOf(name)} ${form}`.trim(), `${description}${zone}`)))
    }
    if (definition.notes !== undefined) command.addHelpText('after', definition.notes)
    addExamples(command, definition.examples)
    const { confirmation } = definition
    if (confirmation) command.option('--yes', 'do it without asking')
    if (definition.watch) command.addOption(watchOption())
    addFormatOptions(command, list ? formats : undefined)
    /** Opens the stores with the first result, because one that is unavailable at the start is tried again too. */
    const watchRuns = async (seconds: number, given: Given<Options>) => {
      let opening: Promise<Opened> | undefined
      const { watchCommand } = await import('./watch.js')
      try {
        await watchCommand(command, seconds, async () => {
          opening ??= open(command, log).catch((error: unknown) => {
            opening = undefined
            throw error
          })
          const opened = await opening
          await prepare?.(command, opened)
          const result = await run(opened, given, ...(command.processedArgs as Arguments))
          const readText = () => textOf(definition, result, opened, given)?.() ?? readable(json(result))
          return { document: json(result), text: given.output === 'json' ? '' : readText() }
        })
      } finally {
        const opened = await opening?.catch(() => undefined)
        await opened?.close?.()
      }
    }
    command.action(async () => {
      const given = command.opts<Given<Options>>()
      const question = given.yes || confirmation?.when?.(given) === false ? undefined : confirmation?.question
      if (question) requireTerminal(command)
      if (given.columns && given.output === 'json') throw new UsageError('--columns cannot be combined with JSON')
      if (given.watch !== undefined && given.output === 'csv')
        throw new UsageError('--watch cannot be combined with CSV')
      if (given.watch !== undefined) return watchRuns(given.watch, given)
      const opened = await open(command, log)
      try {
        await prepare?.(command, opened)
        if (question) await confirm(await question(opened, given, ...(command.processedArgs as Arguments)))
        const result = await withSecurityLog(opened, command, () =>
          run(opened, given, ...(command.processedArgs as Arguments)),
        )
        if (result !== undefined) print(command, json(result), textOf(definition, result, opened, given))
        const problem = definition.finding?.(result)
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

/** Prints a result as JSON if the command should, and otherwise its text. */
export function print(command: Command, result: unknown, text = () => readable(result)): void {
  outputOf(command).write(formatOf(command) === 'json' ? jsonLine(result) : text())
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

/** Completes the ids of transfers, merchants and users that were shortened to their first characters, as tables show them. @throws Refused */
export async function completeShortIds(command: Command, stores: CommandStores): Promise<void> {
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
  if (typeof given !== 'string') return given
  if (kind === 'statement') {
    const [merchant, ...day] = given.split('/')
    return [await completed(stores, 'merchant', merchant), ...day].join('/')
  }
  if (kind !== 'transfer' && kind !== 'merchant' && kind !== 'user') return given
  const prefix = storedUuidPrefix(given)
  if (prefix === undefined || prefix.length < shortIdLength || isStoredUuid(prefix)) return given
  const { ids, startingWith } = subjects[kind]
  const [only, another] = await startingWith(stores, prefix)
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

async function usersWith(stores: CommandStores, prefix: string): Promise<readonly string[]> {
  const all = (await stores.userDirectory()).all()
  return all.flatMap(({ userId }) => (userId.startsWith(prefix) ? [userId] : []))
}

const subjects = {
  transfer: { ids: 'trackingIds', startingWith: transfersWith },
  merchant: { ids: 'merchantIds', startingWith: merchantsWith },
  user: { ids: 'userIds', startingWith: usersWith },
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
