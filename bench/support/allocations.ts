import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from './bench-service.js'
import { threadsMs } from './cpu-usage.js'

export interface ThreadReport {
  /** The number of the request, from 1, that this report answers. */
  readonly request: number
  /** The file that the thread runs, or `main`. */
  readonly thread: string
  readonly bytes: number
  /** The duration of all garbage collections in milliseconds. */
  readonly collectionMs: number
}

interface Usage {
  readonly bytes: number
  readonly collectionMs: number
  readonly cpuMs: number
}

/** Reads the allocations of a program that was started with `nodeOptions`. */
export class Allocations {
  #request = 0

  /** @param directory An empty directory for the reports of the threads. */
  constructor(private readonly directory: string) {}

  get nodeOptions(): readonly string[] {
    const preload = new URL('count-allocations.js', import.meta.url)
    preload.searchParams.set('directory', this.directory)
    return ['--import', preload.href]
  }

  /** Returns what each thread has used since the start of the program. Threads of the same file are summed. */
  async read(pid: number): Promise<ReadonlyMap<string, Usage>> {
    const request = ++this.#request
    process.kill(pid, 'SIGUSR2')
    const running = () => this.#reports().filter(({ id }) => existsSync(`/proc/${pid}/task/${id}`))
    await waitUntil('all threads have reported', async () =>
      running().every(({ report }) => report.request === request),
    )
    const cpu = threadsMs(pid)
    const usages = new Map<string, Usage>()
    for (const { id, report } of running()) {
      const { bytes, collectionMs, cpuMs } = usages.get(report.thread) ?? { bytes: 0, collectionMs: 0, cpuMs: 0 }
      usages.set(report.thread, {
        bytes: bytes + report.bytes,
        collectionMs: collectionMs + report.collectionMs,
        cpuMs: cpuMs + (cpu.get(id === pid ? 'main' : `thread ${id - pid}`) ?? Number.NaN),
      })
    }
    return usages
  }

  #reports(): { readonly id: number; readonly report: ThreadReport }[] {
    return readdirSync(this.directory)
      .filter((file) => file.endsWith('.json'))
      .map((file) => ({
        id: Number.parseInt(file, 10),
        report: JSON.parse(readFileSync(join(this.directory, file), 'utf8')) as ThreadReport,
      }))
  }
}
