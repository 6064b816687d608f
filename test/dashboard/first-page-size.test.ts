import { readFileSync, statSync } from 'node:fs'
import t from 'tap'

const built = 'dist/web/dashboard'

interface Chunk {
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

t.test('the first page has at most 250 kB of JavaScript, gzipped, in both languages', async (t) => {
  for (const language of ['en', 'tr']) {
    const entries = ['index.html', 'src/pages/overview/OverviewPage.tsx', `src/app/texts-${language}.ts`]
    const scripts = [...filesOf(entries)].filter((file) => file.endsWith('.js'))
    const sizes = scripts.map((file) => statSync(`${built}/${file}.gz`).size)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    t.ok(total > 100_000, 'the build contains the files')
    t.ok(total <= 250_000, `${total} bytes`)
    t.comment(`${total} bytes in ${scripts.length} files`)
  }
})

t.test('style sheets load nothing from other servers', async (t) => {
  const sheets = Object.values(manifest).flatMap(({ file, css = [] }) =>
    [file, ...css].filter((each) => each.endsWith('.css')),
  )
  t.ok(sheets.length > 0)
  for (const sheet of sheets) {
    const css = readFileSync(`${built}/${sheet}`, 'utf8')
    t.notMatch(css, /@import/, sheet)
    for (const [, address] of css.matchAll(/url\(([^)]*)\)/g)) t.match(address, /^\.\/inter-[\w-]+\.woff2$/, sheet)
  }
})
