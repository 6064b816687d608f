import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { attachEventLog, openEventLog, type SharedEventLog } from '../src/event-log.js'
import { StoreUnavailableError } from '../src/event-log-types.js'
import { tempDirectory } from './support/temp-directory.js'

function attachedThread(store: SharedEventLog): Worker {
  const handle = store.share()
  return new Worker(new URL('./support/attached-thread.js', import.meta.url), {
    workerData: { store: handle },
    transferList: [handle.port],
  })
}

t.test('another thread subscribes to the log and appends through the same writer', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  t.teardown(() => store.close())
  const thread = attachedThread(store)
  const stop = new AbortController()
  const ids = Array.from({ length: 500 }, () => randomUUID())
  const questions = Promise.all(
    ids.map((id) => store.append(`question-${id}`, 'no_stream', [{ id, type: 'Asked', data: {}, metadata: {} }])),
  )
  const answered: unknown[] = []
  for await (const page of store.subscribeToAll({ streamPrefixes: ['answer-'], signal: stop.signal })) {
    for (const event of page.events) answered.push(event.data.to)
    if (answered.length >= ids.length) break
  }
  await questions
  t.same(new Set(answered), new Set(ids))
  t.equal(answered.length, ids.length)
  thread.postMessage('stop')
  const [code] = await once(thread, 'exit')
  t.equal(code, 0)
})

t.test('a terminated thread does not affect the others', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  t.teardown(() => store.close())
  const thread = attachedThread(store)
  await store.append('question-1', 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }])
  while ((await store.readStream('answer-1')).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await thread.terminate()
  const { revision } = await store.append('x', 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }])
  t.equal(revision, 0)
})

t.test('rejects appends of a thread whose process closed the store', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  const attached = attachEventLog(store.share())
  const event = { id: randomUUID(), type: 'T', data: {}, metadata: {} }
  t.equal((await attached.append('x', 'no_stream', [event])).revision, 0)
  t.equal((await attached.readStream('x')).length, 1)
  await store.close()
  await t.rejects(attached.append('y', 'no_stream', [event]), StoreUnavailableError)
  await attached.close()
})
