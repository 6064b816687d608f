import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { until } from '../support/until.js'
import { accepts, startReceiver } from './receiver.js'
import { openWorld } from './world.js'

const script = fileURLToPath(new URL('./callback-process.js', import.meta.url))

t.test('sends a callback again with the same id if the process is killed before the report', async (t) => {
  const world = await openWorld(t)
  // The kill comes after the request arrived and before a response.
  const receiver = await startReceiver(t, () => child.kill('SIGKILL'))
  const { id } = await world.merchant(receiver.url)
  const trackingId = await world.completed(id)
  const child = spawn(process.execPath, [script, world.path, world.masterKey.toString('hex')], { stdio: 'inherit' })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  await until(() => receiver.received.length === 1)
  await exited
  t.strictSame(
    (await world.deliveryLog(trackingId)).map(({ type }) => type),
    ['CallbackRecorded'],
  )
  receiver.behave = accepts
  world.start()
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  t.equal(receiver.received.length, 2)
  t.equal(receiver.received[1]!.webhookId, receiver.received[0]!.webhookId)
  t.equal(receiver.received[1]!.text, receiver.received[0]!.text)
})
