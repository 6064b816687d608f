import { readFileSync, statSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import t from 'tap'

const built = 'dist/web/dashboard'

interface Chunk {
  readonly name?: string
  readonly file: string
  readonly imports?: readonly string[]
  readonly css?: readonly string[]
}

const manifest = JSON.parse(readFileSync(`${built}/.vite/manifest.json`, 'utf8')) as Readonly<Record<string, Chunk>>

/** Returns the files that a browser loads to show these entries. */
function filesOf(entries: readonly string[], seen = new Set<string>()): Set<string> {
  for (const entry of entries) {
    const chunk = manifest[entry]
    if (!chunk) throw new Error(`the build has no ${entry}`)
    if (seen.has(chunk.file)) continue
    seen.add(chunk.file)
    for (const file of chunk.css ?? []) seen.add(file)
    filesOf(chunk.imports ?? [], seen)
  }
  return seen
}

/** Returns the size in bytes of the scripts that a browser loads to show these entries. */
function scriptBytes(entries: readonly string[]): number {
  const scripts = [...filesOf(entries)].filter((file) => file.endsWith('.js'))
  return scripts.reduce((sum, file) => sum + statSync(`${built}/${file}.br`).size, 0)
}

/** Returns the entry of the chunk with this name. */
function named(name: string): string {
  const [entry] = Object.entries(manifest).find(([, chunk]) => chunk.name === name) ?? []
  if (entry === undefined) throw new Error(`the build has no chunk ${name}`)
  return entry
}

const application = [named('first'), named('main')]

t.test('the first page has at most 140 kB of JavaScript in brotli, in both languages', async (t) => {
  for (const language of ['en', 'tr']) {
    const bytes = scriptBytes([
      ...application,
      'src/pages/overview/OverviewPage.tsx',
      named(`_texts_${language}-first`),
    ])
    t.ok(bytes > 100_000, 'the build contains the files')
    t.ok(bytes <= 140_000, `${bytes} bytes`)
    t.comment(`${language}: ${bytes} bytes`)
  }
})

t.test('every page has at most 250 kB of JavaScript in brotli', async (t) => {
  const pages = Object.keys(manifest).filter((name) => /^src\/pages\/.*Page\.tsx$/.test(name))
  t.ok(pages.length > 10)
  for (const page of pages) {
    const bytes = scriptBytes([...application, page, named('_texts_tr-first'), named('_texts_tr-others')])
    t.ok(bytes <= 250_000, `${page}: ${bytes} bytes`)
  }
})

t.test('the script that requests the others contains none of them', async (t) => {
  t.ok(scriptBytes([named('first')]) < 5_000)
})

t.test('style sheets load nothing from other servers', async (t) => {
  const sheets = Object.values(manifest).flatMap(({ file, css = [] }) =>
    [file, ...css].filter((each) => each.endsWith('.css')),
  )
  t.ok(sheets.length > 0)
  for (const sheet of sheets) {
    const css = brotliDecompressSync(readFileSync(`${built}/${sheet}.br`)).toString()
    t.notMatch(css, /@import/, sheet)
    for (const [, address] of css.matchAll(/url\(([^)]*)\)/g)) t.match(address, /^\.\/inter-[\w-]+\.woff2$/, sheet)
  }
})
