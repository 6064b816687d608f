import { statSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { ExportFormat } from '../audit/history/export.js'
import type { Workplace } from './cli-stores.js'
import { answer, findMerchant, Refused } from './command.js'
import { moment, path } from './options.js'
import { interruption } from './stop-signal.js'

const tellEveryMs = 1_000

interface Options {
  readonly out: string
  readonly format: ExportFormat
  readonly merchant?: string
  readonly from?: string
  readonly to?: string
}

export function addAuditExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description('write events into files, with a manifest; killed, the same command goes on where it was')
    .requiredOption(
      '--out <path>',
      'a file; or a directory (one that is there, or ends with /), for files of 100,000 events',
      path,
    )
    .addOption(new Option('--format <format>', 'one line for each event').choices(['ndjson', 'csv']).default('ndjson'))
    .option('--merchant <id>', 'what concerns this merchant')
    .option('--from <time>', 'recorded then or later', moment)
    .option('--to <time>', 'recorded before', moment)
  answer(command, exportEvents)
}

async function exportEvents(workplace: Workplace, options: Options) {
  const { out, format, merchant } = options
  if (merchant !== undefined) await findMerchant(workplace, merchant)
  const { exportToFiles } = await import('../audit/history/export-files.js')
  const { readAuditCheckpoint } = await import('../operations/audit/audit-checkpoint.js')
  const manifest = await exportToFiles(
    workplace.eventStore,
    { format, merchantId: merchant ?? null, from: options.from ?? null, to: options.to ?? null },
    { path: out, isDirectory: out.endsWith('/') || statSync(out, { throwIfNoEntry: false })?.isDirectory() === true },
    {
      signal: interruption(),
      onProgress: progressLines(workplace.tell),
      checkpoint: () => readAuditCheckpoint(workplace.configuration.audit.directory),
    },
  )
  if (!manifest) throw new Refused('interrupted; the same command goes on where it was')
  return manifest
}

/** A line a second. */
function progressLines(tell: Workplace['tell']) {
  let toldAtMs = performance.now()
  return ({ events, at, until }: { events: number; at: { commit: bigint }; until: { commit: bigint } }) => {
    if (performance.now() - toldAtMs < tellEveryMs) return
    toldAtMs = performance.now()
    tell(`${events} events, ${Number((at.commit * 100n) / until.commit)} % of the log`)
  }
}
