import { readFileSync } from 'node:fs'
import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { addAuditCommands } from './audit-commands.js'
import { addBackupCommands } from './backup-commands.js'
import { addCallbackCommands } from './callback-commands.js'
import { AlreadyDone, notify, Refused, UsageError } from './command.js'
import { addDoctorCommand } from './doctor-command.js'
import { addEventCommands } from './event-commands.js'
import { addKeyCommands } from './key-commands.js'
import { addMerchantCommands } from './merchant-commands.js'
import { addOutboxCommands } from './outbox-command.js'
import { addPrivacyCommands } from './privacy-commands.js'
import { addProjectionCommands } from './projection-commands.js'
import { addSeedCommand } from './seed-command.js'
import { addServeCommand } from './serve-command.js'
import { addTransferCommands } from './transfer-commands.js'
import { addUserCommands } from './user-commands.js'
import { addWalletCommands } from './wallet-commands.js'

const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')) as {
  version: string
}

/**
 * Runs one command of `transferd` and returns its exit status: 0 for success, 1 if it was rejected or failed (the reason is on stderr), 2 for
 * wrong usage or configuration, 3 if another user has already done it. `output` replaces the stdout and stderr of the process.
 */
export async function run(argv: readonly string[], output: OutputConfiguration = {}): Promise<number> {
  const program = buildProgram(output)
  try {
    await program.parseAsync(argv)
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
    notify(program, message)
    if (error instanceof UsageError || name === 'ConfigurationError') return 2
    if (!(error instanceof Refused) && isBug(error)) program.configureOutput().writeErr?.(`${stack}\n`)
    return error instanceof AlreadyDone ? 3 : 1
  }
}

/** Builds the commands that docs/reference/cli.md lists. The program throws CommanderError instead of exiting. */
export function buildProgram(output: OutputConfiguration = {}): Command {
  const program = new Command('transferd')
    .description('Self-hosted payment-transfer service.')
    .version(version)
    .showHelpAfterError('(--help lists commands and options)')
    .configureOutput(output)
    .exitOverride()
  addServeCommand(program)
  addSeedCommand(program)
  addMerchantCommands(program)
  addTransferCommands(program)
  addUserCommands(program)
  addWalletCommands(program)
  addOutboxCommands(program)
  addEventCommands(program)
  addAuditCommands(program)
  addCallbackCommands(program)
  addProjectionCommands(program)
  addPrivacyCommands(program)
  addDoctorCommand(program)
  addKeyCommands(program)
  addBackupCommands(program)
  return program
}

/** Returns whether an error is a bug in transferd, so that its stack trace belongs in a report. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}
