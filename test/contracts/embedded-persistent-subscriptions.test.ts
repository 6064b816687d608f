import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEventLog } from '@transferd/event-log'
import t, { type Test } from 'tap'
import { persistentSubscriptionsContract } from './persistent-subscriptions.contract.js'

const child = fileURLToPath(new URL('./embedded-crash-child.js', import.meta.url))

async function crash(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'groups-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const killed = spawn(process.execPath, [child, directory], { stdio: ['ignore', 'pipe', 'inherit'], env })
  await Promise.race([
    once(killed.stdout, 'data'),
    once(killed, 'exit').then(() => {
      throw new Error('the process ended before it could be killed')
    }),
  ])
  const ended = once(killed, 'exit')
  killed.kill('SIGKILL')
  await ended
  return openEventLog({ directory })
}

async function open(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'groups-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return openEventLog({ directory })
}

persistentSubscriptionsContract(t, { name: 'embedded', open, losesNothing: true, crash })
