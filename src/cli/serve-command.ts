import type { Command } from 'commander'
import { UsageError } from './command.js'
import { waitForStopSignal } from './stop-signal.js'

/** The time to stop in addition to the slowest callback attempt, so that stopping is bounded. */
const stopAllowanceMs = 15_000

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT (a second signal ends it immediately)')
    .option('--roles <list>', 'a comma-separated list of api, projections and callbacks (default: all)')
    .option('--seed', 'fill an empty sandbox with an hour of sample transfers')
    .option('--json', 'print the base URL and the sandbox credentials as one JSON document')
    .action(serve)
}

async function serve(options: { roles?: string; seed?: true; json?: true }): Promise<void> {
  const { roles } = options
  if (roles?.trim() === '') throw new UsageError('--roles must name at least one role')
  const { readConfiguration } = await import('../operations/configuration/configuration.js')
  const configuration = readConfiguration(roles === undefined ? process.env : { ...process.env, ROLES: roles })
  const { startService } = await import('../main/service.js')
  const { banner } = await import('../sandbox/banner.js')
  const { createLogger } = await import('../operations/logging/logger.js')
  const logger = createLogger(configuration.logLevel, 'main')
  const stopAsked = waitForStopSignal()
  const service = await startService(configuration, logger, { seed: options.seed })
  const { started } = service
  process.stdout.write(options.json ? `${JSON.stringify(started)}\n` : banner(started))
  const reason = await Promise.race([stopAsked, service.failed])
  const failed = reason instanceof Error
  logger[failed ? 'fatal' : 'info'](failed ? { err: reason } : { signal: reason }, 'stopping')
  const stopWithinMs = configuration.callbackTimeoutMs + stopAllowanceMs
  const overdue = setTimeout(() => {
    logger.error(`not stopped within ${stopWithinMs} ms`)
    process.exit(1)
  }, stopWithinMs)
  await service.stop()
  clearTimeout(overdue)
  logger.info('stopped')
  if (failed) throw reason
}
