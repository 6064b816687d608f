import type { Command } from 'commander'
import type { Reconciled } from '../audit/history/reconcile.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, Refused } from './command.js'
import { percentOf, progressReporter } from './progress.js'
import { table } from './readable.js'
import { interruptSignal } from './stop-signal.js'

export function addAuditReconcileCommand(audit: Command): void {
  defineCommand(
    audit
      .command('reconcile')
      .description('build temporary lists from the log, compare the live ones, and print every difference'),
    reconcileAll,
    { text: reconciledTables, finding: findingText },
  )
}

interface Replayed {
  readonly at: { readonly commit: bigint }
  readonly end: { readonly commit: bigint }
}

async function reconcileAll(stores: CommandStores): Promise<readonly Reconciled[]> {
  const { reconcile } = await import('../audit/history/reconcile.js')
  const { allProjections: projections } = await import('../projections/all-projections.js')
  const { openTemporaryReadModels } = await import('../operations/stores/temporary-read-models.js')
  const { configuration, eventStore: store, notify } = stores
  const live = await stores.readModels()
  const temporary = await openTemporaryReadModels(configuration.dataDirectory, 'reconcile')
  try {
    const fresh = temporary.readModels
    const options = {
      store,
      live,
      fresh,
      projections,
      signal: interruptSignal(),
      onProgress: progressReporter(notify, ({ at, end }: Replayed) => `replayed ${percentOf(at, end)} %`),
    }
    const results = await reconcile(options)
    if (!results) throw new Refused('interrupted: the temporary lists were deleted')
    return results
  } finally {
    await temporary.close()
  }
}

function findingText(results: readonly Reconciled[]): string | undefined {
  const bad = results.filter(({ problem, differences }) => problem !== null || differences.length > 0)
  if (bad.length === 0) return undefined
  return `different from the log: ${bad.map(({ projection }) => projection).join(', ')} (transferd projections rebuild <name>)`
}

function reconciledTables(results: readonly Reconciled[]): string {
  const summary = table(results, [
    { head: 'PROJECTION', cell: ({ projection }) => projection },
    { head: 'DOCUMENTS', cell: ({ documents }) => documents, align: 'right' },
    { head: 'COMPARED AT', cell: ({ comparedAt }) => comparedAt, align: 'right' },
    { head: 'DIFFERENCES', cell: ({ differences, more }) => `${differences.length}${more ? ' or more' : ''}` },
    { head: 'PROBLEM', cell: ({ problem }) => problem },
  ])
  const rows = results.flatMap(({ projection, differences }) => differences.map((each) => ({ projection, ...each })))
  if (rows.length === 0) return summary
  const named = table(rows, [
    { head: 'PROJECTION', cell: ({ projection }) => projection },
    { head: 'DOCUMENT', cell: ({ id }) => id },
    { head: 'IS', cell: ({ kind }) => kind },
    { head: 'FIELDS', cell: ({ fields }) => fields },
  ])
  return `${summary}\n${named}`
}
