import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import t from 'tap'
import { parse } from 'yaml'
import { type IntegrityStatus, saveIntegrityStatus } from '../../src/audit/integrity/integrity-status.js'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import { treeMetrics } from '../../src/operations/audit/audit-tree.js'
import { backlogMetrics } from '../../src/operations/metrics.js'
import { newestEventMs } from '../../src/projections/projection-status.js'
import { ProjectionTasks } from '../../src/projections/projection-tasks.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { until } from '../support/until.js'

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { readModels, store, directory } = service
await service.merchant()
await until(async () => (await newestEventMs(readModels)) !== null)
const newestMs = (await newestEventMs(readModels))!
const timeOf = (ms: number) => new Date(newestMs + ms).toISOString()
const clock = () => timeOf(600_000)

const registry = new Registry()
treeMetrics(registry, new IntegrityCommands(store, clock), readModels, clock)
backlogMetrics(registry, { store, readModels, directory, clock })

async function shown(metric: string, label = ''): Promise<string | undefined> {
  const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${metric}${label} `))
  return line?.split(' ')[1]
}

function save(status: Partial<IntegrityStatus>): Promise<void> {
  const nothing = { note: null, signedAt: null, verifierKey: null, witnesses: [], verifications: [], problems: [] }
  return saveIntegrityStatus(readModels, { ...nothing, ...status })
}

t.test('shows the age of the newest checkpoint while it does not cover all events', async (t) => {
  const age = () => shown('transferd_audit_checkpoint_age_seconds')
  t.equal(await age(), '+Inf', 'no checkpoint exists yet')
  await save({ signedAt: timeOf(-60_000) })
  t.equal(await age(), '660')
  await save({ signedAt: timeOf(1_000) })
  t.equal(await age(), '0', 'a checkpoint of an idle log does not age')
})

t.test('shows the duration and the start of the last verification of the whole log', async (t) => {
  const duration = () => shown('transferd_audit_verification_duration_seconds')
  const verified = async () => Number(await shown('transferd_audit_verified_timestamp_seconds'))
  await save({})
  t.equal(await duration(), '0')
  t.equal(await verified(), 0)
  const counts = { verified: 9, treeSize: 9, findings: [] }
  await save({
    verifications: [
      { occasion: 'start', startedAt: timeOf(9_000), finishedAt: timeOf(9_001), ...counts },
      { occasion: 'requested', startedAt: timeOf(8_000), finishedAt: null, ...counts },
      { occasion: 'rest', startedAt: timeOf(0), finishedAt: timeOf(7_500), ...counts },
    ],
  })
  t.equal(await duration(), '7.5', 'neither the start nor an unfinished one counts')
  t.equal(await verified(), newestMs / 1_000)
})

t.test('shows paused projections', async (t) => {
  const tasks = new ProjectionTasks(readModels, clock)
  const paused = () => shown('transferd_projection_paused', '{projection="transfers"}')
  t.equal(await paused(), '0')
  await tasks.pause('transfers', 'cli:ada', null)
  t.equal(await paused(), '1')
  await tasks.resume('transfers')
  t.equal(await paused(), '0')
})

t.test('an alert watches each age, and also an installation without any backup', async (t) => {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[]
  }
  const expressions = new Map(groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr])))
  t.match(expressions.get('TransferdNotSealed'), /^max\(transferd_audit_checkpoint_age_seconds\) > /)
  t.match(expressions.get('TransferdNotVerified'), /transferd_audit_verified_timestamp_seconds/)
  t.match(expressions.get('TransferdVerificationSlow'), /transferd_audit_verification_duration_seconds/)
  t.match(expressions.get('TransferdProjectionPaused'), /transferd_projection_paused/)
  t.equal(expressions.get('TransferdNeverBackedUp'), 'max(transferd_last_backup_timestamp_seconds) == 0')
})
