import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate } from '../support/certificate.js'
import { type Answers, ask } from './runners.js'
import { groupOf, isFirstGroup, isRestart, reasonToDiffer, recorded, runsAlone } from './scenarios.js'
import { ServerUnderTest } from './server-under-test.js'

/**
 * Runs the recorded scenarios against the server of `transferd events serve`, opened where the recorded one is open, and compares the answers with what a real EventStoreDB
 * answered. Ends with 1 when one differs that may not (what the service itself stands on must be equal, of the rest
 * differences.json may list up to a tenth), when one was not run, or when a server ended by itself. The last line counts.
 *   node dist/test/conformance/run-conformance.js [--quick] [part of a scenario's name]
 * `--quick` asks the log on disk only what differs from one in memory: whatever a kill interrupts.
 */

const words = process.argv.slice(2)
const isQuick = words.includes('--quick')
const filter = words.find((word) => word !== '--quick') ?? ''
const scratch = mkdtempSync(join(tmpdir(), 'conformance-'))
const leastEqualOfOthers = 0.9
/** That run scenarios at the same time. */
const processes = 6

interface Run {
  readonly title: string
  /** Of a server with an empty log. */
  readonly arguments: () => readonly string[]
  readonly answers: string
  /** Parts of the names and the credentials that go with them; the first that fits counts. */
  readonly credentials: readonly (readonly [part: string, credentials: string])[]
  readonly query: string
  readonly isAsked: (name: string) => boolean
}

let passed = 0
let failed = 0
for (const run of runs()) await execute(run)
rmSync(scratch, { recursive: true, force: true })
console.log(`\n${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

function runs(): Run[] {
  const plain = { answers: 'insecure.json', credentials: [['', '']], query: 'tls=false' } as const
  const list: Run[] = [
    {
      title: 'in memory',
      arguments: () => ['--in-memory'],
      ...plain,
      isAsked: (name) => !isRestart(name),
    },
    {
      title: 'on disk',
      arguments: () => ['--data', mkdtempSync(join(scratch, 'data-'))],
      ...plain,
      isAsked: (name) => !isQuick || isRestart(name),
    },
  ]
  const certificate = makeCertificate(scratch)
  if (!certificate) {
    console.log('NOT RUN: secure, as there is no openssl to make a certificate with')
    return list
  }
  const { key, cert } = certificate
  list.push({
    title: 'secure',
    arguments: () => ['--in-memory', '--tls-cert', cert, '--tls-key', key],
    answers: 'secure.json',
    // The streams' scenarios bring credentials along, the groups' take those of the URL.
    credentials: [
      ['persistent', 'admin:changeit@'],
      ['', ''],
    ],
    query: `tls=true&tlsCAFile=${cert}`,
    isAsked: () => true,
  })
  return list
}

/** Scenarios that share the server run beside one another, the others one by one. */
async function execute(run: Run): Promise<void> {
  const names = recorded(run.answers).filter((name) => name.includes(filter) && run.isAsked(name))
  if (names.length === 0) return
  const startedAt = performance.now()
  const server = new ServerUnderTest(run.arguments())
  await server.start()
  const sharing = names.filter((name) => !runsAlone(name))
  const shared = await answersOf(run, server, sharing, processes)
  const alone = await answersOf(run, server, names.filter(runsAlone), 1)
  fail(server.stop())
  const differing = await differingAlone(run, [...shared.differing.keys(), ...alone.differing.keys()])
  console.log(`\n${run.title} (${Math.round((performance.now() - startedAt) / 1_000)} s)`)
  report(names, differing)
  const compared = shared.compared + alone.compared
  if (compared !== names.length) fail(`${compared} of ${names.length} scenarios were run`)
}

/**
 * What differs once more, one by one on an empty log: so it was recorded, and some waits a second or two, in which a busy
 * machine may not get to the end of what all the others have written.
 */
async function differingAlone(run: Run, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map()
  const server = new ServerUnderTest(run.arguments())
  await server.start()
  const { differing } = await answersOf(run, server, names, 1)
  const settled = names.filter((name) => !differing.has(name))
  if (settled.length > 0) console.log(`\nas recorded only when alone: ${settled.join(', ')}`)
  fail(server.stop())
  return differing
}

async function answersOf(
  run: Run,
  server: ServerUnderTest,
  names: readonly string[],
  processes: number,
): Promise<Answers> {
  const differing = new Map<string, string>()
  let compared = 0
  let left = names
  for (const [part, credentials] of run.credentials) {
    const url = `esdb://${credentials}localhost:${server.port}?${run.query}`
    const some = left.filter((name) => name.includes(part))
    left = left.filter((name) => !name.includes(part))
    const answers = await ask(server, { answers: run.answers, url, names: some }, processes)
    for (const [name, text] of answers.differing) differing.set(name, text)
    compared += answers.compared
  }
  return { differing, compared }
}

function report(names: readonly string[], differing: ReadonlyMap<string, string>): void {
  for (const group of new Set(names.map(groupOf))) {
    const all = names.filter((name) => groupOf(name) === group)
    const same = all.filter((name) => !differing.has(name))
    console.log(`  ${same.length} of ${all.length} as recorded  ${group}`)
  }
  passed += names.filter((name) => !differing.has(name)).length
  for (const [name, text] of differing) {
    const reason = reasonToDiffer(name)
    if (reason !== undefined) console.log(`  differs: ${name}: ${reason}`)
    else fail(`differs, and may not: ${text}`)
  }
  const others = names.filter((name) => !isFirstGroup(name))
  const equal = others.filter((name) => !differing.has(name)).length / Math.max(1, others.length)
  // Of a few that a filter chose, one is more than a tenth.
  if (filter === '' && !isQuick && equal < leastEqualOfOthers)
    fail(`only ${Math.round(equal * 100)} % of the others agree`)
}

function fail(trouble: string | undefined): void {
  if (trouble === undefined) return
  failed += 1
  console.log(`  ${trouble}`)
}
