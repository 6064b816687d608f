import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { isBuiltin } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificate } from '@transferd/event-log-server/test/support/certificate'
import { parse } from 'acorn'
import t from 'tap'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

const run = promisify(execFile)
const packages = [
  ...[
    'transferd',
    '@transferd/event-log',
    '@transferd/event-log-server',
    '@transferd/transparency-log',
    '@transferd/client',
  ],
  ...(process.versions.node.startsWith('20.') ? ['@transferd/sqlite-node20'] : []),
]

type Dependencies = Readonly<Record<string, string>>

interface Manifest {
  readonly name: string
  readonly license: string
  readonly dependencies?: Dependencies
  readonly optionalDependencies?: Dependencies
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly publishConfig?: object
}

/** Packages of which a bundled package tries to use one if it is installed. */
const optionalPeers = [
  ...['@aws-sdk/credential-providers', '@mongodb-js/zstd', 'gcp-metadata', 'kerberos', 'mongodb-client-encryption'],
  'snappy',
]

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
    for (const dependency of Object.keys(dependenciesOf(manifestIn(folder)))) dependencies.add(dependency)
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

function dependenciesOf({ dependencies, optionalDependencies }: Manifest): Dependencies {
  return { ...dependencies, ...optionalDependencies }
}

const bundle = JSON.parse(readFileSync('dist/bundle.json', 'utf8')) as {
  readonly [file: string]: { readonly packages: readonly string[] }
}

interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

/** Returns whether a call is one of `require`, under any name of a bundle, of `createRequire(import.meta.url)` or of `import.meta.resolve`. */
function loads(callee: Node): boolean {
  if (callee.type === 'CallExpression') {
    const [from] = callee.arguments as readonly Node[]
    return (from?.object as Node | undefined)?.type === 'MetaProperty'
  }
  const { object, property } = callee as Partial<Record<'object' | 'property', Node>>
  if (callee.type === 'Identifier') return /^_*require\d*$/.test(String(callee.name))
  return object?.type === 'MetaProperty' && property?.name === 'resolve'
}

/** Returns the imports in a script: those of statements, and the texts in calls of `import`, `require` and `import.meta.resolve`. */
function importsIn(source: string): string[] {
  const found: string[] = []
  const visit = (node: Node, isName: boolean): void => {
    if (isName && node.type === 'Literal' && typeof node.value === 'string') found.push(node.value)
    // A name that ends with a variable part.
    if (isName && node.type === 'TemplateLiteral')
      found.push((node.quasis as { value: { raw: string } }[])[0]!.value.raw)
    const isCall = node.type === 'ImportExpression' || (node.type === 'CallExpression' && loads(node.callee as Node))
    for (const field in node) {
      const isPart = isName || isCall || (field === 'source' && node.type.endsWith('Declaration'))
      const parts = Array.isArray(node[field]) ? node[field] : [node[field]]
      for (const part of parts) if (isNode(part)) visit(part, isPart)
    }
  }
  const script = source.replace(/^#!.*/, '')
  const options = { ecmaVersion: 'latest', sourceType: 'module', allowReturnOutsideFunction: true } as const
  visit(parse(script, options) as unknown as Node, false)
  return found
}

const packageOf = (imported: string) => /^(@[\w.-]+\/)?[\w-][\w.-]*/.exec(imported)?.[0]

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

  for (const name of packages) {
    const folder = join(modules, name)
    const manifest = manifestIn(folder)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      statSync(join(folder, file)).isFile(),
    )
    const isFile = (file: string) => files.includes(posix.normalize(file))

    t.test(`${name}: each import is a file or a dependency, and each dependency is imported`, async (t) => {
      const imported = new Set<string>()
      for (const file of files.filter((each) => /\.[cm]?js$/.test(each) && !each.startsWith('docs/'))) {
        // The names of `require` are short in the bundled libraries, so their imports are those that the bundler lists.
        const listed = bundle[posix.relative('dist/bin', file)]?.packages
        for (const found of file.includes('/libraries/')
          ? listed!
          : importsIn(readFileSync(join(folder, file), 'utf8'))) {
          if (found.startsWith('.')) {
            if (/\.\w+$/.test(found)) t.ok(isFile(posix.join(posix.dirname(file), found)), `${file}: ${found}`)
          } else if (/^#(data|web)\//.test(found)) {
            const path = posix.join('dist', found.slice(1))
            t.ok(
              files.some((each) => each === path || each.startsWith(path)),
              `${file}: ${found}`,
            )
          } else if (!isBuiltin(found) && /^(?!node:)[@\w]/.test(found)) imported.add(packageOf(found)!)
        }
      }
      const dependencies = Object.keys(dependenciesOf(manifest))
      if (name === 'transferd') for (const peer of optionalPeers) t.ok(imported.delete(peer), `${peer} is optional`)
      t.same([...imported].sort(), dependencies.sort())
    })

    t.test(`${name}: the manifest and the files are those of a publication`, async (t) => {
      for (const field of ['private', 'scripts', 'devDependencies', 'workspaces']) t.notOk(field in manifest, field)
      t.match(manifest, {
        license: name === '@transferd/sqlite-node20' ? 'Apache-2.0 AND MIT' : 'Apache-2.0',
        homepage: /^https:/,
        repository: { type: 'git', url: /^git\+https:/ },
        bugs: { url: /^https:/ },
        publishConfig: { access: 'public', provenance: true },
      })
      for (const range of Object.values(dependenciesOf(manifest))) t.notMatch(range, /^(file|workspace):/)
      for (const entry of Object.values(manifest.exports ?? {}))
        for (const file of typeof entry === 'string' ? [entry] : [entry.types!, entry.default!])
          t.ok(isFile(file), file)
      for (const file of ['LICENSE', 'NOTICE', 'README.md']) t.ok(isFile(file), file)
      t.match(readFileSync(join(folder, 'LICENSE'), 'utf8'), /Apache License/)
      if (manifest.license.includes('MIT'))
        t.match(readFileSync(join(folder, 'THIRD-PARTY.txt'), 'utf8'), /^better-sqlite3 12\S* \(MIT\)$/m)
      t.same(
        files.filter((file) => /\.map$|(^|\/)test\/|\.(tsx|png|jpe?g)$|(?<!\.d)\.ts$/.test(file)),
        [],
      )
      for (const file of files.filter((each) => /\.(js|ts)$/.test(each)))
        t.notMatch(readFileSync(join(folder, file), 'utf8'), /^\/\/# sourceMappingURL=/m, file)
    })
  }

  t.test('THIRD-PARTY.txt lists what the service contains', async (t) => {
    const licences = readFileSync(join(modules, 'transferd/THIRD-PARTY.txt'), 'utf8')
    for (const bundled of ['fastify', 'mongodb', 'react', 'lucide-react', '@fontsource-variable/inter', 'swagger-ui'])
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

  t.test('an installation of another version of Node names the remedy', async (t) => {
    const other = join(modules, process.versions.node.startsWith('20.') ? '@transferd/sqlite-node20' : 'better-sqlite3')
    renameSync(other, `${other}-away`)
    t.teardown(() => renameSync(`${other}-away`, other))
    const main = join(modules, 'transferd/dist/bin/transferd.js')
    const { stderr } = await run(process.execPath, [main, 'merchants', 'list'], { cwd: temporaryDirectory(t) }).catch(
      (error: { stderr: string }) => error,
    )
    t.match(stderr, /^transferd: SQLite cannot be loaded on Node v\d+.*\. Install again with this version of Node/m)
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

const skip = process.versions.node.startsWith('20.') ? false : 'the package for Node 20 is packed on Node 20'
t.test('a release contains the published binary for each platform', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const binary = join(directory, 'build/Release/better_sqlite3.node')
  mkdirSync(dirname(binary), { recursive: true })
  const own = readFileSync('packages/sqlite-node20/node_modules/better-sqlite3/build/Release/better_sqlite3.node')
  const requested: string[] = []
  const mirror = createHttpServer((request, response) => {
    requested.push(String(request.url))
    // The download tries the binary, which may have more bytes at its end.
    writeFileSync(binary, Buffer.concat([own, Buffer.from(String(request.url))]))
    response.end(execFileSync('tar', ['-cz', '-C', directory, 'build'], { maxBuffer: 2 * own.length }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => mirror.close())
  await once(mirror, 'listening')
  const { port } = mirror.address() as AddressInfo
  const packed = join(directory, 'packed')
  await run(process.execPath, ['scripts/pack.js', packed, '--all-platforms'], {
    env: {
      ...process.env,
      npm_config_cache: join(directory, 'cache'),
      npm_config_better_sqlite3_binary_host: `http://127.0.0.1:${port}`,
    },
  })
  const [file] = readdirSync(packed).filter((name) => name.startsWith('transferd-sqlite-node20'))
  await run('tar', ['-xzf', join(packed, file!), '-C', directory])
  const binaries = join(directory, 'package/binaries')
  const platforms = ['linux', 'linuxmusl', 'darwin', 'win32'].flatMap((name) => [`${name}-arm64`, `${name}-x64`]).sort()
  t.same(
    readdirSync(binaries).sort(),
    platforms.map((name) => `${name}.node`),
  )
  for (const name of platforms) {
    const url = readFileSync(join(binaries, `${name}.node`))
      .subarray(own.length)
      .toString()
    t.match(url, new RegExp(`-node-v115-${name}\\.tar\\.gz$`), 'the binary is that of the platform and of Node 20')
  }
  t.equal(new Set(requested).size, platforms.length)
})
