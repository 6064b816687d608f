import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import {
  EventStoreDBClient,
  jsonEvent,
  persistentSubscriptionToAllSettingsFromDefaults,
  START,
} from '@eventstore/db-client'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { StreamStore } from '@transferd/event-log/streams'
import { until } from '@transferd/event-log/test/support/group-scene'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { persistent, shared, streams } from '../src/wire/generated-protocol.js'
import { ServerUnderTest } from './conformance/server-under-test.js'

const long = process.env.TEST_LONG === '1'
/** In the short form, five readers without a limit would still exceed what is allowed. */
const logMegabytes = long ? 200 : 60
const eventBytes = 100_000
const empty = () => new shared.Empty()

/** Fills a log with this many megabytes. */
async function fill(directory: string): Promise<void> {
  const store = StreamStore.open(directory)
  const data = Buffer.alloc(eventBytes, 'x')
  const metadata = new Uint8Array(0)
  for (let left = logMegabytes; left > 0; left -= 20) {
    const appends = Array.from({ length: 20 }, (_, i) => {
      const events = Array.from({ length: 10 }, () => ({ id: randomUUID(), type: 'T', isJson: false, data, metadata }))
      return store.append(`s${i}`, 'any', events)
    })
    await Promise.all(appends)
  }
  await store.close()
}

function residentMegabytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

/** Waits until the memory no longer grows, and returns its maximum. */
async function settledMegabytes(pid: number): Promise<number> {
  let maximum = 0
  let grownAtMs = Date.now()
  await until(async () => {
    const current = residentMegabytes(pid)
    if (current > maximum + 4) grownAtMs = Date.now()
    maximum = Math.max(maximum, current)
    await new Promise((resolve) => setTimeout(resolve, 100))
    return Date.now() - grownAtMs > 3_000
  }, 60_000)
  return maximum
}

function subscriptionRequest(): Buffer {
  const { Options } = streams.ReadReq
  const options = new Options().setAll(new Options.AllOptions().setStart(empty())).setNoFilter(empty())
  options.setSubscription(new Options.SubscriptionOptions()).setUuidOption(new Options.UUIDOption().setString(empty()))
  return Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary())
}

function consumerRequest(group: string): Buffer {
  const options = new persistent.ReadReq.Options().setAll(empty()).setGroupName(group).setBufferSize(1_000_000)
  options.setUuidOption(new persistent.ReadReq.Options.UUIDOption().setString(empty()))
  return Buffer.from(new persistent.ReadReq().setOptions(options).serializeBinary())
}

const skip = existsSync('/proc/self/status') ? false : 'reading the memory of a process requires /proc'

t.test('limits the memory for clients that do not read', { skip }, async (t) => {
  const directory = tempDirectory(t)
  await fill(directory)
  const server = new ServerUnderTest(['--data', directory])
  await server.start()
  const { port, pid } = server
  const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false`)
  const settings = persistentSubscriptionToAllSettingsFromDefaults({
    startFrom: START,
    historyBufferSize: 1_000_000,
    liveBufferSize: 1_000_000,
    readBatchSize: 999_999,
  })
  for await (const _ of client.readAll({ maxCount: 20 }));
  const initial = residentMegabytes(pid)

  const pass = (bytes: Buffer) => bytes
  const path = '/event_store.client.streams.Streams/Read'
  const connect = () =>
    new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })
  const lazy = Array.from({ length: 5 }, connect)
  const calls = lazy.map((raw) => raw.makeServerStreamRequest(path, pass, pass, subscriptionRequest(), new Metadata()))
  for (const call of calls) call.on('error', () => {})
  const withReaders = await settledMegabytes(pid)
  t.comment(
    `${initial.toFixed(0)} MB initially, ${withReaders.toFixed(0)} MB with five clients that do not read ${logMegabytes} MB`,
  )
  t.ok(withReaders - initial < 200, `${(withReaders - initial).toFixed(0)} MB more for five subscriptions`)

  const consumers: { cancel(): void }[] = []
  // A log that is smaller than the limit could not exceed it.
  if (long) {
    await client.createPersistentSubscriptionToAll('g', settings)
    for (const raw of lazy.slice(0, 2)) {
      const call = raw.makeBidiStreamRequest(
        '/event_store.client.persistent_subscriptions.PersistentSubscriptions/Read',
        pass,
        pass,
      )
      call.on('error', () => {})
      call.write(consumerRequest('g'))
      consumers.push(call)
    }
    const withConsumers = await settledMegabytes(pid)
    t.comment(`${withConsumers.toFixed(0)} MB with two consumers that acknowledge nothing`)
    t.ok(withConsumers - withReaders < 250, `${(withConsumers - withReaders).toFixed(0)} MB more for a group`)
  }

  t.ok((await client.appendToStream('other', jsonEvent({ type: 'T', data: {} }))).success, 'other clients are served')
  for (const call of [...calls, ...consumers]) call.cancel()
  for (const raw of lazy) raw.close()
  await client.dispose()
  t.equal(server.stop(), undefined, 'the server did not crash')
})
