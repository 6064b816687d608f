import { cpuMs, machineMs, waitUntilIdle } from './cpu-usage.js'
import { type LoadOptions, type LoadResult, runLoad } from './http-load.js'

/** Process ids by component, such as `service` and `database`. */
export interface Processes {
  readonly [component: string]: number
}

export interface MeasuredLoad extends LoadResult {
  /** The CPU time per request and component in microseconds, including the load generator and the work after the responses. */
  readonly cpuUs: { readonly [component: string]: number }
  /** The number of cores that other processes used. */
  readonly otherCores: number
}

/** Runs a load from when the processes are idle until they are idle again. Every response must have status 200. */
export async function measureLoad(
  processes: Processes,
  load: LoadOptions,
  afterLoad?: () => Promise<void>,
): Promise<MeasuredLoad> {
  const pids = Object.values(processes)
  await waitUntilIdle(pids)
  const before = pids.map(cpuMs)
  const usedMs = () => pids.map((pid, i) => cpuMs(pid) - before[i]!)
  const machineBefore = machineMs()
  const loadBefore = process.cpuUsage()
  const startedAtMs = performance.now()
  const result = await runLoad(load)
  const elapsedMs = performance.now() - startedAtMs
  const { user, system } = process.cpuUsage(loadBefore)
  const measuredMs = (user + system) / 1_000 + usedMs().reduce((sum, ms) => sum + ms, 0)
  const otherCores = Math.max(0, machineMs() - machineBefore - measuredMs) / elapsedMs
  if (Object.keys(result.statuses).join() !== '200')
    throw new Error(`not every response had status 200: ${JSON.stringify(result.statuses)}`)
  await afterLoad?.()
  await waitUntilIdle(pids)
  const used = usedMs()
  const cpuUs = Object.fromEntries(
    Object.keys(processes).map((component, i) => [component, (used[i]! * 1_000) / result.requests]),
  )
  return { ...result, cpuUs: { ...cpuUs, 'load generator': (user + system) / result.requests }, otherCores }
}

/** Returns the CPU time of the service and its database. */
export function costUs({ cpuUs }: Pick<MeasuredLoad, 'cpuUs'>): number {
  return (cpuUs.service ?? Number.NaN) + (cpuUs.database ?? 0)
}
