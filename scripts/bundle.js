// npm run bundle: bundles the program and its threads with their imports into dist/bin, the files that are installed and run. Finding
// and reading 1,100 small files took half of a start's time (docs/decisions/0034-bundle-and-start.md).
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build } from 'esbuild'
import { external, importedPackages, licencesOf } from './third-party.js'

const folder = 'dist/bin'
const program = 'transferd'
const licences = 'THIRD-PARTY.txt'
// The file of a thread is next to the file that starts it with `new URL('./<name>.js', import.meta.url)`, compiled and bundled.
const entryPoints = {
  [program]: 'dist/src/cli/main.js',
  background: 'dist/src/main/background.js',
  'file-checker': 'dist/src/operations/files/file-checker.js',
  'log-verifier': 'dist/src/operations/audit/log-verifier.js',
  'key-writer': 'dist/src/privacy/embedded/key-writer.js',
  'log-writer': 'packages/event-log/dist/src/writer/log-writer.js',
  reader: 'dist/src/main/reader.js',
  'wal-checkpointer': 'packages/event-log/dist/src/writer/wal-checkpointer.js',
}
// For a dynamic import of a CommonJS package (`await import('undici')`), esbuild creates only a default export, but
// Node provides all names. This plugin adds the names.
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

// Bundle TypeBox for tests, which run the unbundled files: its 270 files cost each test 0.15 s of CPU time.
const typebox = { in: 'src/kernel/typebox.ts', out: 'dist/src/kernel/typebox.js' }
const schemas = await build({ ...options, entryPoints: [typebox.in], outfile: typebox.out })

const startedAt = new Date()
// Bundle each entry point separately: threads share no memory, and shared code would create a hundred chunks instead of a few.
const bundles = await Promise.all(Object.entries(entryPoints).map(([name, file]) => bundle({ [name]: file })))

mkdirSync(folder, { recursive: true })
const names = new Set([licences])
// Write the entry points last. The names of chunks contain a hash of their content, so a running program finds its chunks until then.
const isEntry = ({ path }) => basename(path, '.js') in entryPoints
const files = bundles.flatMap(({ outputFiles }) => outputFiles)
for (const { path, contents } of files.sort((a, b) => isEntry(a) - isEntry(b))) {
  names.add(basename(path))
  if (isEntry({ path }) || !existsSync(path)) replace(path, contents)
}
replace(join(folder, licences), licencesOf(packagesIn([schemas, ...bundles])))
for (const name of readdirSync(folder)) {
  if (name.endsWith('.js') && !names.has(name)) rmSync(join(folder, name), { force: true })
}
// Set the time of the sources, which test/support/program.ts compares.
utimesSync(join(folder, `${program}.js`), startedAt, startedAt)

function bundle(entryPoints) {
  return build({
    ...options,
    entryPoints,
    outdir: folder,
    splitting: true,
    platform: 'node',
    target: 'node20',
    external,
    // CommonJS packages load Node's modules with `require`.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    write: false,
  })
}

/** Replaces a file atomically, so that no process reads an incomplete one. */
function replace(path, contents) {
  const part = `${path}.${process.pid}`
  writeFileSync(part, contents, { mode: path.endsWith(`/${program}.js`) ? 0o755 : 0o644 })
  renameSync(part, path)
}

/** Returns the folders of the packages that the bundles and the dashboard contain. */
function packagesIn(builds) {
  const bundled = builds
    .flatMap(({ metafile }) => Object.keys(metafile.inputs))
    .map((input) => input.match(/^[^:]*node_modules\/(@[^/]+\/)?[^/]+/)?.[0])
  return [...new Set([...bundled, ...importedPackages('web/dashboard/src')])].filter(Boolean)
}
