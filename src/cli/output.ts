import { styleText } from 'node:util'
import type { Command } from 'commander'
import { escapeHidden } from '../kernel/text.js'

/** The stdout and stderr of the program, which a test may have replaced. */
export interface Output {
  write(text: string): void
  /** Prints a line on stderr. With `--json`, the line waits for the end of the command. */
  notify(message: string): void
  /** Prints a line on stderr immediately, for a command that runs until a signal. */
  announce(message: string): void
  /** Prints a line on stderr without the name of the program. With `--json`, it prints nothing. */
  progress(line: string): void
}

/** The notices of a program whose command prints JSON. They must not precede an error, which is the only document on stderr. */
const waiting = new WeakMap<Command, string[]>()

export function outputOf(command: Command): Output {
  const { writeOut, writeErr } = command.configureOutput()
  const announce = (message: string) => writeErr?.(lineOf(message))
  const { json } = command.opts<{ readonly json?: true }>()
  return {
    write: (text) => writeOut?.(text),
    announce,
    notify: json ? (message) => void noticesOf(rootOf(command)).push(message) : announce,
    progress: (line) => json || writeErr?.(`${line}\n`),
  }
}

/** Returns the notices that wait for the end of the command. */
export function noticesOf(program: Command): string[] {
  const notices = waiting.get(program) ?? []
  waiting.set(program, notices)
  return notices
}

/** Prints a failure on stderr, in red on a terminal. */
export function printFailure(program: Command, message: string): void {
  program.configureOutput().writeErr?.(inRed(lineOf(message)))
}

export function inRed(text: string): string {
  return styleText('red', text, { stream: process.stderr })
}

/** Returns the line of a message. It can contain texts of other programs, for example of those that can write to the target of a backup. */
function lineOf(message: string): string {
  return `transferd: ${message.split('\n').map(escapeHidden).join('\n')}\n`
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command
}
