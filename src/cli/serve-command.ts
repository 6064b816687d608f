import type { Command } from 'commander'
import { UsageError } from './command.js'
import { askedToStop } from './stop-signal.js'

/** Beyond the slowest callback attempt, which is waited for; whoever stops the service will not wait for ever. */
const stopAllowanceMs = 15_000

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT (a second one ends it at once)')
    .option('--roles <list>', 'api, projections, callbacks or several of them, separated by commas (default: all)')
    .option('--seed', 'fill a sandbox that has no transfers with an hour of made-up ones')
    .option('--json', 'print the base URL and the sandbox credentials as one JSON document')
    .action(serve)
}

async function serve(options: { roles?: string; seed?: true; json?: true }): Promise<void> {
  const { roles } = options
  if (roles?.trim() === '') throw new UsageError('--roles names no role')
  const { readConfiguration } = await import('../operations/configuration/configuration.js')
  const configuration = readConfiguration(roles === undefined ? process.env : { ...process.env, ROLES: roles })
  const { startService } = await import('../main/service.js')
  const { banner } = await import('../sandbox/banner.js')
  const { createLogger } = await import('../operations/logging/logger.js')
  const logger = createLogger(configuration.logLevel, 'main')
  const stopAsked = askedToStop()
  const service = await startService(configuration, logger, { seed: options.seed })
  const { started } = service
  process.stdout.write(options.json ? `${JSON.stringify(started)}\n` : banner(started))
  const reason = await Promise.race([stopAsked, service.failed])
  const failed = reason instanceof Error
  logger[failed ? 'fatal' : 'info'](failed ? { err: reason } : { signal: reason }, 'stopping')
  const stopWithinMs = configuration.callbackTimeoutMs + stopAllowanceMs
  const overdue = setTimeout(() => {
    logger.error(`not stopped after ${stopWithinMs} ms`)
    process.exit(1)
  }, stopWithinMs)
  await service.stop()
  clearTimeout(overdue)
  logger.info('stopped')
  if (failed) throw reason
}
