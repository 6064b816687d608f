import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import {
  areas,
  cycles,
  type Files,
  folderCycles,
  importsOf,
  packageAreas,
  unusedArrows,
  unusedExports,
  violations,
} from './support/architecture.js'

function filesBelow(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return new Map(names.map((file) => [file, readFileSync(`${folder}/${file}`, 'utf8')]))
}

for (const [folder, rules] of [
  ['src', areas] as const,
  ...Object.entries(packageAreas).map(([name, areas]) => [`packages/${name}/src`, areas] as const),
]) {
  const files = filesBelow(folder)

  t.test(`${folder} imports only allowed areas and packages, and each allowed import is used`, async (t) => {
    t.ok(files.size > 10, 'finds the source files')
    for (const [file, source] of files) t.strictSame(violations(file, source, rules), [], file)
    t.strictSame(unusedArrows(files, rules), [])
  })

  t.test(`${folder} has no SQL that SQLite compiles again for each value of its limit`, async (t) => {
    // SQLite looks at the value of `LIMIT ?` when it plans, so each new value compiles the statement again; at `LIMIT +?` it does not.
    for (const [file, source] of files) t.notMatch(source, /LIMIT \?/, file)
  })

  t.test(`${folder} has no import cycle, including type imports`, async (t) => {
    t.strictSame(cycles(files), [])
    t.strictSame(folderCycles(rules), [])
  })
}

const checked = /^(src|packages\/[^/]+\/src|web\/dashboard\/src|test|bench)\/.*\.tsx?: /
/** The public modules of packages, whose users are outside this project. */
const published = /^packages\/(event-log\/src\/event-log|event-log-server\/src\/protocol-server)\.ts/
/** Code in texts. */
const quoted = ['test/architecture.test.ts: to', 'test/support/loaded-files.ts: load']

t.test('every export has a user outside its file', async (t) => {
  const folders = ['src', 'packages', 'web/dashboard/src', 'test', 'bench', 'scripts', 'sdks/typescript', 'examples']
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|tsx|js)$/.test(file) && !/\b(node_modules|dist)\b|\.d\.ts$/.test(file))
      .map((file) => [`${folder}/${file}`, readFileSync(`${folder}/${file}`, 'utf8')] as const),
  )
  const found = unusedExports(new Map(files)).filter((name) => checked.test(name) && !published.test(name))
  t.strictSame(
    found.filter((name) => !quoted.includes(name)),
    [],
  )
})

t.test(
  'each driver has one importer per port, and only the composition root, operations and the sandbox import adapters',
  async (t) => {
    const importersOf = (name: string) =>
      Object.keys(areas).filter((area) =>
        [...(areas[area]?.packages ?? []), ...(areas[area]?.areas ?? [])].includes(name),
      )
    t.strictSame(importersOf('@transferd/event-log/sqlite'), [
      'read-models/embedded',
      'privacy/embedded',
      'operations',
      'operations/backup',
    ])
    t.strictSame(importersOf('@eventstore/db-client'), ['event-store/eventstoredb'])
    t.strictSame(importersOf('mongodb'), ['read-models/mongodb'])
    const adapters = Object.keys(areas).filter((area) => /^(event-store|read-models|wallet)\/(?!payments)/.test(area))
    for (const adapter of adapters) {
      const importers = importersOf(adapter)
      t.ok(
        importers.every((name) => name === 'operations' || name === 'main' || name === 'sandbox'),
        `${adapter}: ${importers}`,
      )
    }
    t.strictSame(importersOf('@transferd/event-log-server'), ['operations/events-server'])
    t.strictSame(importersOf('http'), ['main', 'cli'])
  },
)

t.test('every area imports only areas of lower layers', async (t) => {
  const layers = Object.keys(areas)
  for (const [area, { areas: imported }] of Object.entries(areas)) {
    const upward = imported.filter((name) => layers.indexOf(name) > layers.indexOf(area))
    t.strictSame(upward, [], area)
  }
})

t.test('the checker reports each kind of forbidden import', async (t) => {
  const broken: [string, string][] = [
    ['domain/transfer/x.ts', "import { v5 } from 'uuid'"],
    ['domain/transfer/x.ts', "import { createHash } from 'node:crypto'"],
    ['domain/x.ts', "import type { NewEvent } from '../event-store/event-store.js'"],
    ['http/v1/x.ts', "import { open } from '@transferd/event-log'"],
    ['http/x.ts', "import { open } from '../read-models/embedded/embedded-read-models.js'"],
    ['http/x.ts', "import { MongoClient } from 'mongodb'"],
    ['http/x.ts', "import { startExpiry } from '../processes/deposit-expiry.js'"],
    ['callbacks/x.ts', "export * from '../projections/start-projections.js'"],
    ['projections/x.ts', "const x = await import('../callbacks/callbacks.js')"],
    ['commands/x.ts', "import { buildApp } from '../http/app.js'"],
    ['commands/x.ts', "import type { Collection } from '../read-models/read-models.js'"],
    ['main/x.ts', "import { Database } from '@transferd/event-log/sqlite'"],
    ['read-models/x.ts', "import { Database } from '@transferd/event-log/sqlite'"],
    ['read-models/embedded/x.ts', "import { EventStoreDBClient } from '@eventstore/db-client'"],
    ['event-store/x.ts', "import { open } from '../read-models/embedded/embedded-read-models.js'"],
    ['event-store/x.ts', "import { open } from './eventstoredb/eventstoredb-event-store.js'"],
    ['cli/x.ts', "import { open } from '@transferd/event-log'"],
    ['cli/x.ts', "const sqlite = require('better-sqlite3')"],
    ['http/x.ts', "import '../../test/support/x.js'"],
    ['http/x.ts', "import { thing } from '../utils/thing.js'"],
    ['cli/x.ts', "let texts: typeof import('../../web/payment-page/texts/en.json')"],
    ['http/x.ts', "import '../../web/payment-page/page.js'"],
    ['utils/x.ts', ''],
    ['x.ts', ''],
  ]
  for (const [file, source] of broken) t.equal(violations(file, source).length, 1, `${file}: ${source}`)
})

t.test('the checker accepts allowed imports and ignores comments', async (t) => {
  const allowed: [string, string][] = [
    ['domain/transfer/x.ts', "import { accept } from '../../kernel/decision.js'"],
    ['domain/transfer/x.ts', "// import x from 'uuid'\n/* import x from 'mongodb' */"],
    ['http/x.ts', "import {\n  a,\n  b,\n} from '../commands/transfers.js'\nimport Fastify from 'fastify'"],
    ['http/x.ts', "let texts: typeof import('../../web/payment-page/texts/en.json')"],
    [
      'read-models/embedded/x.ts',
      "import { Database } from '@transferd/event-log/sqlite'\nimport { x } from '../read-models.js'",
    ],
    ['kernel/x.ts', "import { TypeCompiler } from '@sinclair/typebox/compiler'"],
    ['operations/x.ts', "import { open } from '@transferd/event-log'"],
  ]
  for (const [file, source] of allowed) t.strictSame(violations(file, source), [], file)
})

t.test('the checker recognizes every form of import', async (t) => {
  const source = `import a from 'a'
import 'b'
import type { C } from "c"
export { d } from 'd'
export * from 'e'
import {
  f,
} from 'f'
const g = await import('g')
let h: import('h').H
const i = require('i')
const notOne = 'from here'
const nor = pick(from, \`, \`)
export const to = timeOf('to', from)`
  t.strictSame(importsOf(source), ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
})

t.test('the checker finds import cycles of any length', async (t) => {
  const files = new Map([
    ['domain/a.ts', "import './b.js'"],
    ['domain/b.ts', "import { type C, c } from './deep/c.js'"],
    ['domain/deep/c.ts', "import '../a.js'"],
    ['domain/d.ts', "import './a.js'"],
  ])
  t.strictSame(cycles(files), ['domain/a.ts -> domain/b.ts -> domain/deep/c.ts -> domain/a.ts'])
  t.strictSame(cycles(new Map([['domain/a.ts', "import './a.js'"]])), ['domain/a.ts -> domain/a.ts'])
  files.set('domain/deep/c.ts', "import type { A } from '../a.js'")
  t.equal(cycles(files).length, 1, 'a type import is part of a cycle')
  files.set('domain/deep/c.ts', '')
  t.strictSame(cycles(files), [])
  const allow = (...areas: string[]) => ({ areas, packages: [] })
  t.strictSame(folderCycles({ a: allow('b'), b: allow('c'), c: allow('a') }), ['a -> b -> c -> a'])
})

t.test('the checker reports allowed imports that no file uses', async (t) => {
  const rules = {
    domain: { areas: [], packages: ['uuid'] },
    http: { areas: ['domain', 'queries'], packages: ['fastify'] },
    queries: { areas: [], packages: [] },
  }
  const files = new Map([
    ['domain/a.ts', ''],
    ['http/b.ts', "import type { A } from '../domain/a.js'\nimport fastify from 'fastify'"],
  ])
  t.strictSame(unusedArrows(files, rules), ['domain -> uuid', 'http -> queries'])
})

t.test('the checker reports exports without a user', async (t) => {
  const files = new Map([
    ['src/a.ts', 'export const one = 1\nexport type Two = 2\nexport async function three() {}\nexport class Four {}'],
    [
      'src/b.ts',
      "import { type Two, one as first } from './a.js'\n// import { three } from './a.js'\nexport * from './c.js'",
    ],
    ['src/c.ts', 'export const named = 1\nexport const other = named'],
    ['src/d.ts', 'export function loaded() {}\nconst page = `\nexport const notOne = 1`'],
    ['web/e.tsx', "import {\n  Four,\n} from '../src/a'\nconst page = () => import('../src/d.js')"],
  ])
  t.strictSame(unusedExports(files), ['src/a.ts: three'])
})
