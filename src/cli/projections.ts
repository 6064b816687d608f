import type { Command } from 'commander'
import type { ProjectionStatus } from '../projections/status.js'
import { answer, answerList, type Listing, Refused } from './command.js'
import type { Workplace } from './workplace.js'

export function addProjectionCommands(program: Command): void {
  const projections = program.command('projections').description('what the lists are read from')
  answerList(projections.command('status').description('how far each projection has come'), showStatus, statusTable)
  answer(
    projections
      .command('rebuild <name>')
      .description('build the documents of a projection anew from the log, beside those in use, then switch'),
    rebuild,
  )
}

const statusTable: Listing<ProjectionStatus> = {
  columns: () => [
    { head: 'NAME', cell: ({ name }) => name },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'LAG', cell: ({ lagEvents }) => lagEvents, align: 'right' },
    { head: 'LAST EVENT', cell: ({ lastEventAt }) => lastEventAt },
    { head: 'REBUILD', cell: ({ rebuild }) => rebuild?.state },
    { head: 'RUN BY', cell: ({ holder }) => holder, max: 32 },
  ],
  none: 'No projections found.',
  hint: (all) =>
    all
      .flatMap(({ name, failure }) => (failure ? `${name} stands still: ${failure.reason} (events problems)` : []))
      .join('; ') || undefined,
}

async function showStatus({ eventStore: store, readModels }: Workplace) {
  const { projectionStatus } = await import('../projections/status.js')
  return projectionStatus({ store, readModels: await readModels() })
}

/** Progress goes to stderr, as it is no part of the answer. */
async function rebuild({ eventStore: store, readModels, clock, tell }: Workplace, _options: object, name: string) {
  const { rebuildProjection } = await import('../projections/rebuild/rebuild-command.js')
  const { createLogger } = await import('../runtime/logger.js')
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  const deps = { store, readModels: await readModels(), clock, logger: createLogger('error', 'cli') }
  for await (const { state, position, end, reason } of rebuildProjection(deps, name, interrupted.signal)) {
    if (state === 'failed') throw new Refused(`the rebuild of ${name} failed: ${reason}`)
    if (state === 'done') return { name, state, position: position ?? null }
    tell(`${name}: ${state}, at ${position ?? 0} of ${end ?? 0}`)
  }
  throw new Refused('interrupted; a running service still finishes the rebuild (projections status)')
}
