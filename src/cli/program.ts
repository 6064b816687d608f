import { readFileSync } from 'node:fs'
import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { addAuditCommands } from './audit-commands.js'
import { addBackupCommands } from './backup-commands.js'
import { addCallbackCommands } from './callback-commands.js'
import { DoneByAnother, Refused, tell, UsageError } from './command.js'
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
 * Runs one command of `transferd`. Answers its exit status: 0 done, 1 refused or failed (the reason is on stderr), 2 used or configured
 * wrongly, 3 done before by somebody else. `argv` is a process's; `output` is where to print in place of the process's own.
 */
export async function run(argv: readonly string[], output: OutputConfiguration = {}): Promise<number> {
  const program = buildProgram(output)
  try {
    await program.parseAsync(argv)
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
    tell(program, message)
    if (error instanceof UsageError || name === 'ConfigurationError') return 2
    if (!(error instanceof Refused) && isBug(error)) program.configureOutput().writeErr?.(`${stack}\n`)
    return error instanceof DoneByAnother ? 3 : 1
  }
}

/** All commands of `transferd`, as docs/reference/cli.md lists them. Throws CommanderError instead of exiting. */
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

/** An error of the language itself is a mistake of ours; where it happened belongs into a report. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}
