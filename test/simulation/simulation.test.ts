import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { long } from '../support/long.js'

const seeds = long ? 3_000 : 300
const program = fileURLToPath(new URL('./simulate.js', import.meta.url))

async function simulate(...options: readonly string[]) {
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const child = spawn(process.execPath, [program, ...options], { stdio: ['ignore', 'pipe', 'ignore'], env })
  const ended = once(child, 'exit')
  const output = await text(child.stdout)
  const [status] = await ended
  return { status, output }
}

t.test(`nothing is broken in ${seeds} worlds`, async (t) => {
  const { status, output } = await simulate('--seeds', String(seeds))
  t.match(output, new RegExp(`^${seeds} seeds, 0 failed: `))
  t.equal(status, 0, output)
})

t.test('a seed gives the same trace, byte for byte, alone and after others', async (t) => {
  const { output } = await simulate('--seeds', '20', '--from', '11', '--jobs', '2', '--traces')
  t.equal(output.match(/^trace \d+ [0-9a-f]{64}$/gm)?.length, 20)
  // A world of services, and one of files.
  for (const seed of ['21', '20']) {
    const alone = await simulate('--seed', seed)
    const [, trace] = /\ntrace ([0-9a-f]{64})\n$/.exec(alone.output) ?? []
    t.match(output, `trace ${seed} ${trace}\n`)
    if (long) t.equal((await simulate('--seed', seed)).output, alone.output)
  }
})
