import { statSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { ExportFormat } from '../audit/history/export.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, findMerchant, Refused } from './command.js'
import { path, time } from './options.js'
import { percentOf, progressReporter } from './progress.js'
import { interruptSignal } from './stop-signal.js'

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
    .description('write events to files with a manifest; an interrupted export resumes when you run it again')
    .requiredOption(
      '--out <path>',
      'a file, or a directory (existing or with a trailing /) for files of 100,000 events',
      path,
    )
    .addOption(new Option('--format <format>', 'one line per event').choices(['ndjson', 'csv']).default('ndjson'))
    .option('--merchant <id>', 'events of this merchant')
    .option('--from <time>', 'recorded at or after', time)
    .option('--to <time>', 'recorded before', time)
  defineCommand(command, exportEvents)
}

async function exportEvents(stores: CommandStores, options: Options) {
  const { out, format, merchant } = options
  if (merchant !== undefined) await findMerchant(stores, merchant)
  const { exportToFiles } = await import('../audit/history/export-files.js')
  const { readAuditCheckpoint } = await import('../operations/audit/audit-checkpoint.js')
  const manifest = await exportToFiles(
    stores.eventStore,
    { format, merchantId: merchant ?? null, from: options.from ?? null, to: options.to ?? null },
    { path: out, isDirectory: out.endsWith('/') || statSync(out, { throwIfNoEntry: false })?.isDirectory() === true },
    {
      signal: interruptSignal(),
      onProgress: progressReporter(
        stores.notify,
        ({ events, at, until }) => `${events} events, ${percentOf(at, until)} % of the log`,
      ),
      checkpoint: () => readAuditCheckpoint(stores.configuration.audit.directory),
    },
  )
  if (!manifest) throw new Refused('interrupted: run the same command again to resume')
  return manifest
}
