import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServerUnderTest } from './server-under-test.js'

/**
 * Runs the recorded scenarios against `transferd events serve` and compares the answers with what a real EventStoreDB
 * answered. Ends with 1 when one differs that differences.json does not list, or a server ended by itself.
 *   node dist/test/conformance/run.js [part of a scenario's name]
 */

const filter = process.argv[2] ?? ''
const here = new URL('../../../test/conformance/', import.meta.url)
const differences = readJson('differences.json') as Record<string, string>
const work = mkdtempSync(join(tmpdir(), 'conformance-'))

interface Run {
  readonly name: string
  readonly arguments: readonly string[]
  readonly answers: string
  /** Names of scenario files contain one of these; each with the query of its URL. */
  readonly files: readonly { readonly part: string; readonly credentials: string }[]
  readonly query: string
  readonly restarts: boolean
}

interface Tally {
  same: number
  all: number
}

const insecure = { answers: 'insecure.json', files: [{ part: '', credentials: '' }], query: 'tls=false' }
const writable = ['--writable', '--host', '127.0.0.1']
const runs: Run[] = [
  { name: 'in memory', arguments: ['--in-memory', ...writable], ...insecure, restarts: false },
  { name: 'on disk', arguments: ['--data', join(work, 'data'), ...writable], ...insecure, restarts: true },
]
const certificate = makeCertificate()
if (certificate) {
  const { key, cert } = certificate
  runs.push({
    name: 'secure',
    arguments: ['--in-memory', ...writable, '--tls-cert', cert, '--tls-key', key],
    answers: 'secure.json',
    // The streams' scenarios bring credentials along, the groups' take those of the URL.
    files: [
      { part: 'streams-auth', credentials: '' },
      { part: 'persistent-auth', credentials: 'admin:changeit@' },
    ],
    query: `tls=true&tlsCAFile=${cert}`,
    restarts: false,
  })
} else console.log('secure: not run, as there is no openssl to make a certificate with')

let failures = 0
// One after the other: some scenarios give a server two seconds, which it must not share.
for (const run of runs) {
  const result = await execute(run)
  console.log(`\n${result.name}`)
  for (const [group, { same, all }] of result.groups) console.log(`  ${same} of ${all} as recorded  ${group}`)
  for (const name of result.differing) {
    const reason = differences[name]
    if (reason === undefined) failures += 1
    console.log(`  differs: ${name}${reason === undefined ? ' (UNEXPECTED)' : `: ${reason}`}`)
  }
  if (result.trouble) {
    failures += 1
    console.log(`  ${result.trouble}`)
  }
  for (const line of result.details) console.log(line)
}
rmSync(work, { recursive: true, force: true })
process.exit(failures === 0 ? 0 : 1)

async function execute(run: Run) {
  const server = new ServerUnderTest(run.arguments)
  await server.start()
  const control = await listenForRestarts(server)
  const known = Object.keys(readJson(`answers/${run.answers}`)).filter((name) => name.includes(filter))
  const groups = new Map<string, Tally>()
  const differing: string[] = []
  const details: string[] = []
  let compared = 0
  for (const { part, credentials } of run.files) {
    const url = `esdb://${credentials}localhost:${server.port}?${run.query}`
    const output = await compare(run, part, url, control)
    const summary = /(\d+) of (\d+) scenarios as recorded(?:, (\d+) skipped)?/.exec(output)
    compared += Number(summary?.[2] ?? 0) + Number(summary?.[3] ?? 0)
    for (const [, name] of output.matchAll(/^DIFFERS (.*)$/gm)) if (name) differing.push(name)
    const unexpected = output.split(/^DIFFERS /m).filter((text) => !(text.split('\n')[0]! in differences))
    details.push(...unexpected.slice(1).map((text) => `  ${text.trim()}`))
  }
  for (const name of known) {
    if (!run.restarts && isRestart(name)) continue
    const tally = groups.get(groupOf(name)) ?? { same: 0, all: 0 }
    tally.all += 1
    if (!differing.includes(name)) tally.same += 1
    groups.set(groupOf(name), tally)
  }
  control.close()
  const ended = server.stop()
  const trouble = ended ?? (compared === known.length ? undefined : `${compared} of ${known.length} scenarios were run`)
  return { name: run.name, groups: [...groups].sort(), differing, details, trouble }
}

function compare(run: Run, part: string, url: string, control: Server): Promise<string> {
  const { port } = control.address() as AddressInfo
  const restart = `node -e "fetch('http://127.0.0.1:${port}').then((r) => process.exit(r.ok ? 0 : 1))"`
  const runner = spawn(
    process.execPath,
    [new URL('runner.mjs', here).pathname, 'compare', new URL(`answers/${run.answers}`, here).pathname, filter],
    {
      env: { ...process.env, URL: url, FILES: part, ...(run.restarts && { RESTART: restart }) },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  return new Promise((resolve) => {
    let output = ''
    runner.stdout.on('data', (text) => {
      output += text
    })
    runner.on('close', () => resolve(output))
  })
}

async function listenForRestarts(server: ServerUnderTest): Promise<Server> {
  const control = createServer((_request, response) => {
    server.restart().then(
      () => response.end(),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  return control
}

function makeCertificate(): { key: string; cert: string } | undefined {
  const key = join(work, 'server.key')
  const cert = join(work, 'server.crt')
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  try {
    execFileSync('openssl', [...request, '-addext', names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key, cert }
  } catch {
    return undefined
  }
}

function groupOf(name: string): string {
  const parts = name.split('/')
  return parts.slice(0, name.startsWith('persistent') ? 2 : 1).join('/')
}

function isRestart(name: string): boolean {
  return /(^|\/)restart\//.test(name) || name === 'persistent/quirk/parked-count-lost-without-checkpoint'
}

function readJson(file: string): object {
  return JSON.parse(readFileSync(new URL(file, here), 'utf8')) as object
}
