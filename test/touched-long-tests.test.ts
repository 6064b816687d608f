import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))
const script = join(root, 'scripts/touched-long-tests.js')

const testsOf = (...changed: string[]) =>
  execFileSync(process.execPath, [script], { encoding: 'utf8', input: changed.join('\n') })
    .split('\n')
    .filter(Boolean)

const packageTests = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/test`)
const tests = ['test', ...packageTests.filter((folder) => existsSync(join(root, folder)))].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `${folder.replace('test', 'dist/test')}/${file}`),
)
const [, table] = /const table = \{(.*?)\n\}/s.exec(readFileSync(script, 'utf8'))!
const folders = [...table!.matchAll(/^ {2}'(.+?)':/gm)].map(([, folder]) => folder!)

const words = testsOf(...folders.map((folder) => (folder.endsWith('/') ? `${folder}x` : folder)))

t.test('the table names folders and tests that exist', async (t) => {
  t.ok(folders.length > 30)
  for (const folder of folders) t.ok(existsSync(join(root, folder)), folder)
  const isFound = (word: string) => tests.some((test) => test.includes(word))
  t.same(
    words.filter((word) => !isFound(word)),
    [],
  )
})

t.test('every test of test/long and test/crash belongs to a folder', async (t) => {
  const slow = tests.filter((test) => /^dist\/test\/(long|crash)\//.test(test))
  t.ok(slow.length > 30)
  t.same(
    slow.filter((test) => !words.some((word) => test.includes(word))),
    [],
  )
})

t.test('selects the tests of the changed folders, and changed tests', async (t) => {
  t.same(testsOf('src/operations/backup/restore.ts', 'docs/operating/backup.md'), [
    'long/backup',
    'long/backup-kills',
    'operations/backup',
  ])
  t.same(testsOf('test/long/dashboard/list-pages.test.ts'), ['long/dashboard/list-pages.test'])
  t.same(testsOf('test/domain/transfer.test.ts', 'LICENSE'), [])
  t.same(testsOf(), [])
})
