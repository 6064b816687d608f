import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { openEventLog } from '../src/event-log.js'
import type { EventLog, RecordedEvent } from '../src/event-log-types.js'
import { tempDirectory } from './support/temp-directory.js'

const long = process.env.TEST_LONG === '1'

interface Child {
  readonly process: ChildProcess
  /** The acknowledged appends, each as `<stream> <event id> <position>`. */
  readonly acknowledged: string[]
  readonly ended: Promise<unknown>
  start(): void
}

async function startChild(
  t: Test,
  directory: string,
  prefix: string,
  appends: number,
  callers: number,
): Promise<Child> {
  const script = new URL('./support/append-child.js', import.meta.url).pathname
  const process = spawn(globalThis.process.execPath, [script, directory, prefix, `${appends}`, `${callers}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => process.kill('SIGKILL'))
  const ended = once(process, 'close')
  const acknowledged: string[] = []
  const lines = createInterface({ input: process.stdout! })
  const ready = once(lines, 'line')
  lines.on('line', (line) => {
    if (line !== 'ready') acknowledged.push(line)
  })
  const [status] = await Promise.race([ready.then(() => []), ended])
  if (status !== undefined) throw new Error(`the process ended with status ${status} before it was ready`)
  return { process, acknowledged, ended, start: () => process.stdin?.write('go\n') }
}

async function readWhole(store: EventLog): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (;;) {
    const after = events.at(-1)?.position
    const page = await store.readAll({ maxCount: 1_000, ...(after === undefined ? {} : { after }) })
    events.push(...page.events)
    if (page.atEnd) return events
  }
}

function show(event: RecordedEvent): string {
  return `${event.stream} ${event.id} ${event.position.commit}`
}

function hasNoGaps(events: readonly RecordedEvent[]): boolean {
  return events.every((event, i) => event.position.commit === BigInt(i + 1))
}

t.test('processes can open the same new directory simultaneously', async (t) => {
  const script = new URL('./support/open-child.js', import.meta.url).pathname
  const children = Array.from({ length: 3 }, () => {
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  })
  const parent = tempDirectory(t)
  const results = new Set<unknown>()
  for (let n = 0; n < (long ? 40 : 20); n++) {
    for (const { child } of children) child.stdin.write(`${parent}/${n}\n`)
    for (const { lines } of children) results.add((await lines.next()).value)
  }
  t.same([...results], ['opened'])
})

t.test('two processes that open a new directory simultaneously both append without starving', async (t) => {
  const directory = tempDirectory(t)
  const appends = long ? 8_000 : 2_000
  const children = await Promise.all(['a', 'b'].map((prefix) => startChild(t, directory, prefix, appends, 32)))
  for (const child of children) child.start()
  const first = await Promise.race(children.map(async (child) => child.ended.then(() => child)))
  const other = children.find((child) => child !== first)
  t.ok(
    (other?.acknowledged.length ?? 0) > appends / 10,
    `the slower process had ${other?.acknowledged.length} of ${appends} by then`,
  )
  await Promise.all(children.map((child) => child.ended))
  const store = await openEventLog({ directory })
  t.teardown(() => store.close())
  const events = await readWhole(store)
  t.ok(hasNoGaps(events))
  const [stored, acknowledged] = [events.map(show), children.flatMap((child) => child.acknowledged)]
  const isAcknowledged = new Set(acknowledged)
  t.same(
    stored.filter((event) => !isAcknowledged.has(event)),
    [],
    'no event is stored that was not acknowledged',
  )
  const isStored = new Set(stored)
  t.same(
    acknowledged.filter((event) => !isStored.has(event)),
    [],
    'every acknowledged event is stored in its position',
  )
  t.equal(events.length, 2 * appends)
})

t.test('only one of two processes can create a stream', async (t) => {
  const directory = tempDirectory(t)
  const stores = await Promise.all([openEventLog({ directory }), openEventLog({ directory })])
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  for (let i = 0; i < 20; i++) {
    const results = await Promise.allSettled(
      stores.map((store) =>
        store.append(`x-${i}`, 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }]),
      ),
    )
    t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  }
})

t.test('a subscriber receives the append of another process within a second', async (t) => {
  const directory = tempDirectory(t)
  const store = await openEventLog({ directory })
  t.teardown(() => store.close())
  const child = await startChild(t, directory, 'other', 1, 1)
  const stop = new AbortController()
  let startedAt = 0
  for await (const page of store.subscribeToAll({ after: 'end', signal: stop.signal })) {
    if (page.events.length > 0) {
      t.ok(performance.now() - startedAt < 1_000)
      t.match(page.events[0]?.stream, /^other-/)
      break
    }
    startedAt = performance.now()
    child.start()
  }
  await child.ended
})

for (const round of long ? [1, 2, 3] : [1]) {
  t.test(`a process killed while appending loses no acknowledged append (${round})`, async (t) => {
    const directory = tempDirectory(t)
    const child = await startChild(t, directory, 'killed', 1_000_000, 64)
    child.start()
    while (child.acknowledged.length < round * 1_500) await new Promise((resolve) => setTimeout(resolve, 5))
    child.process.kill('SIGKILL')
    await child.ended
    const store = await openEventLog({ directory })
    t.teardown(() => store.close())
    const events = await readWhole(store)
    const stored = new Set(events.map(show))
    t.same(
      child.acknowledged.filter((line) => !stored.has(line)),
      [],
    )
    t.ok(hasNoGaps(events))
    const last = child.acknowledged.at(-1)?.split(' ')[0] ?? ''
    const event = { id: randomUUID(), type: 'T', data: {}, metadata: {} }
    t.equal((await store.append(last, 0, [event])).position.commit, BigInt(events.length + 1))
  })
}
