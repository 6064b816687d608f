import { readdirSync, readFileSync, statSync } from 'node:fs'
import t from 'tap'

const page = readFileSync('docs/engines.md', 'utf8')

function linesOf(path: string): number {
  const files = statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${path}/${file}`)
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0)
}

t.test('the page states the sizes of these parts within a hundred lines', async (t) => {
  const rows = [...page.matchAll(/^\| \[[^|]+\| `([^`]+)` \| ([\d,]+) \|/gm)]
  t.equal(rows.length, 8)
  for (const [, path = '', size = ''] of rows) {
    const [stated, lines] = [Number(size.replace(',', '')), linesOf(path)]
    t.ok(Math.abs(stated - lines) <= 100, `${path} has ${lines} lines`)
  }
})
