import type { Command } from 'commander'
import type { Workplace } from './cli-stores.js'
import { answer, Refused } from './command.js'

export function addSeedCommand(program: Command): void {
  const seed = program.command('seed').description('fill a sandbox that has no transfers with an hour of made-up ones')
  answer(seed, seedSandbox, { log: 'may be new' })
}

async function seedSandbox({ configuration, eventStore, box, clock, merchantDirectory }: Workplace) {
  const { isSandbox } = await import('../sandbox/sandbox.js')
  const { isWithoutTransfers, seed } = await import('../sandbox/seed/seed.js')
  if (configuration.sandbox === 'off') throw new Refused('There is no sandbox: SANDBOX is off.')
  if (!isSandbox(await merchantDirectory()))
    throw new Refused('There is a live merchant: nothing is made up beside it.')
  if (!(await isWithoutTransfers(eventStore))) throw new Refused('There are transfers already.')
  return { transfers: await seed({ store: eventStore, box, clock, frame: configuration, goesOn: () => true }) }
}
