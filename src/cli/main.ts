#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { addCallbackCommands } from './callbacks.js'
import { Refused, UsageError } from './command.js'
import { addEventCommands } from './events.js'
import { addMerchantCommands } from './merchants.js'
import { addProjectionCommands } from './projections.js'
import { addServeCommand } from './serve.js'
import { addTransferCommands } from './transfers.js'

/** Exit status: 0 done, 1 refused or failed (the reason is on stderr), 2 used wrongly. */
async function main(argv: readonly string[]): Promise<number> {
  const program = new Command('transferd')
    .description('Self-hosted payment-transfer service.')
    .showHelpAfterError('(--help lists commands and options)')
    .exitOverride()
  addServeCommand(program)
  addMerchantCommands(program)
  addTransferCommands(program)
  addEventCommands(program)
  addCallbackCommands(program)
  addProjectionCommands(program)
  try {
    await program.parseAsync(argv)
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    console.error(`transferd: ${message}`)
    if (error instanceof UsageError || name === 'ConfigurationError') return 2
    if (!(error instanceof Refused) && isBug(error)) console.error((error as Error).stack)
    return 1
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
