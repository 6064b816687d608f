import type { Command } from 'commander'
import { addExamples, defineBareCommand, defineCommand } from './command.js'
import { Refused, UsageError } from './failures.js'
import { waitForStopSignal } from './long-running.js'
import { addFormatOptions, formatOf } from './output.js'
import { table } from './readable.js'

/**
 * The time to stop in addition to the slowest callback attempt: 10 seconds for the requests in progress, 2 for the reports of the last
 * attempts, 10 for a store that does not respond, and a reserve.
 */
const stopAllowanceMs = 30_000

export function addServiceCommands(program: Command): void {
  const serving = program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT (a second signal ends it immediately)')
    .option('--roles <list>', 'a comma-separated list of api, projections and callbacks (default: all)')
    .option('--seed', 'fill an empty sandbox with an hour of sample transfers')
    .action((_, command: Command) => serve(command))
  addFormatOptions(serving)
  addExamples(serving, ['', '--roles projections,callbacks'])
  defineCommand(program, 'seed', 'fill an empty sandbox with an hour of sample transfers', {
    examples: ['', '--json'],
    log: 'may be new',
    async run({ configuration, eventStore, box, clock, merchantDirectory }) {
      const { isWithoutTransfers, seed } = await import('../sandbox/seed/seed.js')
      if (configuration.sandbox === 'off')
        throw new Refused('no-sandbox', 'There is no sandbox, because SANDBOX is off.')
      if (!(await merchantDirectory()).isSandbox())
        throw new Refused('no-sandbox', 'There is a live merchant. Sample transfers require a sandbox without one.')
      if (!(await isWithoutTransfers(eventStore))) throw new Refused('transfers-exist', 'Transfers already exist.')
      const parts = { store: eventStore, box, clock, frame: configuration, shouldContinue: () => true }
      return { transfers: await seed(parts) }
    },
  })
}

export function addOutboxCommands(program: Command): void {
  const outbox = program.command('outbox').description("the sandbox's messages to customers")
  defineCommand(outbox, 'list', 'undelivered codes and links, newest first', {
    examples: ['--watch', '--json'],
    watch: true,
    async run(stores) {
      const { createOutbox } = await import('../main/compose-wallet.js')
      const merchants = await stores.allMerchants()
      // Remaining sandbox messages must not be shown once customers are real.
      if (stores.configuration.sandbox === 'off' || merchants.some(({ settings }) => !settings.sandbox))
        throw new Refused('no-sandbox', 'The outbox exists only in sandbox mode.')
      return createOutbox({ ...stores, readModels: await stores.readModels() }).list()
    },
    list: {
      columns: { at: {}, kind: {}, to: { max: 32 }, code: {}, link: {} },
      none: 'No messages found.',
    },
  })
}

export function addDoctorCommand(program: Command): void {
  defineBareCommand(
    program,
    'doctor',
    'check this installation and suggest remedies, with or without a running service',
    {
      examples: ['', '--json'],
      watch: true,
      async run() {
        const { examine } = await import('../operations/doctor/doctor.js')
        return examine(process.env, () => new Date().toISOString())
      },
      json: (checks) => ({ checks }),
      list: {
        columns: { result: {}, name: { head: 'CHECK' }, subject: {}, found: {}, advice: {} },
        none: 'No checks.',
      },
      text(checks) {
        const rows = checks.flatMap(({ result, name, subject, found, advice }) => [
          { result, name: subject === null ? name : `${name} ${subject}`, text: found },
          ...(advice === null ? [] : [{ result: ' ', name: ' ', text: `→ ${advice}` }]),
        ])
        return table(rows, { RESULT: 'result', CHECK: { cell: 'name', max: 40 }, FOUND: 'text' })
      },
      finding(checks) {
        const failed = checks.filter(({ result }) => result === 'failed').length
        return failed > 0 ? `${failed} of ${checks.length} checks failed.` : undefined
      },
    },
  )
}

async function serve(command: Command): Promise<void> {
  const { roles, seed } = command.opts<{ readonly roles?: string; readonly seed?: true }>()
  if (roles?.trim() === '') throw new UsageError('--roles must name at least one role')
  const { readConfiguration } = await import('../operations/configuration/configuration.js')
  const configuration = readConfiguration(roles === undefined ? process.env : { ...process.env, ROLES: roles })
  const { startService } = await import('../main/service.js')
  const { banner } = await import('../sandbox/banner.js')
  const { createLogger } = await import('../operations/logging/logger.js')
  const logger = createLogger(configuration.logLevel, 'main')
  const stopAsked = waitForStopSignal()
  const service = await startService(configuration, logger, { seed })
  const { started } = service
  process.stdout.write(formatOf(command) === 'json' ? `${JSON.stringify(started)}\n` : banner(started))
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
