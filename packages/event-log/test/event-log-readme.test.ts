import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { tempDirectory } from './support/temp-directory.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

t.test('the snippet of the README runs and prints the expected lines', async (t) => {
  const code = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1]
  if (!code) throw new Error('the README has no snippet')
  const directory = tempDirectory(t)
  mkdirSync(join(directory, 'node_modules', '@transferd'), { recursive: true })
  symlinkSync(root, join(directory, 'node_modules', '@transferd', 'event-log'))
  writeFileSync(join(directory, 'start.mjs'), code)
  const printed = execFileSync(process.execPath, ['start.mjs'], { cwd: directory, encoding: 'utf8', timeout: 60_000 })
  t.same(printed.trim().split('\n'), [
    'the last event is 2',
    "[ 'OrderPlaced', 'OrderPaid', 'OrderShipped' ]",
    'OrderShipped has revision 2',
    '3 events up to 3',
    'received 3 events up to 3',
    'mail about OrderPlaced',
    'mail about OrderPaid',
    'mail about OrderShipped',
  ])
})
