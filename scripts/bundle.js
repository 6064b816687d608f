// npm run bundle: bundles the program and its threads with their imports into dist/bin, the files that are installed and run. Finding
// and reading 1,100 small files took half of a start's time (docs/decisions/0034-bundle-and-start.md).
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
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { dictionary } from '@zxcvbn-ts/language-common'
import { build } from 'esbuild'
import { minify } from 'vite'
import { external, importedPackages, licencesOf } from './third-party.js'

const folder = 'dist/bin'
const licences = 'dist/THIRD-PARTY.txt'
// The file of a thread is next to the file that starts it with `new URL('./<name>.js', import.meta.url)`, compiled and bundled.
const entryPoints = {
  transferd: 'dist/src/cli/main.js',
  callbacks: 'dist/src/main/callbacks.js',
  'file-checker': 'dist/src/operations/files/file-checker.js',
  'log-verifier': 'dist/src/operations/audit/log-verifier.js',
  'key-writer': 'dist/src/privacy/embedded/key-writer.js',
  'log-writer': 'packages/event-log/dist/src/writer/log-writer.js',
  projections: 'dist/src/main/projections.js',
  reader: 'dist/src/main/reader.js',
  'wal-checkpointer': 'packages/event-log/dist/src/writer/wal-checkpointer.js',
}
// Packages that are loaded on their first use, or that several threads load, are in separate files.
const shared =
  /^(mongodb|@eventstore\/db-client|@grpc\/grpc-js|google-protobuf|undici|nodemailer|prom-client|@opentelemetry\/[\w-]+|@fastify\/swagger|age-encryption)(\/|$)/
const sharedFolder = 'libraries'
const sharedImports = new Set()
/** Makes the code import each shared package from its own file. */
const importShared = {
  name: 'import shared packages',
  setup({ onResolve }) {
    onResolve({ filter: shared }, ({ path, importer }) => {
      if (importer.includes('node_modules')) return undefined
      sharedImports.add(path)
      return { path: `./${sharedFolder}/${fileOf(path)}.js`, external: true }
    })
  },
}
// esbuild exports only the default of a CommonJS package to a dynamic import and from an entry point, and Node provides all names.
// This plugin adds the names.
const allExports = {
  name: 'all exports',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /./ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      const isPackage = !path.startsWith('.') || importer.includes('node_modules')
      const isWanted = kind === 'dynamic-import' || (kind === 'entry-point' && !path.startsWith('dist/'))
      if (!isWanted || !isPackage || pluginData === 'resolved') return undefined
      const from = importer === '' ? process.cwd() : resolveDir
      const found = await resolve(path, {
        kind: 'import-statement',
        importer,
        resolveDir: from,
        pluginData: 'resolved',
      })
      if (found.external) return found
      // The end of the path makes esbuild import the default as Node does.
      return { path: `${found.path}.mjs`, namespace: 'all-exports', pluginData: { name: path, from } }
    })
    onLoad({ filter: /./, namespace: 'all-exports' }, async ({ pluginData: { name, from } }) => {
      const loaded = await import(createRequire(join(from, 'x.js')).resolve(name))
      const names = Object.keys(loaded).filter((each) => each !== '__esModule' && each !== 'module.exports')
      return { contents: `export { ${names} } from ${JSON.stringify(name)}`, resolveDir: from }
    })
  },
}
const options = { bundle: true, format: 'esm', metafile: true, logLevel: 'warning', legalComments: 'none' }
const forNode = {
  ...{ ...options, outdir: folder, splitting: true, platform: 'node', target: 'node20', external, write: false },
  minifySyntax: true,
  // CommonJS packages load Node's modules with `require`.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
}

// Bundle TypeBox for tests, which run the unbundled files: its 270 files cost each test 0.15 s of CPU time.
const typebox = { in: 'src/kernel/typebox.ts', out: 'dist/src/kernel/typebox.js' }
const schemas = await build({ ...options, entryPoints: [typebox.in], outfile: typebox.out })

const startedAt = new Date()
const program = await build({ ...forNode, entryPoints, plugins: [importShared, allExports] })
const libraries = await build({
  ...{
    ...forNode,
    // Some libraries read the names of their classes, and esbuild renames classes whose names collide.
    ...{ minifyIdentifiers: true, keepNames: true },
    outdir: join(folder, sharedFolder),
    plugins: [allExports],
  },
  entryPoints: [...sharedImports].map((name) => ({ in: name, out: fileOf(name) })),
})
const bundles = [libraries, program]

mkdirSync(join(folder, sharedFolder), { recursive: true })
const names = new Set()
// Write the entry points last. The names of chunks contain a hash of their content, so a running program finds its chunks until then.
const isChunk = ({ path }) => /-[0-9A-Z]{8}\.js$/.test(path)
const files = bundles.flatMap(({ outputFiles }) => outputFiles)
for (const { path, contents } of files.sort((a, b) => isChunk(b) - isChunk(a))) {
  const name = relative(folder, path)
  names.add(name)
  if (!isChunk({ path }) || !existsSync(path)) replace(path, await shorten(name, contents))
}
// In brotli, the list has less than half the size of the package, which compresses it in its own way. Each line starts with the number of
// characters that it shares with the previous one.
mkdirSync('dist/data', { recursive: true })
const passwords = [...new Set(dictionary['passwords-common'].map((each) => each.toLowerCase()))].sort()
replace('dist/data/common-passwords.br', brotliCompressSync(passwords.map(withoutShared).join('\n')))
// Commands name events and fields as the dashboard does, in English.
const textsOf = (area, language = 'en') =>
  JSON.parse(readFileSync(`web/dashboard/texts/${area}.${language}.json`, 'utf8'))
replace('dist/data/names.json', JSON.stringify({ events: textsOf('events'), fields: textsOf('fields') }))
// The files of an evidence package that are the same in all packages.
const evidence = 'src/audit/evidence'
const reportOf = (language) => {
  const own = JSON.parse(readFileSync(`${evidence}/report.${language}.json`, 'utf8'))
  const [events, fields] = ['events', 'fields'].map((area) => textsOf(area, language))
  return { events, ...own, fields: { ...fields, ...own.fields } }
}
const reportTexts = {
  css: readFileSync(`${evidence}/report.css`, 'utf8'),
  rules: JSON.parse(readFileSync(`${evidence}/report-rules.json`, 'utf8')),
  ...{ en: reportOf('en'), tr: reportOf('tr') },
}
mkdirSync('dist/data/evidence', { recursive: true })
replace('dist/data/evidence/texts.json', `${JSON.stringify(reportTexts)}\n`)
for (const name of ['README.txt', 'verify.go', 'verify.py'])
  replace(`dist/data/evidence/${name}`, readFileSync(join(evidence, name)))
const passwordPackages = ['language-common', 'dictionary-compression'].map((name) => `node_modules/@zxcvbn-ts/${name}`)
// The licences of parts that packages contain without them.
const others = ['web/documentation/swagger-ui.LICENSES.txt', 'scripts/llhttp.LICENSE.txt'].map((file) =>
  readFileSync(file, 'utf8').trim(),
)
replace(licences, licencesOf([...packagesIn([schemas, ...bundles]), ...passwordPackages], others))
// The modules in each file and the packages that it loads, for tests. The package does not contain this list.
const outputs = bundles.flatMap(({ metafile }) => Object.entries(metafile.outputs))
const contents = outputs.map(([path, { inputs, imports }]) => [
  relative(folder, path),
  { modules: Object.keys(inputs), packages: imports.filter(({ external }) => external).map(({ path }) => path) },
])
replace('dist/bundle.json', JSON.stringify(Object.fromEntries(contents)))
for (const name of readdirSync(folder, { recursive: true })) {
  if (name.endsWith('.js') && !names.has(name)) rmSync(join(folder, name), { force: true })
}
// Set the time of the sources, which test/support/program.ts compares.
utimesSync(join(folder, 'transferd.js'), startedAt, startedAt)

/** Returns the name of the file of an import, such as `eventstore-db-client` for `@eventstore/db-client`. */
function fileOf(name) {
  return name.replace(/^@|\.js$/g, '').replaceAll('/', '-')
}

/**
 * Returns the code without spaces and with short names of variables, which makes the package 160 kB smaller. Errors and traces show the names of
 * functions and classes: those of the program stay, and libraries set theirs when they are loaded.
 */
async function shorten(name, contents) {
  // A test finds the packages that the program requires.
  const reserved = ['require', 'require2', 'require3', '__require', '__require2']
  const keepNames = name.startsWith(`${sharedFolder}/`) ? undefined : { function: true, class: true }
  const { code, errors } = await minify(name, Buffer.from(contents).toString(), {
    ...{ module: true, codegen: { removeWhitespace: true, legalComments: 'none' } },
    ...{ compress: { target: 'node20', keepNames }, mangle: { toplevel: true, keepNames, reserved } },
  })
  if (errors.length > 0) throw new Error(`${name}: ${errors[0].message}`)
  return code
}

/** Replaces the start that a password shares with the previous one by its length, in base 36. */
function withoutShared(password, index, all) {
  let length = 0
  while (index > 0 && password[length] === all[index - 1][length]) length++
  return length.toString(36) + password.slice(length)
}

/** Replaces a file atomically, so that no process reads an incomplete one. */
function replace(path, contents) {
  const part = `${path}.${process.pid}`
  writeFileSync(part, contents, { mode: path.endsWith('/transferd.js') ? 0o755 : 0o644 })
  renameSync(part, path)
}

/** Returns the folders of the packages that the bundles and the dashboard contain. */
function packagesIn(builds) {
  const bundled = builds
    .flatMap(({ metafile }) => Object.keys(metafile.inputs))
    .map((input) => input.match(/^[^:]*node_modules\/(@[^/]+\/)?[^/]+/)?.[0])
  return [...new Set([...bundled, ...importedPackages('web/dashboard/src')])].filter(Boolean)
}
