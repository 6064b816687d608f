/** Runs `npm run bench` (see README.md). Each part runs in a separate process, so that the memory of one does not affect the next. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { collect, type Message, type PartReport, summaryOf, tableOf } from './support/bench-report.js'

const parts = [
  'engine',
  'projections',
  'rebuild',
  'creates',
  'callbacks',
  'engines',
  'live-view',
  'fairness',
  'processes',
]
/** The parts that run only if they are named, because they take minutes to hours. */
const onRequest = ['growth']

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const requested = args.filter((name) => name !== '--json')
const unknown = requested.filter((name) => ![...parts, ...onRequest].includes(name))
if (unknown.length > 0) {
  console.error(`unknown part: ${unknown.join(', ')}; the parts are ${[...parts, ...onRequest].join(', ')}`)
  process.exit(2)
}

async function runPart(name: string): Promise<PartReport | undefined> {
  const report: PartReport = { name, title: name, rows: [], notes: [] }
  const file = fileURLToPath(new URL(`${name}.bench.js`, import.meta.url))
  const child = fork(file, { stdio: ['ignore', 2, 2, 'ipc'] })
  child.on('message', (message: Message) => collect(report, message))
  const [status] = await once(child, 'close')
  return status === 0 ? report : undefined
}

function print({ title, rows, notes }: PartReport): void {
  console.log([title, tableOf(rows), ...notes, ''].join('\n'))
}

const machine = { node: process.version, cores: cpus().length, processor: cpus()[0]?.model ?? 'unknown' }
const startedAt = new Date().toISOString()
const reports: PartReport[] = []
for (const name of requested.length > 0 ? requested : parts) {
  const report = await runPart(name)
  if (report === undefined) {
    console.error(`${name} failed`)
    process.exitCode = 1
    continue
  }
  reports.push(report)
  if (!asJson) print(report)
}
if (asJson) {
  const summed = reports.map(({ rows, ...report }) => ({
    ...report,
    rows: rows.map((row) => ({ ...row, ...summaryOf(row.values) })),
  }))
  console.log(JSON.stringify({ startedAt, machine, parts: summed }, null, 2))
}
