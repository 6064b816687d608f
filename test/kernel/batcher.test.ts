import t from 'tap'
import { Batcher } from '../../src/kernel/concurrency.js'

/** Returns a batcher that records its batches. The test completes each. */
function recordingBatcher(maxItems: number, delayMs: number) {
  const batches: (readonly number[])[] = []
  const completions: (() => void)[] = []
  let onBatch = () => {}
  const batcher = new Batcher<number>({
    maxItems,
    delayMs,
    process(items) {
      batches.push(items)
      onBatch()
      return new Promise((resolve) => completions.push(resolve))
    },
  })
  const nextBatch = () => new Promise<void>((resolve) => (onBatch = resolve))
  const complete = () => completions.shift()!()
  return { batcher, batches, complete, nextBatch }
}

t.test('gathers the items of one turn into one batch', async (t) => {
  const { batcher, batches, nextBatch } = recordingBatcher(10, 0)
  const started = nextBatch()
  for (const item of [1, 2, 3]) batcher.add(item)
  t.strictSame(batches, [], 'the batch waits for the end of the turn')
  await started
  t.strictSame(batches, [[1, 2, 3]])
})

t.test('processes a full batch without delay', async (t) => {
  const { batcher, batches } = recordingBatcher(2, 60_000)
  batcher.add(1)
  batcher.add(2)
  t.strictSame(batches, [[1, 2]])
})

t.test('processes one batch at a time, never larger than the limit and in order', async (t) => {
  const { batcher, batches, complete, nextBatch } = recordingBatcher(2, 60_000)
  for (const item of [1, 2, 3, 4, 5]) batcher.add(item)
  t.strictSame(batches, [[1, 2]])
  const second = nextBatch()
  complete()
  await second
  t.strictSame(batches, [
    [1, 2],
    [3, 4],
  ])
  const third = nextBatch()
  complete()
  await third
  t.strictSame(batches, [[1, 2], [3, 4], [5]], 'a flush does not wait for the timer')
})

t.test('flush resolves when every item has been processed', async (t) => {
  const { batcher, batches, complete } = recordingBatcher(10, 60_000)
  batcher.add(1)
  let isFlushed = false
  const flushed = batcher.flush().then(() => {
    isFlushed = true
  })
  t.strictSame(batches, [[1]])
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isFlushed)
  complete()
  await flushed
  await batcher.flush()
  t.strictSame(batches, [[1]], 'a flush of an empty batcher processes nothing')
})
