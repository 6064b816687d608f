import type { Command } from 'commander'
import type { CopyProgress } from '../operations/copy/copy-log.js'
import { answerAlone, Refused } from './command.js'
import { interruption } from './stop-signal.js'

const tellEveryMs = 1_000

/** What copies the whole log: to another engine, or into a file. */
export function addEventsCopyCommands(events: Command): void {
  const copy = events
    .command('copy')
    .description('copy the log to another engine, where the service then goes on')
    .requiredOption('--from <url>', 'as EVENT_STORE_URL: embedded:<directory> or esdb://…')
    .requiredOption('--to <url>', 'likewise; empty, or holding the beginning of the same log')
  answerAlone(copy, () => {
    const { from, to } = copy.opts<{ from: string; to: string }>()
    return copyTo(from, to, (line) => copy.configureOutput().writeErr?.(`${line}\n`))
  })
  const backup = events
    .command('backup')
    .argument('<file>')
    .description('write the embedded log into one file, beside a running service or without one')
  answerAlone(backup, async (configuration) => {
    const { backUpEvents } = await import('../operations/backup/backup-commands.js')
    return backUpEvents(configuration, String(backup.args[0]))
  })
}

async function copyTo(from: string, to: string, tell: (line: string) => void): Promise<object> {
  const { copyEvents } = await import('../operations/copy/copy-events.js')
  const report = await copyEvents(from, to, { signal: interruption(), onProgress: progressLines(tell) })
  const { sourceHasGrown, ...result } = report
  if (sourceHasGrown) {
    throw new Refused(
      `${result.events} events are copied and verified, but the source has grown meanwhile: stop what writes to it and run this again`,
    )
  }
  return result
}

/** A line a second. */
function progressLines(tell: (line: string) => void): (progress: CopyProgress) => void {
  let toldAtMs = performance.now()
  let toldEvents = 0
  let doing: CopyProgress['doing'] | undefined
  return (progress) => {
    const nowMs = performance.now()
    if (progress.doing !== doing) {
      doing = progress.doing
      toldEvents = progress.events
      toldAtMs = nowMs
    }
    if (nowMs - toldAtMs < tellEveryMs) return
    const perSecond = Math.round(((progress.events - toldEvents) / (nowMs - toldAtMs)) * 1_000)
    // 100 only when it is done.
    const percent = Math.min(99, Number((progress.at.commit * 100n) / progress.end.commit))
    tell(`${doing}: ${progress.events} events, ${percent} %, ${perSecond} a second`)
    toldAtMs = nowMs
    toldEvents = progress.events
  }
}
