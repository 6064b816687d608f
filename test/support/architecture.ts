import { posix } from 'node:path'

export interface Area {
  /** Other areas it may import from. */
  readonly areas: readonly string[]
  /** npm packages it may import. */
  readonly packages: readonly string[]
  /** Only domain code goes without Node. */
  readonly node?: false
}

const typebox = '@sinclair/typebox'

const eventLog = '@transferd/event-log'

export type Areas = { readonly [folder: string]: Area }

/** The arrows of the architecture: what each folder of src may import. A folder that is not here is not allowed. */
export const areas: Areas = {
  domain: { areas: [], packages: [], node: false },
  // TypeBox as one file.
  schema: { areas: [], packages: [typebox] },
  // The formats of a transparency log: nothing in it knows what a leaf is.
  'audit/tree': { areas: [], packages: [] },
  'audit/proofs': { areas: ['audit/integrity', 'audit/tree', 'domain', 'event-store'], packages: [] },
  'audit/integrity': {
    areas: ['audit/tree', 'commands', 'domain', 'event-store', 'read-models', 'subscriptions'],
    packages: ['pino'],
  },
  'event-store': { areas: ['domain', 'schema'], packages: [eventLog, typebox] },
  'event-store/eventstoredb': {
    areas: ['event-store'],
    packages: ['@eventstore/db-client', '@grpc/grpc-js', 'google-protobuf'],
  },
  'read-models': { areas: ['domain'], packages: [] },
  'read-models/embedded': { areas: ['read-models'], packages: ['better-sqlite3'] },
  'read-models/mongodb': { areas: ['read-models'], packages: ['mongodb'] },
  security: { areas: [], packages: ['@node-rs/argon2', 'fast-jwt', 'otpauth'] },
  // The ports: wallets and the messages they send.
  wallet: { areas: ['domain'], packages: [] },
  'wallet/built-in': {
    areas: ['commands', 'domain', 'event-store', 'security', 'wallet'],
    packages: [],
  },
  'wallet/http': { areas: ['domain', 'schema', 'wallet'], packages: [typebox] },
  'wallet/messages': { areas: ['read-models', 'security', 'wallet'], packages: ['nodemailer'] },
  // What is personal in events, under keys that can be forgotten.
  privacy: {
    areas: ['commands', 'domain', 'event-store', 'projections', 'queries', 'read-models', 'security', 'subscriptions'],
    packages: ['lru-cache', 'pino'],
  },
  'privacy/embedded': { areas: ['event-store', 'privacy'], packages: ['better-sqlite3'] },
  // Traces, and labels that do not grow.
  watching: {
    areas: ['domain', 'event-store'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
  },
  commands: {
    areas: ['domain', 'event-store', 'security', 'subscriptions', 'wallet', 'watching'],
    packages: ['ipaddr.js', 'lru-cache'],
  },
  subscriptions: { areas: ['event-store', 'read-models'], packages: ['lru-cache', 'p-retry', 'pino'] },
  projections: {
    areas: ['commands', 'domain', 'event-store', 'read-models', 'subscriptions', 'watching'],
    packages: ['lru-cache', 'pino'],
  },
  callbacks: {
    areas: ['commands', 'domain', 'event-store', 'read-models', 'security', 'subscriptions', 'watching'],
    packages: ['lru-cache', 'p-retry', 'pino', 'prom-client', 'undici'],
  },
  // What acts by itself when something has happened, or has not for too long.
  processes: {
    areas: ['commands', 'domain', 'event-store', 'read-models', 'subscriptions', 'wallet'],
    packages: ['pino'],
  },
  // What http and cli ask of read models, and are told of the log.
  queries: { areas: ['commands', 'domain', 'event-store', 'read-models', 'subscriptions'], packages: [] },
  // What auditors ask of the log.
  'audit/history': {
    areas: ['domain', 'event-store', 'projections', 'queries', 'read-models'],
    packages: [],
  },
  http: {
    areas: [
      ...['audit/history', 'audit/integrity', 'audit/tree', 'commands', 'domain', 'event-store', 'privacy', 'queries'],
      ...['read-models', 'schema', 'security', 'wallet', 'watching'],
    ],
    packages: [
      '@fastify/ajv-compiler',
      '@fastify/cookie',
      '@fastify/fast-json-stringify-compiler',
      '@fastify/swagger',
      '@fastify/swagger-ui',
      'fastify',
      'fastify-plugin',
      'ipaddr.js',
      'pino',
      'prom-client',
      typebox,
      '@fastify/type-provider-typebox',
    ],
  },
  // Copies of what has files here, as they fit together.
  backup: {
    areas: ['read-models', 'schema'],
    packages: [eventLog, typebox, 'age-encryption', 'better-sqlite3'],
  },
  // Composes everything, so it may import every area; still no driver.
  runtime: {
    areas: [
      ...['audit/integrity', 'audit/proofs', 'audit/tree', 'backup'],
      ...['callbacks', 'commands', 'domain', 'event-store', 'event-store/eventstoredb'],
      'http',
      ...['privacy', 'privacy/embedded'],
      ...[
        'processes',
        'projections',
        'queries',
        'read-models',
        'read-models/embedded',
        'read-models/mongodb',
        'schema',
        'security',
        'subscriptions',
      ],
      ...['wallet', 'wallet/built-in', 'wallet/http', 'wallet/messages', 'watching'],
    ],
    packages: ['@transferd/event-log-server', eventLog, 'fastify', 'pino', 'prom-client', typebox],
  },
  // Adapters reach it through runtime; transfers are shown as the API shows them.
  cli: {
    areas: [
      ...['audit/proofs', 'audit/tree'],
      'audit/history',
      'callbacks',
      'commands',
      'domain',
      'event-store',
      'http',
      'privacy',
      'projections',
      'queries',
      'read-models',
      'runtime',
    ],
    packages: ['commander'],
  },
}

/** The same for the packages; `.` are the files beside the folders, which may import all of them. */
export const packageAreas: { readonly [name: string]: Areas } = {
  'event-log': {
    '.': { areas: ['file', 'reader', 'writer', 'groups'], packages: [] },
    file: { areas: [], packages: ['better-sqlite3'] },
    reader: { areas: ['.', 'file'], packages: ['better-sqlite3'] },
    writer: { areas: ['.', 'file'], packages: ['better-sqlite3'] },
    groups: { areas: ['.', 'file', 'reader'], packages: ['denque'] },
  },
  'event-log-server': {
    '.': {
      areas: ['access', 'calls', 'filters', 'groups', 'wire'],
      packages: [eventLog, '@grpc/grpc-js'],
    },
    access: { areas: ['wire'], packages: [eventLog, '@grpc/grpc-js'] },
    calls: {
      areas: ['access', 'filters', 'wire'],
      packages: [eventLog, '@eventstore/db-client', '@grpc/grpc-js', 'google-protobuf'],
    },
    filters: { areas: ['wire'], packages: [eventLog, '@grpc/grpc-js'] },
    groups: {
      areas: ['access', 'calls', 'filters', 'wire'],
      packages: [eventLog, '@eventstore/db-client', '@grpc/grpc-js'],
    },
    wire: { areas: [], packages: [eventLog, '@eventstore/db-client', '@grpc/grpc-js', 'google-protobuf'] },
  },
}

/** Source by path below the root: src, or a package's. */
export type Files = ReadonlyMap<string, string>

/** The area of a file: the longest folder that is one. */
function areaOf(file: string, areas: Areas): string | undefined {
  let folder = posix.dirname(file)
  while (folder !== '.' && !Object.hasOwn(areas, folder)) folder = posix.dirname(folder)
  return Object.hasOwn(areas, folder) ? folder : undefined
}

/** Static, dynamic and type imports, re-exports and require. */
export function importsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const statements = code.matchAll(/^\s*(?:import|export)\b(?:[^'"`;=]*?\bfrom)?\s*(['"])([^'"]+)\1/gm)
  const calls = code.matchAll(/\b(?:import|require)\s*\(\s*(['"`])([^'"`]+)\1/g)
  return [...statements, ...calls].map(([, , name = '']) => name)
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

/** What one file imports against the rules: a sentence for each. */
export function violations(file: string, source: string, rules: Areas = areas): string[] {
  const from = areaOf(file, rules)
  if (from === undefined) return [`${file} is in no known folder`]
  const allowed = rules[from]!
  return importsOf(source).flatMap((imported) => {
    if (imported.startsWith('node:')) return allowed.node === false ? [`${file} imports ${imported}: no Node here`] : []
    if (!imported.startsWith('.')) {
      return allowed.packages.includes(packageOf(imported)) ? [] : [`${file} imports the package ${imported}`]
    }
    const path = resolved(file, imported)
    // Data, of which the compiler checks the keys.
    if (from === 'http' && path.startsWith('../web/') && path.endsWith('.json')) return []
    const to = areaOf(path, rules)
    if (to === from || (to !== undefined && allowed.areas.includes(to))) return []
    return [`${file} imports ${imported}: ${from} may not import ${to ?? 'what is outside'}`]
  })
}

/** The arrows that are allowed and that no file has: `from -> to`. */
export function unusedArrows(files: Files, rules: Areas = areas): string[] {
  const used = new Set<string>()
  for (const [file, source] of files) {
    for (const name of importsOf(source)) {
      const to = name.startsWith('.') ? areaOf(resolved(file, name), rules) : packageOf(name)
      used.add(`${areaOf(file, rules)} -> ${to}`)
    }
  }
  return Object.entries(rules).flatMap(([from, { areas, packages }]) =>
    [...areas, ...packages].map((to) => `${from} -> ${to}`).filter((arrow) => !used.has(arrow)),
  )
}

/** Every cycle of imports, as the files on it. An import of types ties files as any other does: neither is understood alone. */
export function cycles(files: Files): string[] {
  const graph = new Map<string, string[]>()
  for (const [file, source] of files) {
    const names = importsOf(source).filter((name) => name.startsWith('.'))
    graph.set(
      file,
      names.map((name) => resolved(file, name)),
    )
  }
  return circles(graph)
}

/** Every cycle of folders that may import one another. What is beside the folders of a package may use all of them. */
export function folderCycles(rules: Areas = areas): string[] {
  const folders = Object.entries(rules).filter(([from]) => from !== '.')
  return circles(new Map(folders.map(([from, { areas }]) => [from, areas])))
}

function circles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const walk = (node: string, path: readonly string[]) => {
    const start = path.indexOf(node)
    if (start >= 0) {
      found.push([...path.slice(start), node].join(' -> '))
      return
    }
    if (done.has(node)) return
    for (const next of graph.get(node) ?? []) walk(next, [...path, node])
    done.add(node)
  }
  for (const node of graph.keys()) walk(node, [])
  return found
}
