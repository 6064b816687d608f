import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { CommandContext } from '../commands/handle-command.js'
import type { Clock } from '../kernel/clock.js'
import { logOperatorCommand } from '../operations/logging/operator-log.js'

/** Commands whose last word is none of these change something, and leave a line in the security log. */
const reading = new Set([
  ...['key', 'list', 'problems', 'prove', 'reconcile', 'show', 'state', 'status', 'story', 'verify', 'who'],
])
const secretForms = /^(tk|sk|whsec)_/
const maxSubject = 128

export function onlyReads(command: Command): boolean {
  return reading.has(command.name())
}

/** Whoever runs this command, and what it belongs to. */
export function operatorContext(): CommandContext {
  const correlationId = randomUUID()
  return { actor: `cli:${userName()}`, $correlationId: correlationId, $causationId: correlationId }
}

/** A container's user often has a number only. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

interface Logging {
  readonly configuration: { readonly dataDirectory: string }
  readonly clock: Clock
  readonly context: CommandContext
}

/** For a command that opens no workplace. */
export function loggingTo(dataDirectory: string): Logging {
  return { configuration: { dataDirectory }, clock: () => new Date().toISOString(), context: operatorContext() }
}

/** Runs the command's action and logs it, whatever came of it. */
export async function logged<Result>(
  workplace: Logging,
  command: Command,
  action: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    const result = await action()
    log(workplace, command, 'done', result)
    return result
  } catch (error) {
    log(workplace, command, error instanceof Error && error.name === 'Refused' ? 'refused' : 'failed')
    throw error
  }
}

function log({ configuration, clock, context }: Logging, command: Command, outcome: string, result?: unknown): void {
  const { actor, $correlationId: correlationId } = context
  const fields = { actor, command: pathOf(command), subject: subjectOf(command, result), outcome, correlationId }
  try {
    logOperatorCommand(configuration.dataDirectory, clock(), fields)
  } catch (error) {
    // What was done is done, and most of it is an event that names the actor.
    command.configureOutput().writeErr?.(`transferd: no line in the security log: ${(error as Error).message}\n`)
  }
}

function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return `${above}${command.name()}`
}

/** The id it is about: the argument, or what an option names, or what was made. A secret mistaken for an id is never shown. */
function subjectOf(command: Command, result: unknown): string | null {
  const { transfer, merchant } = command.opts<{ readonly transfer?: unknown; readonly merchant?: unknown }>()
  const made = (result ?? {}) as { readonly id?: unknown; readonly accountNumber?: unknown; readonly userId?: unknown }
  const subject =
    command.processedArgs[0] ?? transfer ?? made.userId ?? merchant ?? made.id ?? made.accountNumber ?? null
  if (subject === null) return null
  const text = String(subject).slice(0, maxSubject)
  return secretForms.test(text) ? text.replace(/_.*/s, '_…') : text
}
