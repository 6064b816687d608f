import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { streamPrefixes } from '../../domain/streams.js'
import { comparePositions, type EventStore, type Page } from '../../event-store/event-store.js'
import { decodeOnce } from '../../event-store/read-event.js'
import type { Build } from './build.js'

const pageSize = 1_000
/** Tasks that are requested together start within this time. */
const gatherMs = 200
/** A build that starts later than this starts a separate pass, because the others would wait too long for it. */
const maxPagesToRepeat = 50

interface Joined {
  readonly build: Build
  resolve(): void
  reject(error: unknown): void
}

interface Pass {
  readonly joined: Set<Joined>
  pages: number
}

const passes = new WeakMap<EventStore, Pass>()

/**
 * Brings a build to its limit. The builds of one process that start at about the same time share a pass: each page is read once, and each
 * event is decoded once. Followers (subscriptions/follow.ts) share pages differently: they wait at the end of the log, and far from it they
 * share only pages of the same streams. @throws what the build throws, StoreUnavailableError
 */
export async function passThroughLog(store: EventStore, build: Build): Promise<void> {
  if (build.hasReachedLimit) return
  let pass = passes.get(store)
  if (!pass || pass.pages > maxPagesToRepeat) {
    pass = { joined: new Set(), pages: 0 }
    passes.set(store, pass)
    void sleep(gatherMs, pass).then((started) => runPass(store, started))
  }
  const { joined } = pass
  await new Promise<void>((resolve, reject) => joined.add({ build, resolve, reject }))
}

/** Brings a build to its limit in a separate pass. @throws what the build throws, StoreUnavailableError */
export async function catchUp(store: EventStore, build: Build): Promise<void> {
  for (let isDone = build.hasReachedLimit; !isDone; isDone = await build.take(await readPage(store, [build])))
    await setImmediate()
}

async function runPass(store: EventStore, pass: Pass): Promise<void> {
  while (pass.joined.size > 0) {
    // Neither the lease nor other work of this thread waits for the end of the log.
    await setImmediate()
    const current = [...pass.joined]
    const page = readPage(
      store,
      current.map(({ build }) => build),
    )
    pass.pages++
    for (const one of current) {
      try {
        if (!(await one.build.take(await page))) continue
        one.resolve()
      } catch (error) {
        one.reject(error)
      }
      pass.joined.delete(one)
    }
  }
  if (passes.get(store) === pass) passes.delete(store)
}

async function readPage(store: EventStore, builds: readonly Build[]): Promise<Page> {
  const prefixes = [...new Set(builds.flatMap(({ options }) => options.projection.streamPrefixes))]
  // Reading everything is cheaper than comparing names if only a few events belong to no stream of the service.
  const filter = prefixes.length < streamPrefixes.length ? { streamPrefixes: prefixes } : {}
  const after = builds
    .map(({ position }) => position)
    .reduce((a, b) => (a && b && comparePositions(a, b) <= 0 ? a : a && b))
  const page = await store.readAll({ ...filter, maxCount: pageSize, ...(after && { after }) })
  if (builds.length > 1) decodeOnce(page.events)
  return page
}
