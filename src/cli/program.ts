import { styleText } from 'node:util'
import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { version } from '../operations/version.js'
import { addAuditCommands } from './cli-audit.js'
import { addBankCommands } from './cli-bank.js'
import { addCallbackCommands } from './cli-callbacks.js'
import { addDeveloperCommands } from './cli-developer.js'
import { addEventCommands } from './cli-events.js'
import { addInstallationCommands } from './cli-installation.js'
import { addMerchantCommands } from './cli-merchants.js'
import { addPayoutCommands } from './cli-payouts.js'
import { addPrivacyCommands } from './cli-privacy.js'
import { addProjectionCommands } from './cli-projections.js'
import { addBackupCommands, addMasterKeyCommands } from './cli-safekeeping.js'
import { addDoctorCommand, addOutboxCommands, addServiceCommands } from './cli-service.js'
import { addTransferCommands } from './cli-transfers.js'
import { addUserCommands } from './cli-users.js'
import { addWalletCommands } from './cli-wallet.js'
import { failureDocument, failureOf } from './failures.js'
import { inRed, noticesOf, outputOf, printFailure, wantsJson } from './output.js'
import { jsonLine } from './readable.js'
import { withSeconds } from './watch-option.js'

/** The groups of commands, in the order of the help. */
const groups = [
  ...[
    addServiceCommands,
    addDeveloperCommands,
    addMerchantCommands,
    addTransferCommands,
    addPayoutCommands,
    addBankCommands,
    addUserCommands,
  ],
  ...[
    addWalletCommands,
    addOutboxCommands,
    addEventCommands,
    addAuditCommands,
    addCallbackCommands,
    addProjectionCommands,
  ],
  ...[addPrivacyCommands, addDoctorCommand, addMasterKeyCommands, addBackupCommands, addInstallationCommands],
]

/**
 * Runs one command of `transferd` and returns its exit status: 0 for success, 1 if it was rejected or failed (the reason is on stderr), 2 for
 * wrong usage or configuration, 3 if another user has already done it. `output` replaces the stdout and stderr of the process.
 */
export async function run(argv: readonly string[], output: OutputConfiguration = {}): Promise<number> {
  const isJson = wantsJson(argv)
  const program = buildProgram(output)
  const { writeErr } = program.configureOutput()
  if (isJson) withoutParserMessages(program)
  const notices = noticesOf(program)
  try {
    await program.parseAsync(withSeconds(argv))
    for (const notice of notices) outputOf(program).announce(notice)
    return 0
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    const failure = failureOf(error)
    if (isJson) writeErr?.(jsonLine(failureDocument(failure, notices)))
    else if (!(error instanceof CommanderError)) {
      for (const notice of notices) outputOf(program).announce(notice)
      printFailure(program, failure.message)
      if (failure.stack !== undefined) writeErr?.(`${failure.stack}\n`)
    }
    return failure.status
  }
}

/** Silences stderr until a command starts, because the parser's messages and help are in the JSON document instead. */
function withoutParserMessages(program: Command): void {
  const { writeErr } = program.configureOutput()
  let hasStarted = false
  program.hook('preAction', () => {
    hasStarted = true
  })
  // The commands share this object.
  Object.assign(program.configureOutput(), {
    writeErr: (text: string) => {
      if (hasStarted) writeErr?.(text)
    },
  })
}

/** Builds the commands that docs/reference/cli.md lists. The program throws CommanderError instead of exiting. */
export function buildProgram(output: OutputConfiguration = {}): Command {
  const program = new Command('transferd')
    .description('Self-hosted payment-transfer service.')
    .version(version)
    .showHelpAfterError('(--help lists commands and options)')
    .configureOutput({ outputError: (text, write) => write(inRed(text)), ...output })
    // Commander removes the style where no terminal shows it.
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { validateStream: false }) })
    .exitOverride()
  for (const add of groups) add(program)
  return program
}
