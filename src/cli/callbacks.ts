import type { Command } from 'commander'

export function addCallbackCommands(program: Command): void {
  program.command('callbacks')
}
