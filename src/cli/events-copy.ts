import type { Command } from 'commander'
import type { CopyProgress } from '../event-store/copy/copy-log.js'
import { Refused } from './command.js'
import { logged, loggingTo } from './operator-log.js'
import { readable } from './readable.js'

interface Options {
  readonly from: string
  readonly to: string
  readonly json?: true
}

const tellEveryMs = 1_000

export function addEventsCopyCommand(events: Command): void {
  events
    .command('copy')
    .description('copy the log to another engine, where the service then goes on')
    .requiredOption('--from <url>', 'as EVENT_STORE_URL: embedded:<directory> or esdb://…')
    .requiredOption('--to <url>', 'likewise; empty, or holding the beginning of the same log')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .action(copy)
}

async function copy(options: Options, command: Command): Promise<void> {
  const { readConfiguration } = await import('../runtime/configuration.js')
  const { dataDirectory } = readConfiguration(process.env)
  await logged(loggingTo(dataDirectory), command, () => copyTo(options))
}

async function copyTo({ from, to, json }: Options): Promise<void> {
  const interrupted = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => interrupted.abort())
  const { copyEvents } = await import('../runtime/copy-events.js')
  const report = await copyEvents(from, to, { signal: interrupted.signal, onProgress: progressLines() })
  const { sourceHasGrown, ...result } = report
  if (sourceHasGrown) {
    throw new Refused(
      `${result.events} events are copied and verified, but the source has grown meanwhile: stop what writes to it and run this again`,
    )
  }
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : readable(result))
}

/** A line a second on stderr. */
function progressLines(): (progress: CopyProgress) => void {
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
    console.error(`${doing}: ${progress.events} events, ${percent} %, ${perSecond} a second`)
    toldAtMs = nowMs
    toldEvents = progress.events
  }
}
