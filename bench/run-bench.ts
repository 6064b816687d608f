/** Runs `npm run bench` (see README.md). Each part runs in a separate process, so that the memory of one does not affect the next. */
import { type ChildProcess, fork } from 'node:child_process'
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
  'evidence',
]
/** The parts that run only if they are named, because they take minutes to hours. */
const onRequest = ['growth']

let running: ChildProcess | undefined
let isStopped = false
// The part ends itself, and its measurements are printed. A terminal sends SIGINT to the part, too.
process.on('SIGINT', () => {
  isStopped = true
})
process.on('SIGTERM', () => {
  isStopped = true
  running?.kill('SIGTERM')
})

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const requested = args.filter((name) => name !== '--json')
const unknown = requested.filter((name) => ![...parts, ...onRequest].includes(name))
if (unknown.length > 0) {
  console.error(`unknown part: ${unknown.join(', ')}; the parts are ${[...parts, ...onRequest].join(', ')}`)
  process.exit(2)
}

/** Returns what a part has measured, also if it fails or is stopped. */
async function runPart(name: string): Promise<PartReport> {
  const report: PartReport = { name, title: name, rows: [], notes: [] }
  const file = fileURLToPath(new URL(`${name}.bench.js`, import.meta.url))
  const child = fork(file, { stdio: ['ignore', 2, 2, 'ipc'] })
  child.on('message', (message: Message) => collect(report, message))
  running = child
  const [status] = await once(child, 'close')
  if (status !== 0) {
    report.notes.push(`FAILED: ${name}, so its rows are incomplete`)
    process.exitCode = 1
  }
  return report
}

function print({ title, rows, notes }: PartReport): void {
  console.log([title, tableOf(rows), ...notes, ''].join('\n'))
}

const machine = { node: process.version, cores: cpus().length, processor: cpus()[0]?.model ?? 'unknown' }
const startedAt = new Date().toISOString()
const reports: PartReport[] = []
for (const name of requested.length > 0 ? requested : parts) {
  const report = await runPart(name)
  reports.push(report)
  if (!asJson) print(report)
  if (isStopped) break
}
if (asJson) {
  const summed = reports.map(({ rows, ...report }) => ({
    ...report,
    rows: rows.map((row) => ({ ...row, ...summaryOf(row.values) })),
  }))
  console.log(JSON.stringify({ startedAt, machine, parts: summed }, null, 2))
}
