import type { Command } from 'commander'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, Refused } from './command.js'

export function addSeedCommand(program: Command): void {
  const seed = program.command('seed').description('fill an empty sandbox with an hour of sample transfers')
  defineCommand(seed, seedSandbox, { log: 'may be new' })
}

async function seedSandbox({ configuration, eventStore, box, clock, merchantDirectory }: CommandStores) {
  const { isSandbox } = await import('../sandbox/sandbox.js')
  const { isWithoutTransfers, seed } = await import('../sandbox/seed/seed.js')
  if (configuration.sandbox === 'off') throw new Refused('There is no sandbox, because SANDBOX is off.')
  if (!isSandbox(await merchantDirectory()))
    throw new Refused('There is a live merchant. Sample transfers require a sandbox without one.')
  if (!(await isWithoutTransfers(eventStore))) throw new Refused('Transfers already exist.')
  return { transfers: await seed({ store: eventStore, box, clock, frame: configuration, shouldContinue: () => true }) }
}
