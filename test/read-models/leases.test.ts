import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { isDeadHolder, newHolderId } from '../../src/read-models/lease-holder.js'
import { type Lease, runWithLease } from '../../src/read-models/leases.js'
import { type Collection, type ReadModels, ReadModelsUnavailableError } from '../../src/read-models/read-models.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { until } from '../support/until.js'
import { SimulatedProcess, SimulatedTime } from './simulated-time.js'

const LEASE_PROCESS = fileURLToPath(new URL('./lease-process.js', import.meta.url))

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

function spans(generated: readonly { readonly fromMs: number; readonly forMs: number }[], startMs: number): Span[] {
  return generated
    .map(({ fromMs, forMs }) => ({ fromMs: startMs + fromMs, toMs: startMs + fromMs + forMs }))
    .sort((a, b) => a.fromMs - b.fromMs)
}

/** Returns read models as a remote process sees them: slow, with failures before and after a write. */
function withFaults(
  readModels: ReadModels,
  process: SimulatedProcess,
  faults: { readonly seed: number; readonly outages: readonly Span[]; readonly calmFromMs: number },
): ReadModels {
  const { seed, outages, calmFromMs } = faults
  const isUnavailable = (): boolean =>
    outages.some(({ fromMs, toMs }) => process.time.nowMs >= fromMs && process.time.nowMs < toMs)
  let state = seed
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const leases = readModels.collection('leases')
  const withFailures = async <T>(work: () => Promise<T>): Promise<T> => {
    const calm = process.time.nowMs >= calmFromMs
    await process.sleep(random() * (calm ? 20 : random() < 0.1 ? 4_000 : 300))
    if (isUnavailable() || (!calm && random() < 0.15)) throw new ReadModelsUnavailableError('before')
    const result = await work()
    await process.sleep(random() * (calm ? 20 : 300))
    if (!calm && random() < 0.15) throw new ReadModelsUnavailableError('after')
    return result
  }
  const collection: Collection = {
    ...leases,
    findOne: (filter) => withFailures(() => leases.findOne(filter)),
    bulkWrite: (operations) => withFailures(() => leases.bulkWrite(operations)),
  }
  return { ...readModels, collection: () => collection }
}

/** Opens read models that are closed and removed after the test. */
async function openReadModels(t: Test, directory: string): Promise<ReadModels> {
  const readModels = await openTestReadModels(directory)
  t.teardown(async () => {
    await readModels.close()
    await removeTestReadModels(directory)
  })
  return readModels
}

/** Runs on the embedded engine only, because simulated time does not wait for a network. */
t.test('no two holders overlap, regardless of delays, failures, pauses and wrong clocks', async (t) => {
  const pause = fc.record({ fromMs: fc.integer({ min: 0, max: 60_000 }), forMs: fc.integer({ min: 100, max: 20_000 }) })
  const holder = fc.record({
    seed: fc.nat(),
    skewMs: fc.integer({ min: -3_600_000, max: 3_600_000 }),
    pauses: fc.array(pause, { maxLength: 4 }),
    outages: fc.array(pause, { maxLength: 4 }),
    diesAtMs: fc.option(fc.integer({ min: 0, max: 60_000 }), { nil: undefined, freq: 3 }),
    worksForMs: fc.integer({ min: 500, max: 30_000 }),
  })
  let handovers = 0
  const property = fc.asyncProperty(fc.array(holder, { minLength: 2, maxLength: 4 }), async (holders) => {
    const readModels = await openEmbeddedReadModels({ directory: t.testdir() })
    const time = new SimulatedTime()
    const startMs = time.nowMs
    const calmFromMs = startMs + 80_000
    const endMs = startMs + 110_000
    const stop = new AbortController()
    const tokens: number[] = []
    const problems: string[] = []
    let lastStepMs = 0
    const ended = holders.map(async ({ seed, skewMs, pauses, outages, diesAtMs, worksForMs }, n) => {
      const process = new SimulatedProcess(time, skewMs, [
        ...spans(pauses, startMs),
        ...(diesAtMs === undefined || n === 0 ? [] : [{ fromMs: startMs + diesAtMs, toMs: Number.POSITIVE_INFINITY }]),
      ])
      const work = async ({ token, signal }: Lease): Promise<void> => {
        if (signal.aborted) return
        if (tokens.length > 0 && token <= tokens.at(-1)!) problems.push(`token ${token} after ${tokens.at(-1)}`)
        tokens.push(token)
        const untilMs = time.nowMs + worksForMs
        while (!signal.aborted && time.nowMs < untilMs) {
          // A paused process notices only when its first timer fires. Until then the token protects the work.
          const justResumed = process.pauses.some(({ toMs }) => toMs === time.nowMs)
          if (!justResumed && token !== tokens.at(-1))
            problems.push(`holder ${n} worked at ${time.nowMs - startMs} under ${token}`)
          lastStepMs = time.nowMs
          await process.sleep(20)
        }
      }
      const seen = withFaults(readModels, process, { seed, outages: spans(outages, startMs), calmFromMs })
      while (!stop.signal.aborted) await runWithLease(seen, 'worker', { signal: stop.signal, clock: process }, work)
    })
    await time.runUntil(endMs)
    if (lastStepMs < endMs - 15_000) problems.push(`no holder worked after ${lastStepMs - startMs}`)
    stop.abort()
    await time.runUntil(endMs + 60_000)
    await ended[0]
    await readModels.close()
    handovers += tokens.length - 1
    if (problems.length > 0) t.comment(problems.slice(0, 5).join('\n'))
    return problems.length === 0
  })
  await fc.assert(property, { numRuns: 20 })
  t.ok(handovers > 50, `the lease changed hands ${handovers} times`)
})

t.test('a release hands the lease over immediately and increases the token', async (t) => {
  const readModels = await openReadModels(t, t.testdir())
  const tokens: number[] = []
  const first = new AbortController()
  const second = new AbortController()
  let secondStarted: () => void = () => {}
  const secondHolds = new Promise<void>((resolve) => {
    secondStarted = resolve
  })
  let firstStarted: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    firstStarted = resolve
  })
  const untilAborted = async ({ token, signal }: Lease): Promise<void> => {
    tokens.push(token)
    if (tokens.length === 1) firstStarted()
    else secondStarted()
    if (!signal.aborted) await once(signal, 'abort')
  }
  const holding = runWithLease(readModels, 'worker', { signal: first.signal }, untilAborted)
  await held
  const leases = readModels.collection('leases')
  let attempts = 0
  const findOne: Collection['findOne'] = (filter) => {
    attempts++
    return leases.findOne(filter)
  }
  const observed = { ...readModels, collection: () => ({ ...leases, findOne }) }
  const waiting = runWithLease(observed, 'worker', { signal: second.signal }, untilAborted)
  await until(() => attempts >= 2)
  t.equal(tokens.length, 1, 'the second holder waits')
  const releasedMs = performance.now()
  first.abort()
  await holding
  await secondHolds
  t.ok(performance.now() - releasedMs < 3_000, 'long before the lease expires')
  t.ok(tokens[1]! > tokens[0]!)
  second.abort()
  await waiting
})

t.test('holds the lease until the work has finished after a stop', async (t) => {
  const readModels = await openReadModels(t, t.testdir())
  const stop = new AbortController()
  const holder = async (): Promise<unknown> =>
    (await readModels.collection('leases').findOne({ _id: 'worker' }))?.holder
  await runWithLease(readModels, 'worker', { signal: stop.signal }, async ({ signal }) => {
    stop.abort()
    t.ok(signal.aborted)
    await sleep(50)
    t.type(await holder(), 'string')
  })
  t.equal(await holder(), null)
})

t.test('throws the error of the work and releases the lease', async (t) => {
  const readModels = await openReadModels(t, t.testdir())
  const { signal } = new AbortController()
  const broken = runWithLease(readModels, 'worker', { signal }, () => Promise.reject(new Error('broken')))
  await t.rejects(broken, { message: 'broken' })
  let ran = false
  await runWithLease(readModels, 'worker', { signal }, async () => {
    ran = true
  })
  t.ok(ran)
})

t.test('a dropped collection never decreases tokens', async (t) => {
  const readModels = await openReadModels(t, t.testdir())
  const tokens: number[] = []
  for (let n = 0; n < 2; n++) {
    await runWithLease(readModels, 'worker', { signal: new AbortController().signal }, async ({ token }) => {
      tokens.push(token)
    })
    await readModels.drop('leases')
    await sleep(5)
  }
  t.ok(tokens[1]! > tokens[0]!, `${tokens}`)
})

t.test('a holder is dead only if its process is known to have ended', async (t) => {
  const ownHolderId = newHolderId()
  t.notOk(isDeadHolder(ownHolderId))
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  const endedHolderId = ownHolderId.replace(`/${process.pid}/`, `/${child.pid}/`)
  t.ok(isDeadHolder(endedHolderId))
  t.notOk(isDeadHolder(`elsewhere-${endedHolderId}`), 'another host has its own process ids')
  t.notOk(isDeadHolder('nonsense'))
})

t.test('threads of one process exclude each other', async (t) => {
  const directory = t.testdir()
  const readModels = await openReadModels(t, directory)
  const worker = new Worker(LEASE_PROCESS, { argv: [directory], stdout: true })
  const lines = createInterface({ input: worker.stdout })[Symbol.asyncIterator]()
  await numberAfter(lines, 'held')
  const stop = AbortSignal.timeout(600)
  await runWithLease(readModels, 'worker', { signal: stop }, async () => {
    t.fail('the thread still holds it')
  })
  await worker.terminate()
  t.ok(stop.aborted)
})

t.test(
  'replaces a killed process immediately, and a paused one when its lease expires, which the paused one notices',
  { timeout: 60_000 },
  async (t) => {
    const directory = t.testdir()
    const children: ChildProcess[] = []
    t.teardown(async () => {
      for (const child of children) child.kill('SIGKILL')
      await removeTestReadModels(directory)
    })
    const start = () => {
      const child = spawn(process.execPath, [LEASE_PROCESS, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
      children.push(child)
      return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
    }
    const killed = start()
    const firstToken = await numberAfter(killed.lines, 'held')
    const stopped = start()
    await numberAfter(stopped.lines, 'waiting')
    const killedMs = performance.now()
    killed.child.kill('SIGKILL')
    const secondToken = await numberAfter(stopped.lines, 'held')
    t.ok(performance.now() - killedMs < 3_000, `replaced after ${Math.round(performance.now() - killedMs)} ms`)
    t.ok(secondToken > firstToken)

    const last = start()
    await numberAfter(last.lines, 'waiting')
    const stoppedMs = performance.now()
    stopped.child.kill('SIGSTOP')
    const thirdToken = await numberAfter(last.lines, 'held')
    t.ok(
      performance.now() - stoppedMs > 3_000,
      `not before the lease expired: ${Math.round(performance.now() - stoppedMs)} ms`,
    )
    t.ok(thirdToken > secondToken)
    stopped.child.kill('SIGCONT')
    t.equal(await numberAfter(stopped.lines, 'ended'), secondToken)

    last.child.kill('SIGTERM')
    t.equal(await numberAfter(last.lines, 'ended'), thirdToken)
    t.ok((await numberAfter(stopped.lines, 'held')) > thirdToken, 'gets the lease again after a release')
    stopped.child.kill('SIGTERM')
    t.same(await once(stopped.child, 'exit'), [0, null])
  },
)

/** Returns the number on the next line that starts with `word`. */
async function numberAfter(lines: AsyncIterator<string>, word: string): Promise<number> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`the process ended before it printed ${word}`)
    const [first, number] = String(value).split(' ')
    if (first === word) return Number(number)
  }
}
