import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { invariants } from './violation.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = join(root, 'test/simulation/planted-bugs')

const patches = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
const expected = patches.map(({ text }) => /^Invariant: (.+)$/m.exec(text)?.[1]?.split(', ') ?? [])

t.test('the planted bugs cover every invariant, and no other', async (t) => {
  t.ok(patches.length >= 30)
  t.same([...new Set(expected.flat())].sort(), [...invariants].sort())
  for (const invariant of invariants)
    t.ok(
      expected.some(([first]) => first === invariant),
      `${invariant} is what a bug breaks first`,
    )
})

t.test('every planted bug is small and in the product', async (t) => {
  for (const { name, text } of patches) {
    const files = [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, file]) => file!)
    const added = text.match(/^\+(?!\+\+ )/gm)?.length ?? 0
    const removed = text.match(/^-(?!-- )/gm)?.length ?? 0
    t.ok(files.length > 0 && files.every((file) => /^(src|packages\/[^/]+\/src)\//.test(file)), name)
    t.ok(Math.max(added, removed) <= 5, `${name}: ${added} lines are added and ${removed} removed`)
  }
})

t.test('every planted bug applies to this tree', async (t) => {
  const script = join(root, 'scripts/planted-bugs.js')
  const { status, stderr } = spawnSync(process.execPath, [script, '--applies'], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
})
