import { cpuMs, machineMs, settled } from './cpu-usage.js'
import { type LoadOptions, type LoadResult, runLoad } from './http-load.js'

/** By what they are, such as `service` and `database`. */
export interface Processes {
  readonly [what: string]: number
}

export interface MeasuredLoad extends LoadResult {
  /** Microseconds of processor time for each request, by process, the load generator among them; what a request still causes later included. */
  readonly cpuUs: { readonly [what: string]: number }
  /** Cores that were busy with something else. */
  readonly othersCores: number
}

/** A load on processes that have come to rest, until they have come to rest again. Every request must be answered with 200. */
export async function measuredLoad(
  processes: Processes,
  load: LoadOptions,
  ended?: () => Promise<void>,
): Promise<MeasuredLoad> {
  const pids = Object.values(processes)
  await settled(pids)
  const before = pids.map(cpuMs)
  const usedMs = () => pids.map((pid, i) => cpuMs(pid) - before[i]!)
  const machineBefore = machineMs()
  const loadBefore = process.cpuUsage()
  const beganAtMs = performance.now()
  const result = await runLoad(load)
  const elapsedMs = performance.now() - beganAtMs
  const { user, system } = process.cpuUsage(loadBefore)
  const oursMs = (user + system) / 1_000 + usedMs().reduce((sum, ms) => sum + ms, 0)
  const othersCores = Math.max(0, machineMs() - machineBefore - oursMs) / elapsedMs
  if (Object.keys(result.statuses).join() !== '200')
    throw new Error(`not every request was answered 200: ${JSON.stringify(result.statuses)}`)
  await ended?.()
  await settled(pids)
  const used = usedMs()
  const cpuUs = Object.fromEntries(
    Object.keys(processes).map((what, i) => [what, (used[i]! * 1_000) / result.requests]),
  )
  return { ...result, cpuUs: { ...cpuUs, 'load generator': (user + system) / result.requests }, othersCores }
}

/** Of the service and what stores for it. */
export function costUs({ cpuUs }: Pick<MeasuredLoad, 'cpuUs'>): number {
  return (cpuUs.service ?? Number.NaN) + (cpuUs.database ?? 0)
}
