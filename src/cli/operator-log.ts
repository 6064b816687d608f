import type { Command } from 'commander'
import { logOperatorCommand } from '../runtime/operator-log.js'
import { operatorContext } from './operator.js'
import type { Workplace } from './workplace.js'

/** Commands whose last word is none of these change something, and are told of. */
const reading = new Set(['list', 'problems', 'show', 'status'])
const secretForms = /^(tk|sk|whsec)_/
const maxSubject = 128

export function onlyReads(command: Command): boolean {
  return reading.has(command.name())
}

interface Logging {
  readonly configuration: Pick<Workplace['configuration'], 'dataDirectory'>
  readonly clock: Workplace['clock']
  readonly context: Workplace['context']
}

/** For a command that opens no workplace. */
export function loggingTo(dataDirectory: string): Logging {
  return { configuration: { dataDirectory }, clock: () => new Date().toISOString(), context: operatorContext() }
}

/** Does the work and tells of it, whatever came of it. */
export async function logged<Result>(
  workplace: Logging,
  command: Command,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await work()
    tell(workplace, command, 'done', result)
    return result
  } catch (error) {
    tell(workplace, command, error instanceof Error && error.name === 'Refused' ? 'refused' : 'failed')
    throw error
  }
}

function tell({ configuration, clock, context }: Logging, command: Command, outcome: string, result?: unknown): void {
  const { actor, $correlationId: correlationId } = context
  const fields = { actor, command: pathOf(command), subject: subjectOf(command, result), outcome, correlationId }
  try {
    logOperatorCommand(configuration.dataDirectory, clock(), fields)
  } catch (error) {
    // What was done is done, and most of it is an event that names the actor.
    console.error(`transferd: no line in the security log: ${(error as Error).message}`)
  }
}

function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return `${above}${command.name()}`
}

/** On which id: the argument, or what an option names, or what was made. Never what was mistaken for an id and is a secret. */
function subjectOf(command: Command, result: unknown): string | null {
  const { transfer, merchant } = command.opts<{ readonly transfer?: unknown; readonly merchant?: unknown }>()
  const made = (result ?? {}) as { readonly id?: unknown; readonly accountNumber?: unknown }
  const subject = command.args[0] ?? transfer ?? merchant ?? made.id ?? made.accountNumber ?? null
  if (subject === null) return null
  const text = String(subject).slice(0, maxSubject)
  return secretForms.test(text) ? text.replace(/_.*/s, '_…') : text
}
