import { posix } from 'node:path'

interface Area {
  /** Other areas it may import from. */
  readonly areas: readonly string[]
  /** npm packages it may import. */
  readonly packages: readonly string[]
  /** Only domain code goes without Node. */
  readonly node?: false
}

const typebox = ['@sinclair/typebox', '@fastify/type-provider-typebox']

const eventLog = '@transferd/event-log'

/** The arrows of the architecture: what each folder of src may import. A folder that is not here is not allowed. */
export const areas: { readonly [folder: string]: Area } = {
  domain: { areas: [], packages: [], node: false },
  // TypeBox as one file.
  schema: { areas: [], packages: typebox },
  'event-store': { areas: ['domain', 'schema'], packages: [eventLog, ...typebox] },
  'event-store/eventstoredb': {
    areas: ['event-store'],
    packages: ['@eventstore/db-client', '@grpc/grpc-js', 'google-protobuf'],
  },
  'read-models': { areas: ['domain'], packages: [] },
  'read-models/embedded': { areas: ['read-models'], packages: ['better-sqlite3'] },
  'read-models/mongodb': { areas: ['read-models'], packages: ['mongodb'] },
  security: { areas: [], packages: ['fast-jwt'] },
  // The ports: wallets and the messages they send.
  wallet: { areas: ['domain'], packages: [] },
  'wallet/built-in': {
    areas: ['commands', 'domain', 'event-store', 'security', 'wallet'],
    packages: ['@node-rs/argon2'],
  },
  'wallet/http': { areas: ['domain', 'schema', 'wallet'], packages: ['undici', ...typebox] },
  'wallet/messages': { areas: ['read-models', 'security', 'wallet'], packages: ['nodemailer', 'undici', ...typebox] },
  commands: { areas: ['domain', 'event-store', 'security', 'subscriptions', 'wallet'], packages: ['ipaddr.js'] },
  subscriptions: { areas: ['event-store', 'read-models'], packages: ['lru-cache', 'p-retry', 'pino'] },
  projections: {
    areas: ['commands', 'domain', 'event-store', 'read-models', 'subscriptions'],
    packages: ['pino', 'prom-client', ...typebox],
  },
  callbacks: {
    areas: ['commands', 'domain', 'event-store', 'read-models', 'security', 'subscriptions'],
    packages: ['ipaddr.js', 'lru-cache', 'p-retry', 'pino', 'prom-client', 'undici'],
  },
  // What acts by itself when something has happened, or has not for too long.
  processes: {
    areas: ['commands', 'domain', 'event-store', 'read-models', 'subscriptions', 'wallet'],
    packages: ['pino'],
  },
  // What http and cli ask of read models.
  queries: { areas: ['commands', 'domain', 'read-models'], packages: [] },
  http: {
    areas: ['commands', 'domain', 'event-store', 'queries', 'read-models', 'security', 'wallet'],
    packages: [
      '@fastify/swagger',
      '@fastify/swagger-ui',
      'fastify',
      'fastify-plugin',
      'ipaddr.js',
      'pino',
      'prom-client',
      ...typebox,
    ],
  },
  // Composes everything, so it may import every area; still no driver.
  runtime: {
    areas: [
      ...['callbacks', 'commands', 'domain', 'event-store', 'event-store/eventstoredb'],
      'http',
      ...[
        'processes',
        'projections',
        'read-models',
        'read-models/embedded',
        'read-models/mongodb',
        'schema',
        'security',
        'subscriptions',
      ],
      ...['wallet', 'wallet/built-in', 'wallet/http', 'wallet/messages'],
    ],
    packages: ['@transferd/event-log-server', eventLog, 'fastify', 'pino', 'prom-client', ...typebox],
  },
  // Adapters reach it through runtime; transfers are shown as the API shows them.
  cli: {
    areas: [
      'callbacks',
      'commands',
      'domain',
      'event-store',
      'http',
      'projections',
      'queries',
      'read-models',
      'runtime',
      'security',
      'wallet',
    ],
    packages: ['commander', 'pino'],
  },
}

/** The area of a file by its path below src: the longest folder that is one. */
function areaOf(file: string): string | undefined {
  let folder = posix.dirname(file)
  while (folder !== '.' && !Object.hasOwn(areas, folder)) folder = posix.dirname(folder)
  return folder === '.' ? undefined : folder
}

interface Import {
  readonly name: string
  /** Erased by the compiler: it ties no module to another when the program runs. */
  readonly typeOnly: boolean
}

/** Static, dynamic and type imports, re-exports and require. */
export function importsOf(source: string): Import[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const statements = code.matchAll(/^\s*(?:import|export)\b([^'"`;=]*?\bfrom)?\s*(['"])([^'"]+)\2/gm)
  const calls = code.matchAll(/\b(?:import|require)\s*\(\s*(['"`])([^'"`]+)\1/g)
  return [
    ...[...statements].map(([, clause = '', , name = '']) => ({ name, typeOnly: /^\s+type\s/.test(clause) })),
    ...[...calls].map(([, , name = '']) => ({ name, typeOnly: false })),
  ]
}

function resolved(file: string, imported: string): string {
  return posix.join(posix.dirname(file), imported).replace(/\.js$/, '.ts')
}

/** The package of an import: `@scope/name` or `name`, without what is behind. */
function packageOf(imported: string): string {
  return imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/')
}

/** What one file, by its path below src, imports against the rules: a sentence for each. */
export function violations(file: string, source: string): string[] {
  const from = areaOf(file)
  if (from === undefined) return [`${file} is in no known folder`]
  const rules = areas[from]!
  return importsOf(source).flatMap(({ name: imported }) => {
    if (imported.startsWith('node:')) return rules.node === false ? [`${file} imports ${imported}: no Node here`] : []
    if (!imported.startsWith('.')) {
      return rules.packages.includes(packageOf(imported)) ? [] : [`${file} imports the package ${imported}`]
    }
    const to = areaOf(resolved(file, imported))
    if (to === from || (to !== undefined && rules.areas.includes(to))) return []
    return [`${file} imports ${imported}: ${from} may not import ${to ?? 'what is outside src'}`]
  })
}

/** Every cycle of imports that are there when the program runs, as the files on it. `files`: source by path below src. */
export function cycles(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) {
      found.push([...path.slice(start), file].join(' -> '))
      return
    }
    const source = files.get(file)
    if (done.has(file) || source === undefined) return
    for (const { name, typeOnly } of importsOf(source)) {
      if (name.startsWith('.') && !typeOnly) walk(resolved(file, name), [...path, file])
    }
    done.add(file)
  }
  for (const file of files.keys()) walk(file, [])
  return found
}
