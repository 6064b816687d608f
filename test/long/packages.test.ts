import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificate } from '@transferd/event-log-server/test/support/certificate'
import t from 'tap'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

const run = promisify(execFile)
const packages = ['transferd', '@transferd/event-log', '@transferd/event-log-server', '@transferd/transparency-log']

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

/** Installs the packages in their published form, with only the dependencies that their manifests list. */
async function installPackages(directory: string): Promise<string> {
  const modules = join(directory, 'node_modules')
  mkdirSync(modules)
  const { stdout } = await run(process.execPath, ['scripts/pack.js', directory])
  const files = stdout.trim().split('\n')
  const dependencies = new Set<string>()
  for (const [n, name] of packages.entries()) {
    const folder = join(modules, name)
    mkdirSync(folder, { recursive: true })
    await run('tar', ['-xzf', join(directory, files[n]!), '--strip-components=1', '-C', folder])
    for (const dependency of Object.keys(manifestIn(folder).dependencies)) dependencies.add(dependency)
  }
  for (const dependency of dependencies) {
    const link = join(modules, dependency)
    mkdirSync(dirname(link), { recursive: true })
    if (!dependency.startsWith('@transferd/')) symlinkSync(join(process.cwd(), 'node_modules', dependency), link)
  }
  return modules
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Runs a program in the directory and returns its output. */
async function outputOf(directory: string, program: string): Promise<string> {
  const file = join(directory, 'program.mjs')
  writeFileSync(file, program)
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const { stdout } = await run(process.execPath, [file], { cwd: directory, env, timeout: 60_000 })
  return stdout
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}

t.test('all packages work outside the repository', async (t) => {
  const directory = temporaryDirectory(t)
  const modules = await installPackages(directory)

  t.test('manifests list only what runs, and every exported file exists', async (t) => {
    for (const name of packages) {
      const manifest = manifestIn(join(modules, name))
      for (const field of ['scripts', 'devDependencies', 'workspaces']) t.notOk(field in manifest, `${name}: ${field}`)
      t.notOk('./test/*' in (manifest.exports ?? {}), `${name} exports no helpers for tests`)
      t.ok(existsSync(join(modules, name, 'NOTICE')), name)
      for (const [path, entry] of Object.entries(manifestIn(join(modules, name)).exports ?? {})) {
        const files = typeof entry === 'string' ? [entry, entry.replace(/\.js$/, '.d.ts')] : Object.values(entry)
        for (const file of files) t.ok(existsSync(join(modules, name, file)), `${name}: ${path} is ${file}`)
      }
      t.ok(existsSync(join(modules, name, 'LICENSE')), name)
    }
    const service = manifestIn(join(modules, 'transferd'))
    const notBundled = ['better-sqlite3', '@node-rs/argon2', '@fastify/swagger-ui', 'sodium-native']
    t.same(Object.keys(service.dependencies).sort(), notBundled.sort())
    const licences = readFileSync(join(modules, 'transferd/dist/bin/THIRD-PARTY.txt'), 'utf8')
    for (const bundled of ['fastify', 'mongodb', 'react', 'lucide-react', '@fontsource-variable/inter'])
      t.match(licences, new RegExp(`^${bundled} \\d`, 'm'), `the licence of ${bundled}`)
  })

  t.test('the service starts, becomes ready and serves its dashboard', async (t) => {
    const main = join(modules, 'transferd/dist/bin/transferd.js')
    const home = temporaryDirectory(t)
    const service = await startServiceProcess(t, { directory: home, main })
    t.equal((await fetch(`${service.baseUrl}/health/ready`)).status, 200)
    const page = await (await fetch(`${service.baseUrl}/dashboard`)).text()
    const [, script = ''] = /<script[^>]+src="([^"]+)"/.exec(page) ?? []
    const { status, headers } = await fetch(new URL(script, `${service.baseUrl}/dashboard/`))
    t.match({ status, type: headers.get('content-type') }, { status: 200, type: /javascript/ })
    t.equal(await service.end('SIGTERM'), 0)
  })

  t.test('event-log opens, appends and reads', async (t) => {
    const output = await outputOf(
      directory,
      `import { openEventLog } from '@transferd/event-log'
const log = await openEventLog({ directory: 'log' })
await log.append('order-1', 'no_stream', [{ id: crypto.randomUUID(), type: 'Placed', data: { total: 1 }, metadata: {} }])
for (const { type, revision, data } of await log.readStream('order-1')) console.log(type, revision, data)
await log.close()`,
    )
    t.equal(output, 'Placed 0 { total: 1 }\n')
    rmSync(join(directory, 'log'), { recursive: true })
  })

  const certificate = makeCertificate(directory)
  const skip = certificate ? false : 'openssl is not installed, so the test cannot create a certificate'
  t.test('the example in the README of event-log-server works with the official client', { skip }, async (t) => {
    const readme = readFileSync(join(modules, '@transferd/event-log-server/README.md'), 'utf8')
    const [, snippet = ''] = /^```js\n([\s\S]*?)^```$/m.exec(readme) ?? []
    const output = await outputOf(directory, snippet.replaceAll('2113', `${await freePort()}`))
    t.equal(output, 'OrderPlaced { total: 100 }\n')
    t.ok(readme.includes(`It prints \`${output.trim()}\``))
  })
})
