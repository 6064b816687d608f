import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { loadedFiles } from '../support/loaded-files.js'
import { cliJson, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'

const bundle = dirname(program)

const bundled = JSON.parse(readFileSync('dist/bundle.json', 'utf8')) as {
  readonly [file: string]: { readonly modules: readonly string[] }
}

/** Returns the modules in a file of the bundle. */
function modulesOf(file: string): readonly string[] {
  return bundled[relative(bundle, file)]?.modules ?? []
}

async function loadedBy(directory: string, ...args: string[]) {
  const files = (await loadedFiles(directory, program, ...args)).map((url) => new URL(url).pathname)
  return { files, modules: [...new Set(files.filter((file) => file.startsWith(bundle)).flatMap(modulesOf))] }
}

// Every loaded file costs about half a millisecond per call. One careless import once made --help load 300 modules.
t.test('a command loads only the modules that it uses', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1']
  const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
  const help = await loadedBy(directory, '--help')
  // The texts of rules are seven small modules in one file.
  t.ok(help.modules.length > 20 && help.modules.length < 84, `${help.modules.length} modules`)
  t.ok(help.files.length < 40, `${help.files.length} files`)
  t.notMatch([...help.files, ...help.modules].join(), /better-sqlite3|typebox|event-codec/)
  const completion = await loadedBy(directory, 'completion', 'bash')
  t.notMatch([...completion.files, ...completion.modules].join(), /better-sqlite3|typebox|event-codec/)
  const show = await loadedBy(directory, 'merchants', 'show', id)
  t.ok(show.modules.length < 224, `${show.modules.length} modules`)
  t.ok(show.files.length < 83, `${show.files.length} files`)
  t.match(show.modules.join(), /typebox/)
  t.notMatch(
    [...show.files, ...show.modules].join(),
    /fastify|mongodb|db-client|grpc|undici|pino|read-models\/embedded|log-writer/,
  )
})

const files = readdirSync(bundle, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))

t.test('the bundle contains the file of every thread', async (t) => {
  const threads = files.flatMap((name) =>
    [...readFileSync(join(bundle, name), 'utf8').matchAll(/new URL\(["`](\.[^"`$]+)["`],import\.meta\.url\)/g)].map(
      ([, file = '']) => file,
    ),
  )
  t.ok(threads.length >= 4, threads.join())
  for (const thread of new Set(threads)) t.ok(files.includes(thread.replace('./', '')), thread)
})

t.test('the bundle contains each module once, for all threads', async (t) => {
  const modules = Object.values(bundled).flatMap(({ modules }) => modules)
  const repeated = modules.filter((module, index) => modules.indexOf(module) !== index)
  // These two small packages belong to the program and to a library.
  t.same([...new Set(repeated.map((module) => /node_modules\/([^/]+)/.exec(module)?.[1]))].sort(), [
    'fastify-plugin',
    'rfdc',
  ])
  t.ok(modules.some((module) => module.includes('@opentelemetry/sdk-trace-base')))
})

t.test('the bundle includes the licence of every bundled package', async (t) => {
  const packages = new Set(
    files
      .flatMap((name) => modulesOf(join(bundle, name)))
      .flatMap((module) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? []),
  )
  t.ok(packages.size > 50, `${packages.size} packages`)
  const licences = readFileSync('dist/THIRD-PARTY.txt', 'utf8')
  for (const name of [...packages, '@sinclair/typebox', 'react', 'swagger-ui']) {
    t.ok(new RegExp(`^${name} \\d\\S* \\(.+\\)$`, 'm').test(licences), name)
  }
  t.match(licences, /^llhttp \(MIT\)[\s\S]*?^Copyright Fedor Indutny, 2018\.$/m, 'the parser in undici')
})
