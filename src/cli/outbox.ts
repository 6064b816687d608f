import type { Command } from 'commander'
import { answer, Refused } from './command.js'
import type { Workplace } from './workplace.js'

export function addOutboxCommands(program: Command): void {
  const outbox = program.command('outbox').description("the sandbox's messages to customers")
  answer(outbox.command('list').description('codes and links that were sent to nobody, newest first'), list)
}

async function list(workplace: Workplace) {
  const { createOutbox } = await import('../runtime/wallet.js')
  const merchants = await workplace.allMerchants()
  // What is left from the sandbox's time is nobody's business once customers are real.
  if (workplace.configuration.sandbox === 'off' || merchants.some(({ settings }) => !settings.sandbox)) {
    throw new Refused('There is an outbox in sandbox mode only.')
  }
  return createOutbox({ ...workplace, readModels: await workplace.readModels() }).list()
}
