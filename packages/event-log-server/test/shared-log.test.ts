import { randomUUID } from 'node:crypto'
import { ANY, BACKWARDS, binaryEvent, END, jsonEvent } from '@eventstore/db-client'
import { openEventLog, StreamDeletedError } from '@transferd/event-log'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { serve } from './support/server-fixture.js'

async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}

t.test('the service and clients of the protocol share a log', async (t) => {
  const directory = tempDirectory(t)
  const service = await openEventLog({ directory })
  const { client, stop } = await serve({ directory })
  const own = { id: randomUUID(), type: 'Own', data: { amount: '1.00', ß: '"\\,}' }, metadata: { actor: 'x' } }
  await service.append('transfer-1', 'no_stream', [own])
  const live = client.subscribeToStream('transfer-1')
  const seen: unknown[] = []
  live.on('data', ({ event }) => seen.push(event?.type))

  const [read] = await all(client.readStream('transfer-1'))
  t.match(read?.event, { id: own.id, type: 'Own', data: own.data, metadata: own.metadata, revision: 0n, isJson: true })

  const theirs = jsonEvent({ type: 'Theirs', data: { n: 1 }, metadata: { m: 2 } })
  await client.appendToStream('transfer-1', theirs, { expectedRevision: 0n })
  await client.appendToStream('transfer-1', binaryEvent({ type: 'Raw', data: Buffer.from([0, 255]) }))
  const bare = jsonEvent({ type: 'Bare', data: { n: 3 } })
  await client.appendToStream('transfer-1', bare)
  const events = await service.readStream('transfer-1')
  t.strictSame(
    events.map(({ type, revision, data, metadata }) => ({ type, revision, data, metadata })),
    [
      { type: 'Own', revision: 0, data: own.data, metadata: own.metadata },
      { type: 'Theirs', revision: 1, data: { n: 1 }, metadata: { m: 2 } },
      { type: 'Raw', revision: 2, data: {}, metadata: {} },
      { type: 'Bare', revision: 3, data: { n: 3 }, metadata: {} },
    ],
  )
  const repeated = { id: theirs.id, type: 'Theirs', data: { n: 1 }, metadata: { m: 2 } }
  t.equal((await service.append('transfer-1', 0, [repeated])).revision, 1, 'appends are idempotent across both APIs')
  const bareRepeated = { id: bare.id, type: 'Bare', data: { n: 3 }, metadata: {} }
  t.equal(
    (await service.append('transfer-1', 2, [bareRepeated])).revision,
    3,
    'appends are idempotent for every stored format',
  )
  await service.append('transfer-1', 3, [{ ...own, id: randomUUID(), type: 'Last' }])
  await until(() => seen.length === 5)
  t.strictSame(seen, ['Own', 'Theirs', 'Raw', 'Bare', 'Last'], 'the subscription receives the events of both')
  await live.unsubscribe()
  await stop()
  await service.close()
})

t.test('a tombstone written by a client ends the stream for the service too', async (t) => {
  const directory = tempDirectory(t)
  const service = await openEventLog({ directory })
  const { client, stop } = await serve({ directory })
  const event = () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })
  await service.append('a', 'no_stream', [event()])
  await client.tombstoneStream('a')
  await client.tombstoneStream('never')
  await t.rejects(service.append('a', 0, [event()]), StreamDeletedError)
  await t.rejects(service.append('never', 'no_stream', [event()]), StreamDeletedError)
  t.equal((await service.readStream('a')).length, 1)
  await service.append('b', 'no_stream', [event()])
  t.equal((await service.readStream('b')).length, 1, 'other streams are not affected')
  await stop()
  await service.close()
})

t.test('without --writable, clients can read and subscribe but change nothing', async (t) => {
  const directory = tempDirectory(t)
  const service = await openEventLog({ directory })
  const event = { id: randomUUID(), type: 'T', data: {}, metadata: {} }
  await service.append('a', 'no_stream', [event])
  const { client, stop } = await serve({ directory, isWritable: false })
  t.equal((await all(client.readStream('a'))).length, 1)
  const denied = { name: 'Error', type: 'access-denied' }
  await t.rejects(client.appendToStream('a', jsonEvent({ type: 'T', data: {} })), denied)
  await t.rejects(client.deleteStream('a'), denied)
  await t.rejects(client.tombstoneStream('a'), denied)
  await t.rejects(client.listAllPersistentSubscriptions(), denied)
  t.equal((await service.readStream('a')).length, 1)
  await stop()
  await service.close()
})

t.test('recognizes a repeated append without an expected revision after a restart', async (t) => {
  const directory = tempDirectory(t)
  const event = jsonEvent({ type: 'T', data: {} })
  const first = await serve({ directory })
  await first.client.appendToStream('a', [event, jsonEvent({ type: 'T', data: {} })], { expectedRevision: ANY })
  await first.stop()
  const second = await serve({ directory })
  const { nextExpectedRevision } = await second.client.appendToStream('a', event, { expectedRevision: ANY })
  t.equal(nextExpectedRevision, 0n)
  t.equal((await all(second.client.readStream('a', { direction: BACKWARDS, fromRevision: END }))).length, 2)
  await second.stop()
})

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 6_000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10))
}
