import t from 'tap'
import { CallbackMemory } from '../../src/callbacks/callback-memory.js'
import { largestMetadata } from '../domain/transfer-samples.js'
import { heldBytes } from '../support/heap.js'
import { recordedCreation } from '../support/recorded-creation.js'

const mebibyte = 1024 * 1024

async function filled(
  memory: CallbackMemory,
  count: number,
  metadataOf: (n: number) => { [key: string]: string } | null,
) {
  const events = []
  for (let n = 1; n <= count; n++) {
    const event = recordedCreation(n, metadataOf(n))
    events.push({ stream: event.stream, revision: 0, position: event.position })
    memory.take({ events: [event], atEnd: true, checkpoint: event.position })
  }
  return events
}

t.test('remembers transfers within 32 MiB, the newest ones, regardless of their metadata', async (t) => {
  const memory = new CallbackMemory(undefined)
  let places: Awaited<ReturnType<typeof filled>> = []
  const bytes = await heldBytes(async () => {
    places = await filled(memory, 5_000, largestMetadata)
    return memory
  })
  t.ok(bytes < 40 * mebibyte, `${bytes} bytes`)
  t.ok(bytes > 16 * mebibyte, `${bytes} bytes`)
  const changes = (n: number) => memory.changesUpTo(places.at(n) as Parameters<CallbackMemory['changesUpTo']>[0])
  t.equal((await changes(-1))?.length, 1)
  t.equal((await changes(-1_000))?.length, 1)
  t.equal(await changes(0), undefined)
})

t.test('remembers ten thousand transfers without metadata', async (t) => {
  const memory = new CallbackMemory(undefined)
  const [first] = await filled(memory, 10_000, () => null)
  t.equal((await memory.changesUpTo(first as Parameters<CallbackMemory['changesUpTo']>[0]))?.length, 1)
})

t.test(
  'a recording that waits for its event lets the event arrive, also after the wait of an earlier one has ended',
  async (t) => {
    const waitMs = 1_000
    const [earlier, later] = [recordedCreation(1, null), recordedCreation(2, null)]
    const memory = new CallbackMemory(undefined, waitMs)
    const gaveUp = memory.changesUpTo(earlier)
    await new Promise((resolve) => setTimeout(resolve, waitMs / 2))
    const waiting = memory.changesUpTo(later)
    t.equal(await gaveUp, undefined)
    // Runs only if the wait leaves the event loop free.
    setImmediate(() => memory.take({ events: [later], atEnd: true, checkpoint: later.position }))
    t.equal((await waiting)?.length, 1)
  },
)

t.test('no recording waits for its event once nothing is followed', async (t) => {
  const hourMs = 3_600_000
  const memory = new CallbackMemory(undefined, hourMs)
  const waiting = memory.changesUpTo(recordedCreation(1, null))
  memory.end()
  t.equal(await waiting, undefined)
  t.equal(await memory.changesUpTo(recordedCreation(2, null)), undefined)
})
