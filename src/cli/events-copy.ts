import type { Command } from 'commander'
import type { CopyProgress } from '../operations/copy/copy-log.js'
import { defineStandaloneCommand, Refused } from './command.js'
import { percentOf, progressReporter } from './progress.js'
import { interruptSignal } from './stop-signal.js'

/** Adds the commands that copy the whole log to another engine or to a file. */
export function addEventsCopyCommands(events: Command): void {
  const copy = events
    .command('copy')
    .description('copy the log to another engine, to move the service there')
    .requiredOption('--from <url>', 'like EVENT_STORE_URL: embedded:<directory> or esdb://…')
    .requiredOption('--to <url>', 'the same; empty or with a prefix of the same log')
  defineStandaloneCommand(copy, () => {
    const { from, to } = copy.opts<{ from: string; to: string }>()
    return copyTo(from, to, (line) => copy.configureOutput().writeErr?.(`${line}\n`))
  })
  const backup = events
    .command('backup')
    .argument('<file>')
    .description('write the embedded log to one file, with or without a running service')
  defineStandaloneCommand(backup, async (configuration) => {
    const { backUpEvents } = await import('../operations/backup/backup-commands.js')
    return backUpEvents(configuration, String(backup.args[0]))
  })
}

async function copyTo(from: string, to: string, notify: (line: string) => void): Promise<object> {
  const { copyEvents } = await import('../operations/copy/copy-events.js')
  const report = await copyEvents(from, to, {
    signal: interruptSignal(),
    onProgress: progressReporter(notify, copyProgress()),
  })
  const { sourceHasGrown, ...result } = report
  if (sourceHasGrown) {
    throw new Refused(
      `${result.events} events are copied and verified, but the source has grown since: stop its writers and run the command again`,
    )
  }
  return result
}

/** Returns a formatter that also computes the rate since the previous line of the same phase. */
function copyProgress(): (progress: CopyProgress) => string {
  let previous = { doing: '', events: 0, atMs: performance.now() }
  return ({ doing, events, at, end }) => {
    const nowMs = performance.now()
    const added = previous.doing === doing ? events - previous.events : 0
    const perSecond = Math.round((added * 1_000) / (nowMs - previous.atMs))
    previous = { doing, events, atMs: nowMs }
    // Show 100 only when the copy is complete.
    return `${doing}: ${events} events, ${Math.min(99, percentOf(at, end))} %, ${perSecond} per second`
  }
}
