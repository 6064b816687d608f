import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { CommandContext } from '../commands/handle-command.js'
import type { Clock } from '../kernel/time.js'
import { logOperatorCommand } from '../operations/logging/operator-log.js'

/** The last words of the commands that change nothing. Every other command leaves a line in the security log. */
const reading = new Set([
  ...['key', 'list', 'problems', 'prove', 'reconcile', 'show', 'state', 'status', 'story', 'verify', 'who'],
])
const secretForms = /^(tk|sk|whsec)_/
const maxSubject = 128

export function isReadOnly(command: Command): boolean {
  return reading.has(command.name())
}

/** Returns the context that the events of this command record. */
export function operatorContext(): CommandContext {
  const correlationId = randomUUID()
  return { actor: `cli:${userName()}`, $correlationId: correlationId, $causationId: correlationId }
}

/** Returns the user's name, or the numeric id in containers without one. */
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

/** Returns the security log for a command that opens no stores. */
export function securityLogIn(dataDirectory: string): Logging {
  return { configuration: { dataDirectory }, clock: () => new Date().toISOString(), context: operatorContext() }
}

/** Runs the action of a command and records its outcome in the security log. */
export async function withSecurityLog<Result>(
  stores: Logging,
  command: Command,
  action: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    const result = await action()
    log(stores, command, 'done', result)
    return result
  } catch (error) {
    log(stores, command, error instanceof Error && error.name === 'Refused' ? 'refused' : 'failed')
    throw error
  }
}

function log({ configuration, clock, context }: Logging, command: Command, outcome: string, result?: unknown): void {
  const { actor, $correlationId: correlationId } = context
  const fields = { actor, command: pathOf(command), subject: subjectOf(command, result), outcome, correlationId }
  try {
    logOperatorCommand(configuration.dataDirectory, clock(), fields)
  } catch (error) {
    // The command has already taken effect, and most of its effects are events that name the actor.
    command
      .configureOutput()
      .writeErr?.(`transferd: the security log could not be written: ${(error as Error).message}\n`)
  }
}

function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return `${above}${command.name()}`
}

/** Returns the id that the command concerns. Masks a secret that was passed by mistake. */
function subjectOf(command: Command, result: unknown): string | null {
  const { transfer, merchant } = command.opts<{ readonly transfer?: unknown; readonly merchant?: unknown }>()
  const created = (result ?? {}) as {
    readonly id?: unknown
    readonly accountNumber?: unknown
    readonly userId?: unknown
  }
  const subject =
    command.processedArgs[0] ?? transfer ?? created.userId ?? merchant ?? created.id ?? created.accountNumber ?? null
  if (subject === null) return null
  const text = String(subject).slice(0, maxSubject)
  return secretForms.test(text) ? text.replace(/_.*/s, '_…') : text
}
