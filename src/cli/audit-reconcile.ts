import type { Command } from 'commander'
import type { Reconciled } from '../audit/history/reconcile.js'
import type { Workplace } from './cli-stores.js'
import { answer, Refused } from './command.js'
import { table } from './readable.js'
import { interruption } from './stop-signal.js'

const tellEveryMs = 1_000

export function addAuditReconcileCommand(audit: Command): void {
  answer(
    audit
      .command('reconcile')
      .description('build the lists anew from the log, beside the live ones, and name every difference'),
    reconcileAll,
    { text: reconciledTables, bad: whatIsBad },
  )
}

async function reconcileAll(workplace: Workplace): Promise<readonly Reconciled[]> {
  const { reconcile } = await import('../audit/history/reconcile.js')
  const { allProjections: projections } = await import('../projections/all.js')
  const { openTemporaryReadModels } = await import('../operations/stores/temporary-read-models.js')
  const { configuration, eventStore: store, tell } = workplace
  const live = await workplace.readModels()
  const temporary = await openTemporaryReadModels(configuration.dataDirectory, 'reconcile')
  try {
    const fresh = temporary.readModels
    const options = { store, live, fresh, projections, signal: interruption(), onProgress: progressLines(tell) }
    const results = await reconcile(options)
    if (!results) throw new Refused('interrupted; nothing is left of it')
    return results
  } finally {
    await temporary.close()
  }
}

/** A line a second. */
function progressLines(tell: Workplace['tell']) {
  let toldAtMs = performance.now()
  return ({ at, end }: { at: { commit: bigint }; end: { commit: bigint } }) => {
    if (performance.now() - toldAtMs < tellEveryMs) return
    toldAtMs = performance.now()
    tell(`replayed ${Number((at.commit * 100n) / end.commit)} %`)
  }
}

function whatIsBad(results: readonly Reconciled[]): string | undefined {
  const bad = results.filter(({ problem, differences }) => problem !== null || differences.length > 0)
  if (bad.length === 0) return undefined
  return `not what the log says: ${bad.map(({ projection }) => projection).join(', ')} (transferd projections rebuild <name>)`
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
