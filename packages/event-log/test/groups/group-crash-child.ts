import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import { openEventLog } from '../../src/event-log.js'
import { GroupScene, type TestConsumer } from '../support/group-scene.js'

/** Appends events and handles deliveries in every possible way until it is killed. Prints the events that it finished. */
const [directory, prefix, put] = process.argv.slice(2) as [string, string, string]
const store = await openEventLog({ directory })
const scene = new GroupScene(store, prefix)

function finished(id: string): void {
  writeSync(1, `${id}\n`) // Print before the ack: every printed event was handled, even if the process is killed now.
}

async function handle({ event, ackId }: TestConsumer['deliveries'][number], { consumer }: TestConsumer): Promise<void> {
  const choice = Math.random()
  if (choice < 0.5) {
    finished(event.id)
    await consumer.ack(ackId)
  } else if (choice < 0.6) {
    finished(event.id)
    await consumer.nack('skip', '', ackId)
  } else if (choice < 0.75) {
    await consumer.nack('park', 'chosen', ackId)
  } else if (choice < 0.9) {
    await consumer.nack('retry', '', ackId)
  }
  if (Math.random() < 0.02) await scene.replay()
}

const clients: TestConsumer[] = []
setInterval(async () => {
  clients.push(await scene.consume(20, handle))
  if (clients.length > 3) await clients.shift()?.consumer.close()
}, 150)

for (let i = 0; i < Number(put); i += 1) {
  const events = [0, 1, 2].map((n) => ({ id: randomUUID(), type: 'T', data: { n }, metadata: {} }))
  await store.append(`${prefix}${randomUUID()}`, 'no_stream', events)
}
