import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type EventStore, type NewEvent, StoreUnavailableError } from '../../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { startEventsServerProcess, startTestEventsServer } from '../../support/events-server.js'
import { long } from '../../support/long.js'
import { temporaryDirectory } from '../../support/processes.js'
import { severableProxy } from '../../support/severable-proxy.js'

const unavailable = { name: 'StoreUnavailableError' }

function event(): NewEvent {
  return { id: randomUUID(), type: 'T', data: { some: 'data' }, metadata: {} }
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const giveUpAt = Date.now() + 60_000
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`timed out after a minute waiting for: ${what}`)
    await sleep(20)
  }
}

async function isAvailable(store: EventStore): Promise<boolean> {
  try {
    await store.readAll({ maxCount: 1 })
    return true
  } catch (error) {
    if (error instanceof StoreUnavailableError) return false
    throw error
  }
}

/** Returns the URL of the same server through a local proxy. */
function throughProxy(url: string, port: number): string {
  return url.replace(/:\d+\?/, `:${port}?`)
}

t.test(
  'appends in flight when the server is killed either fail or are stored, a repeat stores them once, and later appends wait',
  async (t) => {
    const directory = temporaryDirectory(t)
    const server = await startEventsServerProcess(t, directory)
    // A busy machine may need longer than the default to respond to all appends.
    const store = openEventStoreDb({ url: server.url, deadlineMs: 60_000 })
    t.teardown(() => store.close())
    const appends = Array.from({ length: long ? 2_000 : 1_000 }, () => ({
      stream: `x-${randomUUID()}`,
      events: [event(), event()],
    }))
    let responses = 0
    const outcomes = appends.map(({ stream, events }) =>
      store.append(stream, 'no_stream', events).then(
        ({ revision }) => {
          responses += 1
          return revision
        },
        (error: unknown) => error,
      ),
    )
    await until(() => responses > 0, 'a first response')
    await server.end('SIGKILL')
    const results = await Promise.all(outcomes)
    const failed = results.filter((result) => result !== 1)
    t.ok(failed.length > 0, `${failed.length} of ${appends.length} failed`)
    t.ok(
      failed.every((error) => error instanceof StoreUnavailableError),
      'each failed append throws StoreUnavailableError',
    )
    const waiting = store.append('waiting', 'no_stream', [event()])

    const again = await startEventsServerProcess(t, directory, server.port)
    t.equal((await waiting).revision, 0)
    for (const [n, { stream }] of appends.entries()) {
      if (results[n] === 1) t.equal((await store.readStream(stream)).length, 2, 'the acknowledged events are stored')
    }
    const repeated = await Promise.all(
      appends.map(async ({ stream, events }) => (await store.append(stream, 'no_stream', events)).revision),
    )
    t.ok(repeated.every((revision) => revision === 1))
    const stored = (await store.readAll({ maxCount: 5_000, streamPrefixes: ['x-'] })).events
    t.equal(new Set(stored.map(({ id }) => id)).size, stored.length)
    await again.end('SIGTERM')
  },
)

t.test('a silent server counts as unavailable after the deadline, and the store reconnects later', async (t) => {
  const server = await startEventsServerProcess(t, temporaryDirectory(t))
  const store = openEventStoreDb({ url: server.url, deadlineMs: 1_000 })
  t.teardown(() => store.close())
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const following = (async () => {
    for await (const _ of store.subscribeToAll({ signal: stop.signal }));
  })()
  following.catch(() => undefined)
  const [one, two] = [event(), event()]
  await store.append('frozen', 'no_stream', [one])
  process.kill(server.pid, 'SIGSTOP')
  const waiting = store.append('frozen', 0, [two])
  await t.rejects(waiting, unavailable)
  await t.rejects(following, unavailable, 'the subscription ends with the error')
  await t.rejects(store.readStream('frozen'), unavailable)
  process.kill(server.pid, 'SIGCONT')
  await until(() => isAvailable(store), 'the store is available again')
  await store.append('frozen', 0, [two])
  t.same(
    (await store.readStream('frozen')).map(({ id }) => id),
    [one.id, two.id],
  )
})

t.test('fails immediately while the server was never available, and connects when it starts', async (t) => {
  const target = await startTestEventsServer()
  const proxy = await severableProxy({ host: '127.0.0.1', port: Number(new URL(target.url).port) })
  t.teardown(() => target.stop())
  const store = openEventStoreDb({ url: throughProxy(target.url, proxy.port) })
  t.teardown(() => store.close())
  await t.rejects(store.append('x', 'no_stream', [event()]), unavailable)
  await t.rejects(store.readStream('x'), unavailable)
  await t.rejects(store.readAll({ maxCount: 1 }), unavailable)
  await t.rejects(store.persistentSubscriptions.info('x'), unavailable)
  await t.rejects(
    store.persistentSubscriptions.consume('x', { bufferSize: 1, signal: new AbortController().signal }),
    unavailable,
  )
  await proxy.restore()
  await until(() => isAvailable(store), 'the store is available')
  await store.append('x', 'no_stream', [event()])
  await proxy.sever()
  await t.rejects(store.append('x', 0, [event()]), unavailable)
})

t.test('a subscription resumed after a lost connection has no gap and no duplicate', async (t) => {
  const target = await startTestEventsServer()
  const direct = openEventStoreDb({ url: target.url })
  const proxy = await severableProxy({ host: '127.0.0.1', port: Number(new URL(target.url).port) })
  await proxy.restore()
  const store = openEventStoreDb({ url: throughProxy(target.url, proxy.port) })
  const stop = new AbortController()
  const seen: number[] = []
  let losses = 0
  const following = (async () => {
    let after: { commit: bigint; prepare: bigint } | undefined
    while (!stop.signal.aborted) {
      try {
        for await (const page of store.subscribeToAll({
          ...(after && { after }),
          streamPrefixes: ['n-'],
          pageSize: 7,
          signal: stop.signal,
        })) {
          seen.push(...page.events.map(({ data }) => data.n as number))
          after = page.checkpoint ?? after
        }
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error
        losses += 1
        await sleep(50)
      }
    }
  })()
  for (let n = 0; n < 150; n += 1) {
    await direct.append(`n-${n}`, 'no_stream', [{ ...event(), data: { n } }])
    await direct.append(`other-${n}`, 'no_stream', [event()])
    if (n % 50 === 25) {
      await proxy.sever()
      await proxy.restore()
    }
  }
  await until(() => seen.length >= 150, 'all events')
  stop.abort()
  await following
  // If the connection breaks while the subscription waits for it, the subscription continues to wait.
  t.ok(losses >= 1, `${losses} losses`)
  t.same(
    seen,
    Array.from({ length: 150 }, (_, n) => n),
  )
  await store.close()
  await proxy.sever()
  await direct.close()
  await target.stop()
})

t.test('a store that loses its server does not affect another store of the thread', async (t) => {
  const [killed, other] = [await startEventsServerProcess(t, temporaryDirectory(t)), await startTestEventsServer()]
  const [lost, kept] = [openEventStoreDb({ url: killed.url, deadlineMs: 3_000 }), openEventStoreDb({ url: other.url })]
  await lost.append('x', 'no_stream', [event()])
  const appending = (store: EventStore) =>
    Array.from({ length: 100 }, () => store.append(`x-${randomUUID()}`, 'no_stream', [event()]))
  const [failing, succeeding] = [appending(lost), appending(kept)]
  const settled = Promise.allSettled(failing)
  await killed.end('SIGKILL')
  await t.resolves(Promise.all(succeeding))
  await settled
  await t.rejects(lost.append('x', 0, [event()]), unavailable)
  await t.resolves(kept.append('x', 'no_stream', [event()]))
  await Promise.all([lost.close(), kept.close()])
  await other.stop()
})

t.test('close waits for earlier requests, and rejects later ones', async (t) => {
  const server = await startTestEventsServer()
  const store = openEventStoreDb({ url: server.url })
  const following = (async () => {
    for await (const _ of store.subscribeToAll({ signal: new AbortController().signal }));
  })()
  following.catch(() => undefined)
  await store.append('x', 'no_stream', [event()])
  const pending = Array.from({ length: 100 }, (_, n) => store.append(`x-${n}`, 'no_stream', [event()]))
  await store.close()
  await t.resolves(Promise.all(pending))
  await t.rejects(following, unavailable)
  await t.rejects(store.append('x', 0, [event()]), unavailable)
  await t.rejects(store.readAll({ maxCount: 1 }), unavailable)
  await server.stop()
})

for (const onLiveBurst of ['drop', 'fall behind'] as const) {
  t.test(
    `a subscription delivers each event once, in order, if the server's reaction to bursts is: ${onLiveBurst}`,
    async (t) => {
      const server = await startTestEventsServer(undefined, { onLiveBurst })
      const store = openEventStoreDb({ url: server.url })
      const stop = new AbortController()
      const burst = async (stream: string) => {
        const append = (part: number) =>
          store.append(`${stream}-${part}`, 'no_stream', Array.from({ length: 50 }, event))
        return Promise.all(Array.from({ length: 10 }, (_, part) => append(part)))
      }
      const followed = ['', 'b-'].map(async (prefix) => {
        const ids: string[] = []
        for await (const page of store.subscribeToAll({
          streamPrefixes: [prefix],
          signal: stop.signal,
        })) {
          ids.push(...page.events.map(({ stream, revision }) => `${stream}@${revision}`))
          if (ids.filter((id) => id.startsWith('b-')).length === 4 * 500) break
        }
        return ids
      })
      for (const name of ['b-1', 'a-1', 'b-2', 'b-3', 'b-4']) await burst(name)
      const [all, filtered] = await Promise.all(followed)
      const log = (await store.readAll({ maxCount: 5_000 })).events.map(
        ({ stream, revision }) => `${stream}@${revision}`,
      )
      t.strictSame(all, log)
      t.strictSame(
        filtered,
        log.filter((id) => id.startsWith('b-')),
      )
      stop.abort()
      await store.close()
      await server.stop()
    },
  )
}
