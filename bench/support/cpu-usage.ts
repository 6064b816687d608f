/** What processes have used of the processors, as the operating system tells it: that much is the same on a machine that others use as well. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const isLinux = existsSync('/proc/self/stat')
const tickMs = isLinux ? 1_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : Number.NaN
const settledBelow = 0.05
const settlingMs = 500
const settlesWithinMs = 300_000

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
  // After the name, which may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // Its own time, and that of children it has waited for.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { parent: Number(fields[1]), usedMs: ticks * tickMs }
}

/** Milliseconds of a process and all below it, threads included, since they began. NaN where only Linux could tell. */
export function cpuMs(root: number): number {
  if (!isLinux) return Number.NaN
  const all = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined
    if (stat) all.set(Number(name), stat)
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at; at = all.get(at)?.parent) if (at === root) return true
    return false
  }
  return [...all].reduce((sum, [pid, { usedMs }]) => (isBelow(pid) ? sum + usedMs : sum), 0)
}

/** Milliseconds of each thread of a process; `main` and a number for each other. Empty where only Linux could tell. */
export function threadsMs(pid: number): ReadonlyMap<string, number> {
  const threads = isLinux ? readdirSync(`/proc/${pid}/task`) : []
  return new Map(
    threads.map((thread) => {
      const name = Number(thread) === pid ? 'main' : `thread ${Number(thread) - pid}`
      return [name, statOf(`${pid}/task/${thread}`)?.usedMs ?? 0] as const
    }),
  )
}

/** Megabytes that a process has in memory. NaN where only Linux could tell. */
export function residentMegabytes(pid: number): number {
  if (!isLinux) return Number.NaN
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  return Number(kilobytes) / 1024
}

/** Until the processes do next to nothing: what they still do belongs to what they were asked. */
export async function settled(pids: readonly number[]): Promise<void> {
  const used = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0)
  const endsAtMs = performance.now() + settlesWithinMs
  for (let before = used(); performance.now() < endsAtMs; ) {
    await new Promise((resolve) => setTimeout(resolve, settlingMs))
    const now = used()
    if (!(now - before > settlingMs * settledBelow)) return
    before = now
  }
  throw new Error(`processes ${pids.join(', ')} did not come to rest`)
}

/** Processor time that the whole machine has used, in milliseconds over all cores, and that a hypervisor took. */
export function machineMs(): number {
  if (!isLinux) return Number.NaN
  const [, user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'latin1').split(/\s+/).map(Number)
  return (user! + nice! + system! + irq! + softirq! + steal!) * tickMs
}
