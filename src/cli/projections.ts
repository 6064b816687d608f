import type { Command } from 'commander'

export function addProjectionCommands(program: Command): void {
  program.command('projections')
}
