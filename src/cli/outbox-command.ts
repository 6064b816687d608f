import type { Command } from 'commander'
import type { Workplace } from './cli-stores.js'
import { answerList, Refused } from './command.js'

export function addOutboxCommands(program: Command): void {
  const outbox = program.command('outbox').description("the sandbox's messages to customers")
  answerList(outbox.command('list').description('codes and links that were sent to nobody, newest first'), list, {
    columns: () => [
      { head: 'AT', cell: ({ at }) => at },
      { head: 'KIND', cell: ({ kind }) => kind },
      { head: 'TO', cell: ({ to }) => to, max: 32 },
      { head: 'MESSAGE', cell: ({ code, link }) => code ?? link },
    ],
    none: 'No messages found.',
  })
}

async function list(workplace: Workplace) {
  const { createOutbox } = await import('../main/wallet-wiring.js')
  const merchants = await workplace.allMerchants()
  // What is left from the sandbox's time is nobody's business once customers are real.
  if (workplace.configuration.sandbox === 'off' || merchants.some(({ settings }) => !settings.sandbox)) {
    throw new Refused('There is an outbox in sandbox mode only.')
  }
  return createOutbox({ ...workplace, readModels: await workplace.readModels() }).list()
}
