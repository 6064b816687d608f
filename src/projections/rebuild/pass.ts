import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { streamPrefixes } from '../../domain/streams.js'
import { comparePositions, type EventStore, type Page, type Position } from '../../event-store/event-store.js'
import { decodeOnce } from '../../event-store/read-event.js'
import type { Build } from './build.js'

const pageSize = 1_000
/** What was asked of several projections at once is begun by each for itself, one soon after the other. */
const gatherMs = 250

interface Gathering {
  readonly joined: Joined[]
  lastAtMs: number
}

interface Joined {
  readonly build: Build
  resolve(): void
  reject(error: unknown): void
}

const gatherings = new WeakMap<EventStore, Gathering>()

/**
 * Brings a build as far as it is to come. Those of one process that begin at about the same time go through the log together: it is read
 * once and each event decoded once. @throws what the build throws, StoreUnavailableError
 */
export function goThroughLog(store: EventStore, build: Build): Promise<void> {
  return new Promise((resolve, reject) => {
    const known = gatherings.get(store)
    const gathering = known ?? { joined: [], lastAtMs: 0 }
    gathering.joined.push({ build, resolve, reject })
    gathering.lastAtMs = performance.now()
    if (known) return
    gatherings.set(store, gathering)
    void allThere(gathering).then(() => {
      gatherings.delete(store)
      return travel(store, gathering.joined)
    })
  })
}

async function allThere(gathering: Gathering): Promise<void> {
  let waitMs = gatherMs
  while (waitMs > 0) {
    await sleep(waitMs)
    waitMs = gathering.lastAtMs + gatherMs - performance.now()
  }
}

/** Alone, and at once: what is left of the way. */
export async function catchUp(store: EventStore, build: Build): Promise<void> {
  while (!build.isThere) {
    const page = await read(store, [build], build.position)
    if (await build.take(page)) return
  }
}

async function travel(store: EventStore, all: readonly Joined[]): Promise<void> {
  const under: Joined[] = all.filter(({ build, resolve }) => {
    if (build.isThere) resolve()
    return !build.isThere
  })
  const leave = (one: Joined) => under.splice(under.indexOf(one), 1)
  while (under.length > 0) {
    let page: Page
    try {
      const builds = under.map(({ build }) => build)
      page = await read(store, builds, earliest(builds))
    } catch (error) {
      for (const { reject } of under) reject(error)
      return
    }
    for (const one of [...under]) {
      try {
        if (!(await one.build.take(page))) continue
        leave(one)
        one.resolve()
      } catch (error) {
        leave(one)
        one.reject(error)
      }
    }
    // Neither a lease nor the other work of this thread waits for the end of the log.
    await setImmediate()
  }
}

async function read(store: EventStore, builds: readonly Build[], after: Position | undefined): Promise<Page> {
  const wanted = [...new Set(builds.flatMap(({ projection }) => projection.streamPrefixes))]
  // All of them: then to look at a name costs more than to leave out the few that are of no service stream.
  const filter = wanted.length < streamPrefixes.length ? { streamPrefixes: wanted } : {}
  const page = await store.readAll({ ...filter, maxCount: pageSize, ...(after && { after }) })
  if (builds.length > 1) decodeOnce(page.events)
  return page
}

function earliest(builds: readonly Build[]): Position | undefined {
  const positions = builds.map(({ position }) => position)
  if (positions.includes(undefined)) return undefined
  return (positions as Position[]).reduce((a, b) => (comparePositions(a, b) <= 0 ? a : b))
}
