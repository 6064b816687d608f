import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { tempDirectory } from './support/temp-directory.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const { resolve } = createRequire(import.meta.url)
const packageOf = (name: string) => dirname(resolve(`${name}/package.json`))
const compiler = join(packageOf('typescript'), 'bin', 'tsc')

function snippet(language: 'js' | 'ts'): string {
  const [, code] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(readme) ?? []
  if (!code) throw new Error(`the README has no snippet in ${language}`)
  return code
}

/** Creates a project that has only installed this package and the types of Node, and so lacks those of better-sqlite3. */
function project(t: Test): string {
  const directory = tempDirectory(t)
  const modules = join(directory, 'node_modules')
  mkdirSync(join(modules, '@transferd'), { recursive: true })
  mkdirSync(join(modules, '@types'))
  symlinkSync(root, join(modules, '@transferd', 'event-log'))
  symlinkSync(packageOf('@types/node'), join(modules, '@types', 'node'))
  symlinkSync(packageOf('undici-types'), join(modules, 'undici-types'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  return directory
}

/** Compiles all files of the project. Returns the errors, one per line. */
function compile(directory: string, lib: readonly string[] = ['es2022']): string {
  const compilerOptions = {
    target: 'es2022',
    lib,
    module: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    // Otherwise the compiler would find the types of other packages from the package's real path.
    preserveSymlinks: true,
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  try {
    execFileSync(process.execPath, [compiler, '-p', '.'], { cwd: directory, encoding: 'utf8', timeout: 60_000 })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

function outputOf(directory: string, file: string): string[] {
  const output = execFileSync(process.execPath, [file], { cwd: directory, encoding: 'utf8', timeout: 60_000 })
  return output.trim().split('\n')
}

t.test('the first snippet of the README runs and prints the expected lines', async (t) => {
  const directory = project(t)
  writeFileSync(join(directory, 'start.mjs'), snippet('js'))
  t.same(outputOf(directory, 'start.mjs'), [
    'the last event is 2',
    "[ 'OrderPlaced', 'OrderPaid', 'OrderShipped' ]",
    'OrderShipped has revision 2',
    '3 events up to 3',
    'received 3 events up to 3',
    'mail about OrderPlaced',
    'mail about OrderPaid',
    'mail about OrderShipped',
  ])
})

t.test('the aggregate of the README compiles strictly and runs', async (t) => {
  const directory = project(t)
  writeFileSync(join(directory, 'order.ts'), snippet('ts'))
  t.equal(compile(directory, ['es2022', 'esnext.disposable']), '', 'with the library of disposables')
  t.equal(compile(directory), '', 'without it')
  t.same(outputOf(directory, 'order.js'), [
    '50 is not due',
    '0 OrderPlaced { total: 100 }',
    '1 PaymentReceived { amount: 50 }',
    '2 PaymentReceived { amount: 50 }',
    "3 OrderShipped { parcel: 'P-7' }",
  ])
})

t.test('a typed log accepts and returns only the events of its type', async (t) => {
  const directory = project(t)
  writeFileSync(
    join(directory, 'typed.ts'),
    `import { attachEventLog, type EventLogHandle, openEventLog, type EventLog } from '@transferd/event-log'
interface Placed { readonly total: number }
type OrderEvent = { type: 'OrderPlaced'; data: Placed } | { type: 'OrderPaid'; data: { by: string } }
const log = await openEventLog<OrderEvent>({ temporary: true })
await log.append('a', 'any', [{ type: 'OrderPlaced', data: { total: 1 } }, { type: 'OrderPaid', data: { by: 'x' } }])
await log.append('a', 'any', [{ id: '', type: 'OrderPaid', data: '{}', metadata: '{}' }])
// @ts-expect-error
await log.append('a', 'any', [{ type: 'OrderLost', data: {} }])
// @ts-expect-error
await log.append('a', 'any', [{ type: 'OrderPlaced', data: { by: 'x' } }])
// @ts-expect-error
await log.append('a', 'some', [])
// @ts-expect-error
await openEventLog({ directory: './a', temporary: true })
// @ts-expect-error
await openEventLog()
const stop = new AbortController()
const total = (event: OrderEvent): number => event.type === 'OrderPlaced' ? event.data.total : event.data.by.length
for (const event of await log.readStream('a')) total(event)
for (const event of (await log.readAll({ maxCount: 1 })).events) total(event)
for await (const event of log.iterateStream('a')) total(event)
for await (const event of log.subscribeToStream('a', stop)) total(event)
for await (const page of log.subscribeToAll(stop)) page.events.map(total)
const { signal } = stop
for await (const { event } of await log.persistentSubscriptions.consume('g', { bufferSize: 1, signal })) total(event)
const attach = (handle: EventLogHandle) => attachEventLog<OrderEvent>(handle).readStream('a')
export { attach }
// @ts-expect-error It would accept any event.
const untyped: EventLog = log
const untypedLog: EventLog = await openEventLog({ directory: './b' })
for (const { data } of await untypedLog.readStream('a')) data.anything
await untypedLog.append('a', 'any', [{ type: 'Any', data: { a: 1 } }])
await log.persistentSubscriptions.create('g', { maxRetryCount: 1 })
// @ts-expect-error
await log.persistentSubscriptions.create('g', { maxRetries: 1 })
`,
  )
  t.equal(compile(directory), '')
})

t.test('the declarations of every published entry point compile without those of better-sqlite3', async (t) => {
  const directory = project(t)
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
  // These are only in the repository (scripts/pack.js).
  const entries = Object.keys(exports).filter((entry) => entry !== './sqlite' && entry !== './test/*')
  const lines = entries.map((entry) => `export * from '@transferd/event-log${entry.slice(1)}'`)
  for (const [i, line] of lines.entries()) writeFileSync(join(directory, `entry-${i}.ts`), line)
  t.ok(entries.length >= 4)
  t.equal(compile(directory), '')
})
