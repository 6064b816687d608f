import type { Command } from 'commander'
import { escapeHidden } from '../kernel/text.js'
import { Refused, UsageError } from './failures.js'
import { formatOf } from './output.js'

/** The question before a command that stops a merchant or cannot be undone. */
export interface Question {
  /** The effect, in sentences. */
  readonly effect: string
  /** The text to type. */
  readonly word: string
}

/** Rejects a command that needs a confirmation without a terminal. @throws UsageError */
export function requireTerminal(command: Command): void {
  const json = formatOf(command) === 'json'
  if (!json && process.stdin.isTTY && process.stderr.isTTY) return
  const reason = json ? 'with --json, it does not ask' : 'there is no terminal to ask'
  throw new UsageError(`this requires a confirmation, but ${reason}: use --yes to do it anyway`, 'yes-required')
}

/** Asks on the terminal. @throws Refused if the user types anything else */
export async function confirm({ effect, word }: Question): Promise<void> {
  const { createInterface } = await import('node:readline')
  // Without line editing, so that Ctrl-C ends the process as usual.
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  // An old text can contain characters that no one can type, so the displayed text counts.
  const requested = escapeHidden(word.trim())
  process.stderr.write(`${escapeHidden(effect)}\nType ${requested} to confirm: `)
  const typed = await new Promise<string | undefined>((resolve) => {
    terminal.once('line', resolve)
    terminal.once('close', () => resolve(undefined))
  })
  terminal.close()
  if (typed === undefined) process.stderr.write('\n')
  if (typed?.trim().normalize() !== requested.normalize())
    throw new Refused('not-confirmed', 'not confirmed: nothing was changed')
}
