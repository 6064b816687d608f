// npm run bundle: the program and the threads it starts, with what they import, as the files in dist/bin that are installed and run.
// Finding and reading 1,100 small files was half of what a start cost (docs/decisions/0034-bundle-and-start.md).
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build } from 'esbuild'

const folder = 'dist/bin'
const program = 'transferd'
const licences = 'THIRD-PARTY.txt'
// A thread's file stands beside what starts it, `new URL('./<name>.js', import.meta.url)`: as it is compiled, and as it is bundled.
const entryPoints = {
  [program]: 'dist/src/cli/main.js',
  background: 'dist/src/main/background.js',
  'file-checker': 'dist/src/operations/files/file-checker.js',
  'key-writer': 'dist/src/privacy/embedded/key-writer.js',
  'log-writer': 'packages/event-log/dist/src/writer/log-writer.js',
  'wal-checkpointer': 'packages/event-log/dist/src/writer/wal-checkpointer.js',
}
// Native, or reads files of its own.
const external = ['better-sqlite3', '@node-rs/argon2', '@fastify/swagger-ui']
// esbuild gives a package in CommonJS that is imported while the program runs (`await import('undici')`) a default export alone; Node, all
// its names.
const allExports = {
  name: 'all exports',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /./ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      const isPackage = !path.startsWith('.') || importer.includes('node_modules')
      if (kind !== 'dynamic-import' || !isPackage || pluginData === 'resolved') return undefined
      const found = await resolve(path, { kind, importer, resolveDir, pluginData: 'resolved' })
      return found.external ? found : { path: found.path, namespace: 'all-exports' }
    })
    onLoad({ filter: /./, namespace: 'all-exports' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== '__esModule' && name !== 'module.exports')
      return { contents: `export { ${names} } from ${JSON.stringify(path)}`, resolveDir: dirname(path) }
    })
  },
}
const options = {
  ...{ bundle: true, format: 'esm', metafile: true, logLevel: 'warning', legalComments: 'none' },
  plugins: [allExports],
}

// For tests, which mostly run what is not bundled: TypeBox as 270 files cost each of them 0.15 s of CPU.
const typebox = { in: 'src/kernel/typebox.ts', out: 'dist/src/kernel/typebox.js' }
const schemas = await build({ ...options, entryPoints: [typebox.in], outfile: typebox.out })

const begunAt = new Date()
// Each by itself: nothing is shared by threads, and what all of them share would be a hundred chunks in place of a few.
const bundles = await Promise.all(Object.entries(entryPoints).map(([name, file]) => bundled({ [name]: file })))

mkdirSync(folder, { recursive: true })
const names = new Set([licences])
// Chunks have a hash of their content in the name, so what runs keeps what it may still load until the entries are new; these come last.
const isEntry = ({ path }) => basename(path, '.js') in entryPoints
const files = bundles.flatMap(({ outputFiles }) => outputFiles)
for (const { path, contents } of files.sort((a, b) => isEntry(a) - isEntry(b))) {
  names.add(basename(path))
  if (isEntry({ path }) || !existsSync(path)) replace(path, contents)
}
replace(join(folder, licences), licencesOf([schemas, ...bundles]))
for (const name of readdirSync(folder)) {
  if (name.endsWith('.js') && !names.has(name)) rmSync(join(folder, name), { force: true })
}
// As old as what it is made of: test/support/program.ts compares.
utimesSync(join(folder, `${program}.js`), begunAt, begunAt)

function bundled(entryPoints) {
  return build({
    ...options,
    entryPoints,
    outdir: folder,
    splitting: true,
    platform: 'node',
    target: 'node20',
    external,
    // For packages in CommonJS, which require what Node brings.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    write: false,
  })
}

/** At once, so that nobody reads half of it. */
function replace(path, contents) {
  const part = `${path}.${process.pid}`
  writeFileSync(part, contents, { mode: path.endsWith(`/${program}.js`) ? 0o755 : 0o644 })
  renameSync(part, path)
}

/** Name, version and licence of each package of which something is in the bundle. */
function licencesOf(builds) {
  const folders = builds
    .flatMap(({ metafile }) => Object.keys(metafile.inputs))
    .map((input) => input.match(/^[^:]*node_modules\/(@[^/]+\/)?[^/]+/)?.[0])
  const texts = [...new Set(folders)].filter(Boolean).map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const files = readdirSync(path).filter((file) => /^(licen[cs]e|notice)/i.test(file))
    return [`${name} ${version} (${license})`, ...files.map((file) => readFileSync(join(path, file), 'utf8').trim())]
  })
  return `${texts
    .map((text) => text.join('\n\n'))
    .sort()
    .join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
