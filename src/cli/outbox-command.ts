import type { Command } from 'commander'
import type { CommandStores } from './cli-stores.js'
import { defineListCommand, Refused } from './command.js'

export function addOutboxCommands(program: Command): void {
  const outbox = program.command('outbox').description("the sandbox's messages to customers")
  defineListCommand(outbox.command('list').description('undelivered codes and links, newest first'), list, {
    columns: () => [
      { head: 'AT', cell: ({ at }) => at },
      { head: 'KIND', cell: ({ kind }) => kind },
      { head: 'TO', cell: ({ to }) => to, max: 32 },
      { head: 'MESSAGE', cell: ({ code, link }) => code ?? link },
    ],
    emptyText: 'No messages found.',
  })
}

async function list(stores: CommandStores) {
  const { createOutbox } = await import('../main/compose-wallet.js')
  const merchants = await stores.allMerchants()
  // Remaining sandbox messages must not be shown once customers are real.
  if (stores.configuration.sandbox === 'off' || merchants.some(({ settings }) => !settings.sandbox)) {
    throw new Refused('The outbox exists only in sandbox mode.')
  }
  return createOutbox({ ...stores, readModels: await stores.readModels() }).list()
}
