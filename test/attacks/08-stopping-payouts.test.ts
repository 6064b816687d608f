import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '@transferd/event-log/sqlite'
import t from 'tap'
import { integrityStream } from '../../src/domain/streams.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { seal } from '../audit/integrity/sealed-log.js'
import { runCli } from '../cli/in-process.js'
import { temporaryDirectory } from '../support/processes.js'
import { openTestLog } from '../support/service-log.js'

const directory = temporaryDirectory(t)
const data = join(directory, 'data')
const configuration = readConfiguration({ EVENT_STORE_URL: `embedded:${data}` })
const run = (...args: string[]) => runCli(directory, args, { EVENT_STORE_URL: `embedded:${data}` })

async function json(...args: string[]) {
  const { status, stdout, stderr } = await run(...args, '--json')
  return { status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) }
}

/** Returns the decisions about payouts as recorded in the log. */
async function recorded() {
  const { eventStore, close } = await openTestLog(configuration)
  try {
    const events = await eventStore.readStream(integrityStream)
    return events.map(({ type, data, metadata }) => ({ type, data, actor: metadata.actor }))
  } finally {
    await close()
  }
}

/** Returns the option that names what `payouts status` shows now. */
async function seen() {
  return ['--revision', String((await json('payouts', 'status')).result.revision)]
}

t.test('an operator stops and resumes payouts with a recorded reason', async (t) => {
  const shop = ['--name', 'Shop', '--callback-url', 'http://127.0.0.1:9/', '--sandbox']
  t.match(await run('merchants', 'create', ...shop), { status: 0 })
  t.match(await run('payouts', 'stop'), { status: 2 }, 'a reason is required')
  t.match(await json('payouts', 'stop', '--reason', 'fraud at the bank'), { status: 0, result: { changed: true } })
  t.match(await json('payouts', 'stop', '--reason', 'again'), { status: 0, result: { changed: false } })
  t.match((await json('payouts', 'status')).result, { stopReason: 'fraud at the bank', findings: [] })
  t.match(await json('payouts', 'resume', '--reason', 'cleared', ...(await seen())), {
    status: 0,
    result: { changed: true },
  })
  t.match((await json('payouts', 'status')).result, { stoppedSince: null, stopReason: null })
  t.match(await recorded(), [
    { type: 'PayoutsStopped', data: { reason: 'fraud at the bank' }, actor: /^cli:/ },
    { type: 'PayoutsResumed', data: { reason: 'cleared' }, actor: /^cli:/ },
  ])
})

t.test('audit verify reports its findings to the service only on request, and a person must accept them', async (t) => {
  const { rawEventStore, box, close } = await openTestLog(configuration)
  const { auditKeyOf } = await import('../../src/operations/audit/audit-files.js')
  await seal(rawEventStore, data, (await auditKeyOf(data, rawEventStore, box))!)
  await close()
  t.match(await json('audit', 'verify', '--report'), { status: 0, result: { holds: true, reported: 0 } })
  const db = new Database(join(data, 'events.db'))
  db.prepare(`UPDATE events SET body = replace(body, '"Shop"', '"Shap"') WHERE name LIKE 'merchant-%'`).run()
  db.close()

  const before = await recorded()
  t.match(await json('audit', 'verify'), { status: 1, result: { holds: false, problems: 1 } })
  t.same(await recorded(), before, 'records nothing without --report')
  t.match(await json('audit', 'verify', '--report'), { status: 1, result: { holds: false, reported: 1 } })
  t.match(await json('audit', 'verify', '--report'), { status: 1, result: { reported: 0 } }, 'records it once')
  t.match((await recorded()).at(-1), { type: 'IntegrityViolated', actor: /^cli:/ })
  t.match((await json('payouts', 'status')).result, {
    findings: [{ kind: 'log', place: /^merchant-.*@0$/ }],
  })
  const lines = readFileSync(join(data, 'security.log'), 'utf8').trimEnd().split('\n')
  t.equal(lines.filter((line) => line.includes('"audit verify"')).length, 3, 'the security log has each report')

  const resume = (...more: string[]) => json('payouts', 'resume', '--reason', 'reviewed', ...more)
  t.match(await resume(), { status: 2, stderr: /--revision/ })
  t.match(await resume('--revision', '99'), { status: 1 })
  t.ok((await json('payouts', 'status')).result.stoppedSince)
  t.match(await resume(...(await seen())), { status: 0, result: { changed: true } })
  t.match((await json('payouts', 'status')).result, { stoppedSince: null, findings: [] })
  t.match(await json('audit', 'verify', '--report'), { result: { reported: 0 } }, 'an accepted finding stays accepted')
})
