import { setTimeout } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { Command } from 'commander'
import { escapeHidden } from '../kernel/text.js'
import { type Failure, type FailureCode, failureDocument, failureOf } from './failures.js'
import { printingSignal } from './long-running.js'
import { formatOf, inRed, noticesOf, outputOf, rootOf } from './output.js'
import { exactTime, jsonLine } from './readable.js'

/** A result at one time. */
export interface Reading {
  /** The JSON document, which decides whether the result has changed. */
  readonly document: unknown
  /** The text for people. */
  readonly text: string
  /** Warnings and hints. */
  readonly notices: readonly string[]
}

/** The state of a watched result: the latest reading, and the failure of a later attempt to read. */
export interface Watched {
  /** The time of the last attempt, in ISO 8601. */
  readonly at: string
  readonly latest: Reading | undefined
  readonly failure: Failure | undefined
}

export type Show = (watched: Watched) => void

interface Watching {
  readonly read: () => Promise<Reading>
  readonly show: Show
  readonly clock: () => string
  /** Resolves after the interval, or as soon as `signal` aborts. */
  readonly pause: () => Promise<void>
  readonly signal: AbortSignal
}

/** Runs `read` at intervals and shows its result until a signal. Only commands that change nothing are watched, so nothing is logged. */
export async function watchCommand(
  command: Command,
  seconds: number,
  read: () => Promise<Omit<Reading, 'notices'>>,
): Promise<void> {
  const { write, announce } = outputOf(command)
  const program = rootOf(command)
  const notices = noticesOf(program)
  const isJson = formatOf(command) === 'json'
  const { stdout } = process
  // Some terminals report a size of 0.
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
  const isScreen = stdout.isTTY && !isJson && process.env.TERM !== 'dumb'
  const fail = (failure: Failure) =>
    isJson ? program.configureOutput().writeErr?.(jsonLine(failureDocument(failure, []))) : announce(failure.message)
  const signal = printingSignal()
  await watch({
    read: async () => ({ ...(await read()), notices: notices.splice(0) }),
    show: isScreen
      ? redraw({ write, size, failureLine: ({ message }) => inRed(escapeHidden(message)) })
      : printChanges({ write, announce, fail, isJson }),
    clock: () => new Date().toISOString(),
    // The signal ends the pause early.
    pause: () => setTimeout(seconds * 1_000, undefined, { signal }).catch(() => undefined),
    signal,
  })
}

/** The failures that end without an action of the user. */
const temporary: ReadonlySet<string> = new Set<FailureCode>(['store-unavailable', 'lists-unavailable'])

/** Reads and shows a result again and again until the signal aborts. Throws every failure except the unavailability of a store. */
export async function watch({ read, show, clock, pause, signal }: Watching): Promise<void> {
  let latest: Reading | undefined
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  while (!signal.aborted) {
    let failure: Failure | undefined
    try {
      // An unavailable store can take seconds to fail.
      const reading = await Promise.race([read(), stopped])
      if (reading === undefined) return
      latest = reading
    } catch (error) {
      failure = failureOf(error)
      if (!temporary.has(failure.code)) throw error
    }
    show({ at: clock(), latest, failure })
    await pause()
  }
}

interface Printing {
  readonly write: (text: string) => void
  /** Prints a warning or a hint. */
  readonly announce: (message: string) => void
  readonly fail: (failure: Failure) => void
  readonly isJson: boolean
}

/** Returns a function that prints the result below its time whenever it has changed, or one line of JSON. Reports each outage once. */
export function printChanges({ write, announce, fail, isJson }: Printing): Show {
  let [document, notices, failed]: (string | undefined)[] = []
  return ({ at, latest, failure }) => {
    if (failure && failure.message !== failed) fail(failure)
    failed = failure?.message
    if (!latest || failure) return
    const line = jsonLine(latest.document)
    if (line !== document) write(isJson ? line : `${exactTime(at)}\n${latest.text}\n`)
    document = line
    const said = latest.notices.join('\n')
    if (said !== notices) for (const notice of latest.notices) announce(notice)
    notices = said
  }
}

const control = '\u001b['

interface Terminal {
  readonly write: (text: string) => void
  readonly size: () => { readonly columns: number; readonly rows: number }
  /** Returns the line of a failure. */
  readonly failureLine: (failure: Failure) => string
}

/**
 * Returns a function that draws the result over the previous one. One write per drawing does not flicker, and leaves the cursor below the
 * result and visible, so nothing needs to be restored at the end.
 */
export function redraw({ write, size, failureLine }: Terminal): Show {
  let drawn = 0
  return ({ at, latest, failure }) => {
    const { columns, rows } = size()
    const text = latest ? [...latest.text.trimEnd().split('\n'), ...latest.notices.map(escapeHidden)] : []
    const lines = [exactTime(at), ...(failure ? [failureLine(failure)] : []), ...text]
    // The terminal cannot move the cursor above its first row.
    const fitting = Math.max(2, rows - 1)
    const hidden = lines.length - fitting
    const shown = hidden > 0 ? [...lines.slice(0, fitting - 1), `… ${hidden + 1} more lines`] : lines
    const body = shown.map((line) => `${line}${widthOf(line) < columns ? `${control}K` : ''}\r\n`).join('')
    const up = drawn > 0 ? `${control}${drawn}A` : ''
    // Without a cursor, and without wrapping, because a wrapped line would take more than one row.
    write(`${control}?25l${control}?7l\r${up}${body}${control}J${control}?7h${control}?25h`)
    drawn = shown.length
  }
}

function widthOf(line: string): number {
  return stripVTControlCharacters(line).length
}
