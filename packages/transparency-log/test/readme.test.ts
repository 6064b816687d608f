import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

t.test('the example of the README proves inclusion and consistency', async (t) => {
  const readme = readFileSync('packages/transparency-log/README.md', 'utf8')
  const [, example = ''] = /^```js\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const directory = mkdtempSync(join(tmpdir(), 'transparency-log-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const entry = pathToFileURL('packages/transparency-log/dist/src/transparency-log.js').href
  writeFileSync(join(directory, 'example.mjs'), example.replace('@transferd/transparency-log', entry))
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const printed = execFileSync(process.execPath, ['example.mjs'], { cwd: directory, env, encoding: 'utf8' })
  t.equal(printed, 'order 2 is included: true\nthe log is append-only: true\n')
})
