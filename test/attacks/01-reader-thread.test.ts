import { pino } from 'pino'
import t from 'tap'
import { ReaderThread } from '../../src/main/reader-thread.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { Readers } from '../../src/readers/readers.js'
import { temporaryDirectory } from '../support/processes.js'

const by = { key: 'user:1', rows: { perSecond: 1_000, burst: 1_000 } }
const range = {
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-11-02T00:00:00.000Z',
  timeZone: 'UTC',
  now: '2100-01-01T00:00:00.000Z',
}
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

/** Opens stores as a service does, and counts the threads that are started on them. */
async function thread(t: { teardown(work: () => unknown): unknown }, broken = () => false) {
  const directory = temporaryDirectory(t)
  const url = `embedded:${directory}`
  const configuration = readConfiguration({ EVENT_STORE_URL: url, READ_MODEL_URL: url, LOG_LEVEL: 'silent' })
  const stores = await openStores(configuration)
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  let started = 0
  const reader = new ReaderThread({
    logger,
    data: () => {
      started++
      const eventStore = stores.shareEventStore()
      // The key has the wrong length, so the thread fails at its start.
      const keyRing = broken() ? { current: Buffer.alloc(3) } : stores.keyRing
      return {
        data: { configuration, installationName: 'pay.example', keyRing, eventStore },
        transfer: eventStore ? [eventStore.port] : [],
      }
    },
  })
  const readers = new Readers(
    () => reader.start(),
    () => performance.now(),
  )
  t.teardown(async () => {
    readers.close()
    await reader.stop()
    await stores.close()
  })
  return { stores, readers, lines, started: () => started }
}

t.test('starts with the first read, serves all reads, and reads what was appended before the request', async (t) => {
  const { stores, readers, started } = await thread(t)
  t.equal(started(), 0)
  t.same(await readers.page(by, 'statement', range), [])
  const merchant = { of: 'merchant', id: '00000000-0000-4000-8000-000000000001' } as const
  t.equal(await readers.page(by, 'state', merchant), undefined)
  await stores.eventStore.append('user-1', 'no_stream', [
    {
      id: '00000000-0000-4000-8000-000000000002',
      type: 'Unknown',
      data: {},
      metadata: { ...context, schemaVersion: 1 },
    },
  ])
  const { items } = await readers.page(by, 'actions', { limit: 10, maxLookedAt: 100 })
  t.match(items.at(-1), { stream: 'user-1', revision: 0 })
  t.equal(started(), 1)
})

t.test('a thread that fails rejects its reads, and the next read starts another one', async (t) => {
  let isBroken = true
  const { readers, lines, started } = await thread(t, () => isBroken)
  const read = () => readers.page(by, 'statement', range)
  const failed = await Promise.allSettled([read(), read()])
  for (const { status, ...rest } of failed) {
    t.equal(status, 'rejected')
    t.match(rest, { reason: { name: 'StoreUnavailableError' } })
  }
  t.equal(started(), 1)
  t.match(lines.join(''), 'the reader thread failed')
  isBroken = false
  t.same(await read(), [])
  t.equal(started(), 2)
})

t.test('reads that wait while the service stops start no thread', async (t) => {
  const { readers, started } = await thread(t)
  const reads = Array.from({ length: 6 }, () => readers.page(by, 'statement', range))
  await reads[0]
  readers.close()
  const { status } = (await Promise.allSettled(reads)).at(-1)!
  t.equal(status, 'rejected')
  await t.rejects(readers.page(by, 'statement', range), { name: 'StoreUnavailableError' })
  t.equal(started(), 1)
})
