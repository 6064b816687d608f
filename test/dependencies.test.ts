import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { importsOf } from './support/architecture.js'

interface Bounds {
  /** The oldest version without a known fault and with the features that the code uses. */
  readonly atLeast: string
  /** The first version that requires a newer Node than 20 or has a different interface. */
  readonly below?: string
  /**
   * Whether the bounds also apply to copies that other packages install, because older versions have a security hole.
   */
  readonly everywhere?: true
}

const bounds: { readonly [name: string]: Bounds } = {
  '@eventstore/db-client': { atLeast: '6.2.1' },
  '@fastify/ajv-compiler': { atLeast: '4.0.0', below: '5.0.0' },
  '@fastify/cookie': { atLeast: '11.0.0' },
  '@fastify/fast-json-stringify-compiler': { atLeast: '5.0.0', below: '6.0.0' },
  '@fastify/swagger': { atLeast: '9.0.0' },
  '@fastify/type-provider-typebox': { atLeast: '5.0.0', below: '6.0.0' },
  '@grpc/grpc-js': { atLeast: '1.14.0' },
  '@node-rs/argon2': { atLeast: '2.0.0' },
  '@opentelemetry/api': { atLeast: '1.9.0', below: '1.10.0' },
  '@opentelemetry/exporter-trace-otlp-http': { atLeast: '0.223.0', below: '0.300.0' },
  '@opentelemetry/resources': { atLeast: '2.12.0', below: '3.0.0' },
  '@opentelemetry/sdk-trace-base': { atLeast: '2.12.0', below: '3.0.0' },
  '@sinclair/typebox': { atLeast: '0.34.0', below: '1.0.0' },
  '@zxcvbn-ts/language-common': { atLeast: '4.1.3', below: '5.0.0' },
  'age-encryption': { atLeast: '0.3.1', below: '0.4.0' },
  'better-sqlite3': { atLeast: '13.0.0', below: '14.0.0' },
  commander: { atLeast: '14.0.0', below: '15.0.0' },
  'eventsource-parser': { atLeast: '3.0.0', below: '4.0.0' },
  cookie: { atLeast: '1.0.0', below: '2.0.0', everywhere: true },
  'csv-parse': { atLeast: '7.0.0', below: '8.0.0' },
  denque: { atLeast: '2.1.0' },
  'fast-jwt': { atLeast: '6.3.6', everywhere: true },
  fastify: { atLeast: '5.12.1', below: '6.0.0', everywhere: true },
  'fastify-plugin': { atLeast: '6.0.0' },
  'google-protobuf': { atLeast: '3.21.2', below: '4.0.0' },
  ibantools: { atLeast: '4.5.0', below: '5.0.0' },
  'ipaddr.js': { atLeast: '2.2.0' },
  'lru-cache': { atLeast: '11.0.0' },
  mongodb: { atLeast: '7.0.0' },
  // Before 7.0.7, a crafted address could reach a different domain.
  nodemailer: { atLeast: '7.0.7' },
  otpauth: { atLeast: '9.4.0' },
  'p-queue': { atLeast: '9.0.0', below: '10.0.0' },
  'p-retry': { atLeast: '7.0.0', below: '8.0.0' },
  pino: { atLeast: '9.0.0' },
  'prom-client': { atLeast: '15.0.0' },
  saxes: { atLeast: '6.0.0', below: '7.0.0' },
  // 5 requires 13 more packages and a newer libc.
  'sodium-native': { atLeast: '4.3.3', below: '5.0.0' },
  undici: { atLeast: '7.0.0', below: '8.0.0' },
  uqr: { atLeast: '0.1.3', below: '0.2.0' },
}

interface Manifest {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly dependencies?: { readonly [name: string]: string }
  readonly optionalDependencies?: { readonly [name: string]: string }
  readonly devDependencies?: { readonly [name: string]: string }
}

interface Locked {
  readonly version: string
  readonly resolved?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly engines?: { readonly node?: string }
}

type Lock = { readonly packages: { readonly [path: string]: Locked } }
const lockOf = (folder: string) => JSON.parse(readFileSync(`${folder}/package-lock.json`, 'utf8')) as Lock
const ownScope = '@transferd/'
const folders = ['.', ...readdirSync('packages').map((name) => `packages/${name}`), 'sdks/typescript']
const manifests = folders.map((folder) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Manifest)
const ownOf = ({ dependencies, optionalDependencies }: Manifest) => ({ ...dependencies, ...optionalDependencies })
function packagesIn({ packages }: Lock) {
  return Object.entries(packages).flatMap(([path, locked]) => {
    const [, name] = path.match(/.*node_modules\/(.+)$/) ?? []
    return !name || name.startsWith(ownScope) ? [] : [{ path, name, locked }]
  })
}

const installed = packagesIn(lockOf('.'))
/** The packages that only the bench installs. */
const peers = packagesIn(lockOf('bench/peers'))

function compare(a: string, b: string): number {
  const [as, bs] = [a, b].map((version) => version.split(/[.-]/).slice(0, 3).map(Number)) as [number[], number[]]
  return as.map((part, index) => part - bs[index]!).find((difference) => difference !== 0) ?? 0
}

/** Returns the packages that the sources import: those that the bundle contains, and those that an installation has. */
function importedPackages(): Set<string> {
  const sources = folders.flatMap((folder) => {
    const names = existsSync(`${folder}/src`) ? readdirSync(`${folder}/src`, { recursive: true, encoding: 'utf8' }) : []
    return names.filter((name) => name.endsWith('.ts')).map((name) => readFileSync(`${folder}/src/${name}`, 'utf8'))
  })
  return new Set(
    sources.flatMap(importsOf).flatMap((imported) => imported.match(/^(?!node:)(@[^/]+\/)?[^./][^/]*/)?.[0] ?? []),
  )
}

t.test('every package that the service contains or installs has a lower bound and a documented reason', async (t) => {
  const reasons = readFileSync('docs/decisions/0001-dependencies.md', 'utf8')
  const names = new Set([...importedPackages(), ...manifests.flatMap((manifest) => Object.keys(ownOf(manifest)))])
  t.ok(names.size > 20)
  for (const name of names) {
    if (name.startsWith(ownScope) || name.startsWith('#')) continue
    t.ok(bounds[name], name)
    t.ok(reasons.includes(`\`${name}\``), name)
  }
})

t.test('all packages have the same version, and the same range of a shared dependency', async (t) => {
  const python = readFileSync('sdks/python/src/transferd/client.py', 'utf8')
  t.equal(/^__version__ = "(.+)"$/m.exec(python)?.[1], manifests[0]!.version)
  const ranges = new Map<string, string>()
  for (const [index, manifest] of manifests.entries()) {
    t.equal(manifest.version, manifests[0]!.version)
    // The package for Node 20 has a different version of better-sqlite3.
    if (folders[index] === 'packages/sqlite-node20') continue
    for (const [name, range] of Object.entries({ ...manifest.devDependencies, ...ownOf(manifest) })) {
      if (range.startsWith('file:')) continue
      t.equal(range, name.startsWith(ownScope) ? manifest.version : (ranges.get(name) ?? range), name)
      ranges.set(name, range)
    }
  }
})

t.test('an installation has better-sqlite3 13, or 12 on Node 20', async (t) => {
  const { packages } = lockOf('.')
  const engines = Object.entries(packages).flatMap(([path, { version, engines }]) =>
    path.endsWith('better-sqlite3') && !path.includes('@types') ? [[path, version.split('.')[0], engines?.node]] : [],
  )
  t.same(engines, [
    ['node_modules/better-sqlite3', '13', '>=22'],
    ['packages/sqlite-node20/node_modules/better-sqlite3', '12', '20.x || 22.x || 23.x || 24.x || 25.x || 26.x'],
  ])
  t.equal(packages['packages/sqlite-node20']?.engines?.node, '>=20 <22', 'npm installs it only there')
})

t.test('every dependency is locked within its bounds', async (t) => {
  for (const [name, { atLeast, below, everywhere }] of Object.entries(bounds)) {
    const copies = installed.filter((copy) => (everywhere ? copy.name === name : copy.path === `node_modules/${name}`))
    t.ok(copies.length > 0, `${name} is locked`)
    for (const { path, locked } of copies) {
      t.ok(compare(locked.version, atLeast) >= 0, `${path} ${locked.version} is at least ${atLeast}`)
      if (below) t.ok(compare(locked.version, below) < 0, `${path} ${locked.version} is below ${below}`)
    }
  }
})

t.test('every package comes from the npm registry and is locked with a digest', async (t) => {
  t.ok(installed.length > 100)
  t.ok(peers.length > 10)
  for (const { path, locked } of [...installed, ...peers]) {
    t.match(locked.integrity, /^sha512-/, path)
    // The field is absent for the registry that npm is configured with.
    t.match(locked.resolved ?? '', /^$|^https:\/\/registry\.npmjs\.org\//, path)
  }
})

t.test('installing transferd does not install the products that the bench compares it with', async (t) => {
  const { dependencies } = JSON.parse(readFileSync('bench/peers/package.json', 'utf8')) as Manifest
  for (const name of Object.keys(dependencies ?? {}))
    t.notOk(
      installed.some((each) => each.name === name),
      name,
    )
})

t.test('compares versions number by number', async (t) => {
  t.ok(compare('10.0.0', '9.9.9') > 0)
  t.ok(compare('5.12.1', '5.12.1') === 0)
  t.ok(compare('6.3.5', '6.3.6') < 0)
  t.ok(compare('7.0.0-rc.1', '7.0.0') === 0)
})
