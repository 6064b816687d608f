import type { Command } from 'commander'
import { logged, loggingTo } from './operator-log.js'
import { readable } from './readable.js'

export function addEventsBackupCommand(events: Command): void {
  const command = events
    .command('backup')
    .argument('<file>')
    .description('write the embedded log into one file, beside a running service or without one')
    .option('--json', 'print one JSON document on stdout and nothing else')
  command.action(async (file: string, { json }: { readonly json?: true }) => {
    const { backUpEvents } = await import('../runtime/back-up-events.js')
    const { readConfiguration } = await import('../runtime/configuration.js')
    const { dataDirectory } = readConfiguration(process.env)
    const answer = await logged(loggingTo(dataDirectory), command, async () => backUpEvents(process.env, file))
    process.stdout.write(json ? `${JSON.stringify(answer)}\n` : readable(answer))
  })
}
