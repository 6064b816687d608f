#!/usr/bin/env node
import { CommanderError } from 'commander'
import { DoneByAnother, Refused, UsageError } from './command.js'
import { buildProgram } from './program.js'

/** Exit status: 0 done, 1 refused or failed (the reason is on stderr), 2 used or configured wrongly, 3 done before by somebody else. */
async function main(argv: readonly string[]): Promise<number> {
  try {
    await buildProgram().parseAsync(argv)
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
    console.error(`transferd: ${message}`)
    if (error instanceof UsageError || name === 'ConfigurationError') return 2
    if (!(error instanceof Refused) && isBug(error)) console.error(stack)
    return error instanceof DoneByAnother ? 3 : 1
  }
}

/** An error of the language itself is a mistake of ours; where it happened belongs into a report. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}

// What the stores hold is nobody else's business, whatever directory they are put in.
process.umask(0o077)
// A reader that went away (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
process.exitCode = await main(process.argv)
