import { styleText } from 'node:util'
import { type Command, Option } from 'commander'
import { escapeHidden } from '../kernel/text.js'

/** The stdout and stderr of the program, which a test may have replaced. */
export interface Output {
  write(text: string): void
  /** Prints a line on stderr. If the command prints JSON, the line waits for its end, and with `--watch` for the next result. */
  notify(message: string): void
  /** Prints a line on stderr immediately, for a command that runs until a signal. */
  announce(message: string): void
  /** Prints a line on stderr without the name of the program, or nothing if the command prints JSON. */
  progress(line: string): void
}

/** The formats of lists. Every other result has the first one and JSON. */
export const formats = ['table', 'wide', 'csv', 'json'] as const
export type Format = (typeof formats)[number]

/** `--json`, which sets the value of `--output`. */
class JsonOption extends Option {
  override attributeName(): string {
    return 'output'
  }
}

/** Adds the options for the format of the result: every command can print JSON, and a list all formats. */
export function addFormatOptions(command: Command, choices: readonly Format[] = ['json']): void {
  command
    .addOption(new Option('-o, --output <format>', 'the format of the result').choices(choices))
    .addOption(new JsonOption('--json', 'short for --output json: exactly one JSON document on stdout').preset('json'))
}

export function formatOf(command: Command): Format {
  return command.opts<{ readonly output?: Format }>().output ?? 'table'
}

/** Returns whether the arguments request JSON, before they are parsed: the parser's errors are JSON too. The last option counts. */
export function wantsJson(argv: readonly string[]): boolean {
  const line = argv.map((each) => each.replaceAll('\0', '')).join('\0')
  const last = [...line.matchAll(/\0(?:(--json)|(?:-o|--output)[=\0]?([^\0]*))(?=\0|$)/g)].at(-1)
  return last !== undefined && (last[1] !== undefined || last[2] === 'json')
}

/** The notices of a program whose command prints JSON or watches a result. They must not precede an error, which is the only document on stderr. */
const waiting = new WeakMap<Command, string[]>()

export function outputOf(command: Command): Output {
  const { writeOut, writeErr } = command.configureOutput()
  const announce = (message: string) => writeErr?.(lineOf(message))
  const json = formatOf(command) === 'json'
  const { watch } = command.opts<{ readonly watch?: number }>()
  return {
    write: (text) => writeOut?.(text),
    announce,
    notify: json || watch !== undefined ? (message) => void noticesOf(rootOf(command)).push(message) : announce,
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

export function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command
}
