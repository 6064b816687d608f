import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addCallbackCommands } from './callbacks.js'
import { addEventCommands } from './events.js'
import { addMerchantCommands } from './merchants.js'
import { addOutboxCommands } from './outbox.js'
import { addProjectionCommands } from './projections.js'
import { addServeCommand } from './serve.js'
import { addTransferCommands } from './transfers.js'
import { addWalletCommands } from './wallets.js'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** All commands of `transferd`, as docs/reference/cli.md lists them. Throws CommanderError instead of exiting. */
export function buildProgram(): Command {
  const program = new Command('transferd')
    .description('Self-hosted payment-transfer service.')
    .version(version)
    .showHelpAfterError('(--help lists commands and options)')
    .exitOverride()
  addServeCommand(program)
  addMerchantCommands(program)
  addTransferCommands(program)
  addWalletCommands(program)
  addOutboxCommands(program)
  addEventCommands(program)
  addCallbackCommands(program)
  addProjectionCommands(program)
  return program
}
