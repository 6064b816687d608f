/**
 * Counts the allocations of the program into which it is loaded, in each of its threads:
 *   node --import "file:///…/count-allocations.js?directory=<directory>" <program>
 * Each thread writes `<thread id of Linux>.json` at its start and at each SIGUSR2. It compares the used heap before each garbage
 * collection with that after the previous one, so the program runs unchanged between collections. Memory outside the heap, such as the
 * contents of buffers, does not count.
 */
import { readlinkSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { GCProfiler, getHeapSpaceStatistics } from 'node:v8'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'
import type { ThreadReport } from './allocations.js'

interface Space {
  readonly spaceName: string
  readonly spaceUsedSize: number
}

const directory = new URL(import.meta.url).searchParams.get('directory') ?? ''
const threadId = basename(readlinkSync('/proc/thread-self'))
const thread = isMainThread ? 'main' : basename(process.argv[1] ?? threadId, '.js')
const requests = new BroadcastChannel('count-allocations')
// The types of Node lack this method.
const unreferenced = requests as BroadcastChannel & { unref(): void }
let bytes = 0
let collectionMs = 0
let profiler = new GCProfiler()
let usedBefore = new Map<string, number>()

function setUsed(spaces: readonly Space[]): void {
  usedBefore = new Map(spaces.map(({ spaceName, spaceUsedSize }) => [spaceName, spaceUsedSize]))
}

/** Adds the growth of each space. A space shrinks between collections while V8 sweeps it concurrently. */
function addGrowth(spaces: readonly Space[]): void {
  for (const { spaceName, spaceUsedSize } of spaces)
    bytes += Math.max(0, spaceUsedSize - (usedBefore.get(spaceName) ?? 0))
}

function spaces(): Space[] {
  return getHeapSpaceStatistics().map(({ space_name, space_used_size }) => ({
    spaceName: space_name,
    spaceUsedSize: space_used_size,
  }))
}

function start(): void {
  profiler = new GCProfiler()
  profiler.start()
  setUsed(spaces())
}

function count(): void {
  const now = spaces()
  for (const { beforeGC, afterGC, cost } of profiler.stop()?.statistics ?? []) {
    addGrowth(beforeGC.heapSpaceStatistics)
    setUsed(afterGC.heapSpaceStatistics)
    collectionMs += cost / 1_000
  }
  addGrowth(now)
}

function write(request: number): void {
  const path = join(directory, `${threadId}.json`)
  const report: ThreadReport = { request, thread, bytes, collectionMs }
  writeFileSync(`${path}.new`, JSON.stringify(report))
  renameSync(`${path}.new`, path)
}

function respond(request: number): void {
  count()
  write(request)
  // The allocations of this module do not count.
  start()
}

requests.onmessage = (message) => respond((message as { readonly data: number }).data)
unreferenced.unref()
if (isMainThread) {
  let request = 0
  process.on('SIGUSR2', () => {
    requests.postMessage(++request)
    respond(request)
  })
}
write(0)
start()
