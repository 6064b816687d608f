import { openEventLog } from '../../src/event-log.js'
import { GroupScene, numberOf } from '../support/group-scene.js'

/** Consumes the group of a scene until it is killed. It acknowledges even numbers. */
const [directory, prefix] = process.argv.slice(2) as [string, string]
const scene = new GroupScene(await openEventLog({ directory }), prefix)
await scene.consume(10, async (delivery, client) => {
  process.stdout.write(`got ${numberOf(delivery)}\n`)
  if (numberOf(delivery) % 2 === 0) await client.consumer.ack(delivery.ackId)
})
process.stdout.write('consuming\n')
