import type { Command } from 'commander'
import { answer, Refused } from './command.js'
import { addEventsBackupCommand } from './events-backup.js'
import { addEventsCopyCommand } from './events-copy.js'
import { addEventsServeCommand } from './events-serve.js'
import { trackingId } from './options.js'
import type { Workplace } from './workplace.js'

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('the log itself')
  answer(
    events
      .command('show')
      .argument('<trackingId>', '', trackingId)
      .description('everything that happened to a transfer'),
    showEvents,
  )
  addEventsServeCommand(events)
  addEventsCopyCommand(events)
  addEventsBackupCommand(events)
}

async function showEvents({ eventStore }: Workplace, _options: object, trackingId: string) {
  const { transferStream } = await import('../commands/ids.js')
  const { formatPosition } = await import('../event-store/event-store.js')
  const events = await eventStore.readStream(transferStream(trackingId))
  if (events.length === 0) throw new Refused('There is no such transfer.')
  return events.map(({ id, type, revision, position, recordedAtMs, data, metadata }) => ({
    revision,
    type,
    recordedAt: new Date(recordedAtMs).toISOString(),
    position: formatPosition(position),
    id,
    data,
    metadata,
  }))
}
