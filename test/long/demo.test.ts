import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

t.test('the demo completes and verifies every callback', async (t) => {
  const demo = fileURLToPath(new URL('../../examples/demo.js', import.meta.url))
  // Rejects if the exit status is not 0.
  const { stdout } = await promisify(execFile)(process.execPath, [demo], { timeout: 60_000 })
  t.match(stdout, 'AMOUNT MISMATCH')
  t.match(stdout, 'confirms the new device')
  t.match(stdout, '6 callbacks, each verified')
})
