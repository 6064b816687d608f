import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate } from '../support/certificate.js'
import { type Comparison, runScenarios } from './runners.js'
import { groupOf, isFirstGroup, isRestart, reasonToDiffer, recorded, runsAlone } from './scenarios.js'
import { ServerUnderTest } from './server-under-test.js'

/**
 * Runs the recorded scenarios against the server of `transferd events serve-grpc` with the access of the recorded server, and compares the
 * responses with those of an EventStoreDB. The exit status is 1 if a scenario differs that must not, if a scenario was not run, or if
 * a server ended unexpectedly. Scenarios of features that the service needs must not differ; up to a tenth of the others may, if
 * differences.json lists them. The last line states the counts.
 *   node dist/test/conformance/run-conformance.js [--quick] [part of a scenario's name]
 * With `--quick`, only the scenarios with kills run on disk, because the others do not depend on the storage.
 */

const words = process.argv.slice(2)
const isQuick = words.includes('--quick')
const filter = words.find((word) => word !== '--quick') ?? ''
const scratch = mkdtempSync(join(tmpdir(), 'conformance-'))
const minEqualShare = 0.9
/** The number of processes that run scenarios. */
const processes = 6

interface Run {
  readonly title: string
  /** Returns the arguments of a server with an empty log. */
  readonly arguments: () => readonly string[]
  readonly answers: string
  /** The credentials for scenarios whose names contain a text. The first matching entry applies. */
  readonly credentials: readonly (readonly [part: string, credentials: string])[]
  readonly query: string
  readonly isIncluded: (name: string) => boolean
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
      isIncluded: (name) => !isRestart(name),
    },
    {
      title: 'on disk',
      arguments: () => ['--data', mkdtempSync(join(scratch, 'data-'))],
      ...plain,
      isIncluded: (name) => !isQuick || isRestart(name),
    },
  ]
  const certificate = makeCertificate(scratch)
  if (!certificate) {
    console.log('NOT RUN: secure, because creating a certificate requires openssl')
    return list
  }
  const { key, cert } = certificate
  list.push({
    title: 'secure',
    arguments: () => ['--in-memory', '--tls-cert', cert, '--tls-key', key],
    answers: 'secure.json',
    // The scenarios of streams have their own credentials, and those of groups use the credentials of the URL.
    credentials: [
      ['persistent', 'admin:changeit@'],
      ['', ''],
    ],
    query: `tls=true&tlsCAFile=${cert}`,
    isIncluded: () => true,
  })
  return list
}

/** Runs the scenarios that can share the server concurrently, and the others one at a time. */
async function execute(run: Run): Promise<void> {
  const names = recorded(run.answers).filter((name) => name.includes(filter) && run.isIncluded(name))
  if (names.length === 0) return
  const startedAt = performance.now()
  const server = new ServerUnderTest(run.arguments())
  await server.start()
  const sharing = names.filter((name) => !runsAlone(name))
  const shared = await compare(run, server, sharing, processes)
  const alone = await compare(run, server, names.filter(runsAlone), 1)
  fail(server.stop())
  const differing = await compareAgain(run, [...shared.differing.keys(), ...alone.differing.keys()])
  console.log(`\n${run.title} (${Math.round((performance.now() - startedAt) / 1_000)} s)`)
  report(names, differing)
  const compared = shared.compared + alone.compared
  if (compared !== names.length) fail(`${compared} of ${names.length} scenarios were run`)
}

/**
 * Runs the differing scenarios again, one at a time on an empty log, as they were recorded. Some wait for a second or two, which may
 * be too short on a busy machine with the events of all other scenarios.
 */
async function compareAgain(run: Run, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map()
  const server = new ServerUnderTest(run.arguments())
  await server.start()
  const { differing } = await compare(run, server, names, 1)
  const equal = names.filter((name) => !differing.has(name))
  if (equal.length > 0) console.log(`\nas recorded only when run alone: ${equal.join(', ')}`)
  fail(server.stop())
  return differing
}

async function compare(
  run: Run,
  server: ServerUnderTest,
  names: readonly string[],
  processes: number,
): Promise<Comparison> {
  const differing = new Map<string, string>()
  let compared = 0
  let left = names
  for (const [part, credentials] of run.credentials) {
    const url = `esdb://${credentials}localhost:${server.port}?${run.query}`
    const some = left.filter((name) => name.includes(part))
    left = left.filter((name) => !name.includes(part))
    const comparison = await runScenarios(server, { answers: run.answers, url, names: some }, processes)
    for (const [name, text] of comparison.differing) differing.set(name, text)
    compared += comparison.compared
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
    else fail(`differs but must not: ${text}`)
  }
  const others = names.filter((name) => !isFirstGroup(name))
  const equal = others.filter((name) => !differing.has(name)).length / Math.max(1, others.length)
  // The share is meaningless for the few scenarios of a filter.
  if (filter === '' && !isQuick && equal < minEqualShare)
    fail(`only ${Math.round(equal * 100)} % of the others are equal`)
}

function fail(problem: string | undefined): void {
  if (problem === undefined) return
  failed += 1
  console.log(`  ${problem}`)
}
