import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openEmbeddedEventStore } from '../../src/event-store/embedded/embedded-event-store.js'
import { persistentSubscriptionsContract } from './persistent-subscriptions.contract.js'

const child = fileURLToPath(new URL('./embedded-crash-child.js', import.meta.url))

async function restart(t: Test, sentence: string, prefix: string) {
  const directory = t.testdir()
  const victim = spawn(process.execPath, [child, directory, sentence, prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await Promise.race([
    once(victim.stdout, 'data'),
    once(victim, 'exit').then(() => {
      throw new Error('the process ended before it could be killed')
    }),
  ])
  const ended = once(victim, 'exit')
  victim.kill('SIGKILL')
  await ended
  return openEmbeddedEventStore({ directory })
}

persistentSubscriptionsContract(t, {
  name: 'embedded',
  open: (t) => openEmbeddedEventStore({ directory: t.testdir() }),
  losesNothing: true,
  restart,
})
