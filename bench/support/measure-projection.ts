import { pino } from 'pino'
import { type EventStore, formatPosition } from '../../src/event-store/event-store.js'
import type { Projection } from '../../src/projections/projection.js'
import { readPointer } from '../../src/projections/projection-pointer.js'
import { ProjectionRunner } from '../../src/projections/projection-runner.js'
import type { ReadModels } from '../../src/read-models/read-models.js'

const clock = () => new Date().toISOString()

/** Runs a new projection until `last` is applied. Returns the events per second and the CPU time per event in microseconds. */
export async function measureProjection(
  store: EventStore,
  readModels: ReadModels,
  projection: Projection,
  { events, last }: { readonly events: number; readonly last: { readonly stream: string; readonly revision: number } },
) {
  const stopping = new AbortController()
  const lease = { token: 1, signal: stopping.signal }
  const [lastEvent] = await store.readStream(last.stream, { fromRevision: last.revision, maxCount: 1 })
  const end = formatPosition(lastEvent!.position)
  const startedAtMs = performance.now()
  const cpuBefore = process.cpuUsage()
  const deps = { store, readModels, clock, logger: pino({ level: 'warn' }) }
  const running = new ProjectionRunner(deps, projection, lease).run()
  while ((await readPointer(readModels, projection.name))?.served.progress.lastEvent?.position !== end)
    await new Promise((resolve) => setTimeout(resolve, 5))
  const seconds = (performance.now() - startedAtMs) / 1_000
  const cpu = process.cpuUsage(cpuBefore)
  stopping.abort()
  await running
  return { rate: events / seconds, cpuUs: (cpu.user + cpu.system) / events }
}
