/** The CPU time of processes as reported by the operating system, which hardly depends on other load on the machine. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const isLinux = existsSync('/proc/self/stat')
const tickMs = isLinux ? 1_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : Number.NaN
const idleBelow = 0.05
const checkEveryMs = 500
const idleWithinMs = 300_000

interface Stat {
  readonly parent: number
  readonly usedMs: number
}

function statOf(process: number | string): Stat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${process}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // Skip the name, which can contain any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // Add the time of the process and of the children that it has waited for.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { parent: Number(fields[1]), usedMs: ticks * tickMs }
}

/** Returns the CPU time in milliseconds of a process and its descendants, including threads. Returns NaN except on Linux. */
export function cpuMs(root: number): number {
  if (!isLinux) return Number.NaN
  const all = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined
    if (stat) all.set(Number(name), stat)
  }
  const isInTree = (pid: number): boolean => {
    for (let current: number | undefined = pid; current; current = all.get(current)?.parent)
      if (current === root) return true
    return false
  }
  return [...all].reduce((sum, [pid, { usedMs }]) => (isInTree(pid) ? sum + usedMs : sum), 0)
}

/** Returns the CPU time in milliseconds of each thread of a process: `main` and numbered others. Empty except on Linux. */
export function threadsMs(pid: number): ReadonlyMap<string, number> {
  const threads = isLinux ? readdirSync(`/proc/${pid}/task`) : []
  return new Map(
    threads.map((thread) => {
      const name = Number(thread) === pid ? 'main' : `thread ${Number(thread) - pid}`
      return [name, statOf(`${pid}/task/${thread}`)?.usedMs ?? 0] as const
    }),
  )
}

/** Returns the resident memory of a process in megabytes. Returns NaN except on Linux. */
export function residentMegabytes(pid: number): number {
  if (!isLinux) return Number.NaN
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  return Number(kilobytes) / 1024
}

/** Returns the largest resident memory of a process so far in megabytes. Returns `undefined` after its end, and except on Linux. */
export function peakResidentMegabytes(pid: number): number | undefined {
  try {
    const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}

/** Waits until processes are idle, because their remaining work belongs to the measured requests. */
export async function waitUntilIdle(pids: readonly number[]): Promise<void> {
  const used = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0)
  const endsAtMs = performance.now() + idleWithinMs
  for (let before = used(); performance.now() < endsAtMs; ) {
    await new Promise((resolve) => setTimeout(resolve, checkEveryMs))
    const now = used()
    if (!(now - before > checkEveryMs * idleBelow)) return
    before = now
  }
  throw new Error(`processes ${pids.join(', ')} did not become idle`)
}

/** Returns the CPU time of the whole machine in milliseconds over all cores, including the time that a hypervisor took. */
export function machineMs(): number {
  if (!isLinux) return Number.NaN
  const [, user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'latin1').split(/\s+/).map(Number)
  return (user! + nice! + system! + irq! + softirq! + steal!) * tickMs
}
