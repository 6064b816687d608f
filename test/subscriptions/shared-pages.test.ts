import t from 'tap'
import type { EventStore, Page, Position } from '../../src/event-store/event-store.js'
import { follow } from '../../src/subscriptions/follow.js'
import { largestMetadata } from '../domain/transfer-samples.js'
import { heldBytes } from '../support/heap.js'
import { recordedCreation } from '../support/recorded-creation.js'

const mebibyte = 1024 * 1024

/** A log at whose end pages of creations arrive, and which is read from any position. */
function growingLog(
  pages: number,
  pageSize: number,
  metadataOf: (n: number) => { [key: string]: string } | null,
  text?: string,
) {
  let reads = 0
  let arrived = 0
  const pageAt = (n: number): Page => {
    const events = Array.from({ length: pageSize }, (_, index) => ({
      ...recordedCreation(n * pageSize + index + 1, metadataOf(n)),
      ...(text !== undefined && { text }),
    }))
    return { events, atEnd: true, checkpoint: events.at(-1)!.position }
  }
  const store = {
    readAll: async ({ after }: { after?: Position }) => {
      reads++
      const next = Number(after?.commit ?? 0n) / pageSize
      return next < arrived
        ? pageAt(next)
        : ({ events: [], atEnd: true, ...(after && { checkpoint: after }) } satisfies Page)
    },
    async *subscribeToAll({ signal }: { signal: AbortSignal }) {
      while (arrived < pages) yield pageAt(arrived++)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
  } as unknown as EventStore
  return { store, reads: () => reads }
}

/** Follows the log until `count` events were handled, and returns a function that ends the follower. */
async function followed(store: EventStore, count: number): Promise<() => Promise<void>> {
  const stopping = new AbortController()
  let handled = 0
  let ended: Promise<void> | undefined
  await new Promise<void>((resolve) => {
    ended = follow({
      ...{ store, streamPrefixes: ['transfer-'], after: undefined, signal: stopping.signal },
      onUnavailable: (error) => {
        throw error
      },
      handle: ({ events }) => {
        handled += events.length
        if (handled === count) resolve()
      },
    })
  })
  return async () => {
    stopping.abort()
    await ended
  }
}

t.test('keeps the newest events within 8 MiB, regardless of their metadata', async (t) => {
  const { store } = growingLog(40, 50, largestMetadata)
  let stop: (() => Promise<void>) | undefined
  const bytes = await heldBytes(async () => {
    stop = await followed(store, 2_000)
    return store
  })
  // The decoded events share the texts of the recorded ones.
  t.ok(bytes < 12 * mebibyte, `${bytes} bytes`)
  await stop?.()
})

t.test('keeps two thousand events without metadata', async (t) => {
  const { store, reads } = growingLog(40, 50, () => null)
  const stop = await followed(store, 2_000)
  const before = reads()
  const stopLate = await followed(store, 2_000)
  t.equal(reads(), before)
  await Promise.all([stop(), stopLate()])
})

t.test('delivers an event that is larger than everything that is kept', async (t) => {
  const { store } = growingLog(3, 1, () => null, 'x'.repeat(5 * mebibyte))
  const stop = await followed(store, 3)
  await stop()
  t.pass()
})
