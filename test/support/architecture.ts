import { posix } from 'node:path'

interface Area {
  /** The other areas that the area may import. */
  readonly areas: readonly string[]
  /** The npm packages that the area may import. */
  readonly packages: readonly string[]
  /** Whether the area may import Node's modules. Only the domain may not. */
  readonly node?: false
}

const typebox = '@sinclair/typebox'

const eventLog = '@transferd/event-log'

/** The entry point of the log's package that exports better-sqlite3. */
const sqlite = '@transferd/event-log/sqlite'

const transparencyLog = '@transferd/transparency-log'

type Areas = { readonly [folder: string]: Area }

/**
 * The dependency rules of the architecture: the areas and packages that each folder of src may import. The lowest layer
 * comes first, and an area imports only areas above it in this list. A folder that is not listed is not allowed.
 */
export const areas: Areas = {
  // The shared vocabulary of all areas: time, text, identifiers, and TypeBox through a single file.
  kernel: { areas: [], packages: [typebox, 'ibantools', 'lru-cache', 'p-queue', 'sodium-native'] },
  // Pure: events, states and decisions.
  domain: { areas: ['kernel'], packages: [], node: false },
  // Readers of the files of banks.
  'bank-formats': { areas: ['kernel', 'domain'], packages: ['csv-parse', 'saxes'] },
  // The port and the codec.
  'event-store': { areas: ['kernel', 'domain'], packages: [eventLog] },
  'event-store/eventstoredb': {
    areas: ['domain', 'event-store'],
    packages: ['@eventstore/db-client', '@grpc/grpc-js'],
  },
  'read-models': { areas: ['kernel', 'domain'], packages: [] },
  'read-models/embedded': { areas: ['read-models'], packages: [sqlite] },
  'read-models/mongodb': { areas: ['read-models'], packages: ['mongodb'] },
  // Secrets, passwords, tokens and hash codes.
  security: {
    areas: ['kernel'],
    packages: ['@node-rs/argon2', 'fast-jwt', 'ipaddr.js', 'otpauth'],
  },
  // Traces, and metric labels with a bounded number of values.
  tracing: {
    areas: ['domain', 'event-store'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
  },
  subscriptions: { areas: ['kernel', 'event-store', 'read-models'], packages: ['lru-cache', 'p-retry', 'pino'] },
  commands: {
    areas: ['kernel', 'domain', 'event-store', 'security', 'tracing', 'subscriptions'],
    packages: ['ipaddr.js'],
  },
  // The wallet port.
  wallet: { areas: ['domain'], packages: [] },
  'wallet/payments': {
    areas: ['kernel', 'domain', 'event-store', 'security', 'commands', 'wallet'],
    packages: ['lru-cache'],
  },
  'wallet/built-in': {
    areas: ['kernel', 'domain', 'event-store', 'security', 'commands', 'wallet'],
    packages: [],
  },
  'wallet/http': { areas: ['kernel', 'domain', 'wallet'], packages: [typebox] },
  'wallet/messages': { areas: ['kernel', 'read-models', 'security', 'wallet'], packages: ['nodemailer'] },
  projections: {
    areas: ['kernel', 'domain', 'event-store', 'read-models', 'tracing', 'subscriptions'],
    packages: ['pino'],
  },
  callbacks: {
    areas: ['kernel', 'domain', 'event-store', 'read-models', 'security', 'tracing', 'subscriptions', 'commands'],
    packages: ['p-retry', 'pino', 'prom-client', 'undici'],
  },
  // Reactions to events, and to events that are overdue.
  processes: {
    areas: ['kernel', 'domain', 'event-store', 'read-models', 'subscriptions', 'commands', 'wallet', 'wallet/payments'],
    packages: ['pino'],
  },
  // The queries of HTTP, the command line and the dashboard on read models.
  queries: { areas: ['kernel', 'domain', 'event-store', 'read-models', 'subscriptions', 'commands'], packages: [] },
  // Statements of banks: imports, and what their payments mean for transfers.
  bank: {
    areas: ['kernel', 'domain', 'bank-formats', 'event-store', 'read-models', 'subscriptions', 'commands', 'queries'],
    packages: ['pino'],
  },
  // Personal data in events, encrypted with keys that can be deleted.
  privacy: {
    areas: [
      'kernel',
      'domain',
      'event-store',
      'read-models',
      'security',
      'subscriptions',
      'commands',
      'projections',
      'queries',
    ],
    packages: ['pino'],
  },
  'privacy/embedded': { areas: ['event-store', 'privacy'], packages: [sqlite] },
  'audit/integrity': {
    areas: ['kernel', 'domain', 'event-store', 'read-models', 'subscriptions', 'commands'],
    packages: [transparencyLog, 'pino'],
  },
  'audit/proofs': { areas: ['kernel', 'domain', 'event-store', 'audit/integrity'], packages: [transparencyLog] },
  'audit/evidence': {
    areas: ['kernel', 'domain', 'event-store', 'commands', 'privacy', 'audit/integrity', 'audit/proofs'],
    packages: [transparencyLog],
  },
  // The queries of auditors on the log.
  'audit/history': {
    areas: ['kernel', 'domain', 'event-store', 'read-models', 'projections', 'audit/integrity'],
    packages: [],
  },
  // The thread of the reads that look at many rows, and the requests to it.
  readers: {
    areas: ['kernel', 'domain', 'event-store', 'read-models', 'security', 'commands', 'queries', 'audit/history'],
    packages: [],
  },
  http: {
    areas: [
      'kernel',
      'domain',
      'event-store',
      'read-models',
      'security',
      'tracing',
      'commands',
      'wallet',
      'wallet/payments',
      'projections',
      'callbacks',
      'queries',
      'bank',
      'bank-formats',
      'privacy',
      'audit/integrity',
      'audit/proofs',
      'audit/evidence',
      'audit/history',
      'readers',
    ],
    packages: [
      transparencyLog,
      '@fastify/ajv-compiler',
      '@fastify/cookie',
      '@fastify/fast-json-stringify-compiler',
      '@fastify/swagger',
      '@fastify/type-provider-typebox',
      typebox,
      'fastify',
      'fastify-plugin',
      'ipaddr.js',
      'pino',
      'prom-client',
      'uqr',
    ],
  },
  // The only importer of adapters: it opens the engines that the configuration names.
  operations: {
    areas: [
      'kernel',
      'domain',
      'event-store',
      'event-store/eventstoredb',
      'read-models',
      'read-models/embedded',
      'read-models/mongodb',
      'security',
      'subscriptions',
      'commands',
      'wallet/built-in',
      'projections',
      'callbacks',
      'queries',
      'privacy',
      'privacy/embedded',
      'audit/integrity',
      'audit/proofs',
      'audit/evidence',
    ],
    packages: [transparencyLog, typebox, eventLog, sqlite, 'lru-cache', 'pino', 'prom-client'],
  },
  'operations/backup': {
    areas: [
      'kernel',
      'domain',
      'event-store',
      'read-models',
      'security',
      'commands',
      'privacy',
      'privacy/embedded',
      'audit/integrity',
      'operations',
    ],
    packages: [transparencyLog, typebox, eventLog, sqlite, 'age-encryption'],
  },
  'operations/events-server': {
    areas: ['kernel', 'domain', 'operations'],
    packages: [eventLog, '@transferd/event-log-server'],
  },
  sandbox: {
    areas: [
      'kernel',
      'domain',
      'event-store',
      'security',
      'subscriptions',
      'commands',
      'wallet',
      'wallet/payments',
      'wallet/built-in',
      'wallet/messages',
      'callbacks',
      'operations',
    ],
    packages: ['pino'],
  },
  // The composition root.
  main: {
    areas: [
      'audit/integrity',
      'bank',
      'kernel',
      'domain',
      'event-store',
      'read-models',
      'security',
      'tracing',
      'subscriptions',
      'commands',
      'wallet',
      'wallet/payments',
      'wallet/built-in',
      'wallet/http',
      'wallet/messages',
      'projections',
      'callbacks',
      'processes',
      'privacy',
      'readers',
      'http',
      'operations',
      'sandbox',
    ],
    packages: [eventLog, 'fastify', 'pino', 'prom-client'],
  },
  cli: {
    areas: [
      'kernel',
      'domain',
      'event-store',
      'read-models',
      'commands',
      'bank',
      'projections',
      'callbacks',
      'queries',
      'privacy',
      'audit/proofs',
      'audit/evidence',
      'audit/history',
      'http',
      'operations',
      'operations/backup',
      'operations/events-server',
      'sandbox',
      'main',
    ],
    packages: ['@transferd/client', transparencyLog, 'commander', 'eventsource-parser'],
  },
}

/** The rules of each package. `.` is the files outside its folders, which may import all of them. */
export const packageAreas: { readonly [name: string]: Areas } = {
  'event-log': {
    '.': { areas: ['file', 'reader', 'writer', 'groups'], packages: [] },
    sqlite: { areas: [], packages: ['better-sqlite3'] },
    file: { areas: ['sqlite'], packages: [] },
    reader: { areas: ['.', 'file', 'sqlite'], packages: [] },
    writer: { areas: ['.', 'file', 'sqlite'], packages: [] },
    groups: { areas: ['.', 'file', 'reader'], packages: ['denque'] },
  },
  'transparency-log': { '.': { areas: [], packages: [] } },
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

/** Sources by path relative to src. */
export type Files = ReadonlyMap<string, string>

/** Returns the area of a file: the longest listed folder that contains it. */
function areaOf(file: string, areas: Areas): string | undefined {
  let folder = posix.dirname(file)
  while (folder !== '.' && !Object.hasOwn(areas, folder)) folder = posix.dirname(folder)
  return Object.hasOwn(areas, folder) ? folder : undefined
}

/** Returns the imports of a file: static, dynamic and type imports, re-exports and require. */
export function importsOf(source: string): string[] {
  const code = withoutComments(source)
  const statements = code.matchAll(/^\s*(?:import|export)\b(?:[^'"`;=]*?\bfrom)?\s*(['"])([^'"]+)\1/gm)
  const calls = code.matchAll(/\b(?:import|require)\s*\(\s*(['"`])([^'"`]+)\1/g)
  return [...statements, ...calls].map(([, , name = '']) => name)
}

function resolved(file: string, imported: string): string {
  return posix.join(posix.dirname(file), imported).replace(/\.js$/, '.ts')
}

/** Returns the package of an import, `@scope/name` or `name`, without a subpath except that of SQLite. */
function packageOf(imported: string): string {
  if (imported === sqlite) return sqlite
  return imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Returns one sentence for each import of the file that breaks a rule. */
export function violations(file: string, source: string, rules: Areas = areas): string[] {
  const from = areaOf(file, rules)
  if (from === undefined) return [`${file} is in no listed folder`]
  const allowed = rules[from]!
  return importsOf(source).flatMap((imported) => {
    if (imported.startsWith('node:'))
      return allowed.node === false ? [`${file} imports ${imported}, but the area may not use Node`] : []
    if (!imported.startsWith('.')) {
      return allowed.packages.includes(packageOf(imported)) ? [] : [`${file} imports the package ${imported}`]
    }
    const path = resolved(file, imported)
    // The compiler checks the keys of these data files.
    if (from === 'http' && path.startsWith('../web/') && path.endsWith('.json')) return []
    const to = areaOf(path, rules)
    if (to === from || (to !== undefined && allowed.areas.includes(to))) return []
    return [`${file} imports ${imported}: ${from} may not import ${to ?? 'files outside the source folder'}`]
  })
}

/** Returns the allowed imports that no file uses, as `from -> to`. */
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

/**
 * Returns the exports that no other file uses, as `file: name`. The paths of `files` are relative to the root of the project. A name counts
 * as used by `import(…)` in any form, and by a test that loads a module of the pages, because the names are then known only at run time.
 */
export function unusedExports(files: Files): string[] {
  const used = new Set<string>()
  for (const [file, source] of files) {
    const code = withoutComments(source)
    const targets = (name: string) =>
      ['', '.ts', '.tsx'].map((extension) => posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts') + extension)
    for (const [, names = '', from = ''] of code.matchAll(
      /\b(?:import|export)\s([^'"`;=()]*?)\bfrom\s*['"]([^'"]+)/g,
    )) {
      const listed = names.matchAll(/[*\w]+(?=(?:\s+as\s+\w+)?\s*[,}]|\s*$|\s+as\b)/g)
      for (const [name] of listed) for (const target of targets(from)) used.add(`${target}: ${name}`)
    }
    for (const [, name = ''] of code.matchAll(/\bimport\(\s*['"`]([^'"`]+)/g))
      for (const target of targets(name)) used.add(`${target}: *`)
    for (const [, page = ''] of code.matchAll(/\('([\w/-]+\.tsx?)'\)/g)) used.add(`web/dashboard/src/${page}: *`)
  }
  const declared = /^export (?:abstract |async )*(?:const|let|function\*?|class|interface|type) (\w+)/gm
  return [...files].flatMap(([file, source]) => {
    if (used.has(`${file}: *`)) return []
    const names = [...withoutComments(source).matchAll(declared)].map(([, name]) => `${file}: ${name}`)
    return names.filter((name) => !used.has(name))
  })
}

function withoutComments(source: string): string {
  return source.replace(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm, '')
}

/**
 * Returns every import cycle as its files. Type imports count, because each file of the cycle needs the others to be
 * understood.
 */
export function cycles(files: Files): string[] {
  const graph = new Map<string, string[]>()
  for (const [file, source] of files) {
    const names = importsOf(source).filter((name) => name.startsWith('.'))
    graph.set(
      file,
      names.map((name) => resolved(file, name)),
    )
  }
  return cyclesOf(graph)
}

/**
 * Returns every cycle of folders that may import one another. The files outside a package's folders may import all of
 * them and are excluded.
 */
export function folderCycles(rules: Areas = areas): string[] {
  const folders = Object.entries(rules).filter(([from]) => from !== '.')
  return cyclesOf(new Map(folders.map(([from, { areas }]) => [from, areas])))
}

function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
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
