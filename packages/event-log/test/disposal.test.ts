import t from 'tap'
import { openEventLog } from '../src/event-log.js'
import { tempDirectory } from './support/temp-directory.js'

t.test('`await using` closes the log and a consumer', async (t) => {
  const directory = tempDirectory(t)
  let outer: Awaited<ReturnType<typeof openEventLog>>
  {
    await using log = await openEventLog({ directory })
    outer = log
    await log.append('a', 'no_stream', [{ type: 'T', data: {} }])
    const groups = log.persistentSubscriptions
    await groups.create('g')
    {
      await using consumer = await groups.consume('g', { bufferSize: 1, signal: new AbortController().signal })
      for await (const { ackId } of consumer) {
        await consumer.ack(ackId)
        break
      }
    }
    t.equal((await groups.info('g')).consumers, 0)
    await using waiting = await groups.consume('g', { bufferSize: 1, signal: new AbortController().signal })
    t.equal((await groups.info('g')).consumers, 1)
    t.ok(waiting)
  }
  await t.rejects(outer.append('a', 'any', [{ type: 'T', data: {} }]), { name: 'StoreUnavailableError' })
})
