import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { messageWithRemedy } from '../operations/files/directory-access.js'
import { version } from '../operations/version.js'
import { addAuditCommands } from './cli-audit.js'
import { addCallbackCommands } from './cli-callbacks.js'
import { addEventCommands } from './cli-events.js'
import { addMerchantCommands } from './cli-merchants.js'
import { addPayoutCommands } from './cli-payouts.js'
import { addPrivacyCommands } from './cli-privacy.js'
import { addProjectionCommands } from './cli-projections.js'
import { addBackupCommands, addMasterKeyCommands } from './cli-safekeeping.js'
import { addDoctorCommand, addOutboxCommands, addServiceCommands } from './cli-service.js'
import { addTransferCommands } from './cli-transfers.js'
import { addUserCommands } from './cli-users.js'
import { addWalletCommands } from './cli-wallet.js'
import { AlreadyDone, outputOf, UsageError } from './command.js'

/** The groups of commands, in the order of the help. */
const groups = [
  ...[addServiceCommands, addMerchantCommands, addTransferCommands, addPayoutCommands, addUserCommands],
  ...[
    addWalletCommands,
    addOutboxCommands,
    addEventCommands,
    addAuditCommands,
    addCallbackCommands,
    addProjectionCommands,
  ],
  ...[addPrivacyCommands, addDoctorCommand, addMasterKeyCommands, addBackupCommands],
]

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
    outputOf(program).notify(error instanceof Error ? messageWithRemedy(error) : message)
    if (error instanceof UsageError || name === 'ConfigurationError') return 2
    // The stack trace of a bug in transferd belongs in a report.
    if ([TypeError, RangeError, ReferenceError].some((bug) => error instanceof bug))
      outputOf(program).progress(String(stack))
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
  for (const add of groups) add(program)
  return program
}
