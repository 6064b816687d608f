import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { CommandContext } from '../commands/handle-command.js'
import type { Clock } from '../kernel/time.js'
import type { MacBox } from '../operations/logging/security-log-chain.js'
import { outputOf } from './output.js'

/** The last words of the commands that change nothing without `--report`. Every other command leaves a line in the security log. */
const reading = new Set([
  ...['follow', 'key', 'list', 'problems', 'prove', 'reconcile', 'show', 'state', 'status', 'story', 'verify', 'who'],
])
const secretForms = /^(tk|sk|whsec)_/
const maxSubject = 128

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

export interface Logging {
  readonly configuration: { readonly dataDirectory: string }
  readonly clock: Clock
  readonly context: CommandContext
  /** Present if the command has opened the log. */
  readonly box?: MacBox
}

/** Returns the security log for a command that opens no stores. */
export function securityLogIn(dataDirectory: string): Logging {
  return { configuration: { dataDirectory }, clock: () => new Date().toISOString(), context: operatorContext() }
}

/** Runs the action of a command and records its outcome in the security log, unless it is a command that changes nothing. */
export async function withSecurityLog<Result>(
  { configuration, clock, context, ...opened }: Partial<Logging>,
  command: Command,
  action: () => Promise<Result>,
): Promise<Result> {
  const changes = !reading.has(command.name()) || command.opts<{ readonly report?: boolean }>().report
  if (!configuration || !clock || !context || !changes) return action()
  try {
    const result = await action()
    await log({ configuration, clock, context, ...opened }, command, 'done', result)
    return result
  } catch (error) {
    const outcome = error instanceof Error && error.name === 'Refused' ? 'refused' : 'failed'
    await log({ configuration, clock, context, ...opened }, command, outcome)
    throw error
  }
}

/**
 * Appends a line to `<dataDirectory>/security.log`, because stderr belongs to the script that runs a command, and commands that only read or
 * copy the log append no event. The file is opened for each line, so it can be moved away at any time.
 */
async function log(logging: Logging, command: Command, outcome: string, result?: unknown): Promise<void> {
  const { configuration, clock, context, box } = logging
  const { dataDirectory } = configuration
  const { actor, $correlationId: correlationId } = context
  const fields = { actor, command: pathOf(command), subject: subjectOf(command, result), outcome, correlationId }
  try {
    // Otherwise the directory would exist, and the next restore into it would be rejected.
    if (outcome !== 'done' && !existsSync(dataDirectory)) return
    // Import late: it loads SQLite, which a wrong option does not need.
    const { appendToSecurityLog } = await import('../operations/logging/security-log-chain.js')
    appendToSecurityLog(dataDirectory, { time: clock(), event: 'security.operator_command', ...fields }, box)
  } catch (error) {
    // The command has already taken effect, and most of its effects are events that name the actor.
    outputOf(command).notify(`the security log could not be written: ${(error as Error).message}`)
  }
}

/** Returns the names of a command and of the groups that contain it. */
export function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return `${above}${command.name()}`
}

/** Returns the id that the command concerns. Masks a secret that was passed by mistake. */
function subjectOf(command: Command, result: unknown): string | null {
  const { transfer, merchant } = command.opts<{ readonly transfer?: unknown; readonly merchant?: unknown }>()
  const { id, accountNumber, userId } = (result ?? {}) as { readonly [field: string]: unknown }
  const subject = command.processedArgs[0] ?? transfer ?? userId ?? merchant ?? id ?? accountNumber ?? null
  if (subject === null) return null
  const text = String(subject).slice(0, maxSubject)
  return secretForms.test(text) ? text.replace(/_.*/s, '_…') : text
}
