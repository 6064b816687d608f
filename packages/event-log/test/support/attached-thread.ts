import { randomUUID } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { attachEventLog, type EventLogHandle } from '../../src/event-log.js'

/** A thread that subscribes to the log and creates an `answer-…` stream for every `question-…` stream. */
const store = attachEventLog(workerData.store as EventLogHandle)
const stop = new AbortController()
parentPort?.once('message', () => stop.abort())
for await (const page of store.subscribeToAll({ streamPrefixes: ['question-'], signal: stop.signal })) {
  await Promise.all(
    page.events.map((question) => {
      const event = { id: randomUUID(), type: 'Answered', data: { to: question.id }, metadata: {} }
      return store.append(question.stream.replace('question', 'answer'), 'no_stream', [event])
    }),
  )
}
await store.close()
