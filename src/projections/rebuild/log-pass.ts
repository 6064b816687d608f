import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { streamPrefixes } from '../../domain/streams.js'
import { comparePositions, type EventStore, type Page, type Position } from '../../event-store/event-store.js'
import { decodeOnce } from '../../event-store/read-event.js'
import type { Build } from './build.js'

const pageSize = 1_000
/** Tasks that are requested together start within this time. */
const gatherMs = 200
/** A build that starts later than this begins its own pass, because the others would wait too long for it. */
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
 * event is decoded once. @throws what the build throws, StoreUnavailableError
 */
export async function passThroughLog(store: EventStore, build: Build): Promise<void> {
  if (build.hasReachedLimit) return
  const running = passes.get(store)
  if (running && running.pages <= maxPagesToRepeat) return join(running, build)
  const pass: Pass = { joined: new Set(), pages: 0 }
  passes.set(store, pass)
  const ended = join(pass, build)
  void sleep(gatherMs).then(() => travel(store, pass))
  return ended
}

/** Brings a build to its limit in a pass of its own. @throws what the build throws, StoreUnavailableError */
export async function catchUp(store: EventStore, build: Build): Promise<void> {
  if (build.hasReachedLimit) return
  const pass: Pass = { joined: new Set(), pages: 0 }
  const ended = join(pass, build)
  void travel(store, pass)
  return ended
}

function join({ joined }: Pass, build: Build): Promise<void> {
  return new Promise((resolve, reject) => joined.add({ build, resolve, reject }))
}

async function travel(store: EventStore, pass: Pass): Promise<void> {
  const { joined } = pass
  while (joined.size > 0) {
    // Neither the lease nor other work of this thread waits for the end of the log.
    await setImmediate()
    const current = [...joined]
    const page = readPage(
      store,
      current.map(({ build }) => build),
    )
    pass.pages++
    for (const one of current) {
      try {
        if (!(await one.build.take(await page))) continue
        joined.delete(one)
        one.resolve()
      } catch (error) {
        joined.delete(one)
        one.reject(error)
      }
    }
  }
  if (passes.get(store) === pass) passes.delete(store)
}

async function readPage(store: EventStore, builds: readonly Build[]): Promise<Page> {
  const prefixes = [...new Set(builds.flatMap((build) => build.streamPrefixes))]
  // Reading everything is cheaper than comparing names if only a few events belong to no stream of the service.
  const filter = prefixes.length < streamPrefixes.length ? { streamPrefixes: prefixes } : {}
  const after = earliest(builds.map(({ position }) => position))
  const page = await store.readAll({ ...filter, maxCount: pageSize, ...(after && { after }) })
  if (builds.length > 1) decodeOnce(page.events)
  return page
}

function earliest(positions: readonly (Position | undefined)[]): Position | undefined {
  return positions.reduce((a, b) => (a && b && comparePositions(a, b) <= 0 ? a : a && b))
}
