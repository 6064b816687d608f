import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { SeedsRequest, SeedsResponse } from './simulation-process.js'

const usage = `npm run simulate -- [options]
  --seeds N          run N seeds (default 1000)
  --from N           the first seed (default 1)
  --jobs N           the number of processes (default: one per core)
  --until-failure    end with the first failure
  --seed N           run one seed and print its trace
  --steps N          only the first N steps of each seed
  --traces           print the hash of each seed's trace
`
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    'until-failure': { type: 'boolean', default: false },
    seed: { type: 'string' },
    steps: { type: 'string' },
    traces: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit()
}
/** The processes fill the cores already, and most objects of a world die with it. */
const execArgv = ['--single-threaded-gc', '--max-semi-space-size=64']
const batchSize = 10
const progressEveryMs = 10_000
/** A world ends within a second or two. */
const maxBatchMs = 120_000
const most = values.steps === undefined ? undefined : Number(values.steps)

/** A process that runs one world after another. */
class Simulator {
  private constructor(private readonly child: ChildProcess) {}

  static async start(): Promise<Simulator> {
    const child = fork(fileURLToPath(new URL('./simulation-process.js', import.meta.url)), { execArgv })
    const ended = once(child, 'exit').then(() => {
      throw new Error('a simulation process could not start')
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    return new Simulator(child)
  }

  async run(request: SeedsRequest): Promise<SeedsResponse | 'ended'> {
    const settled = new AbortController()
    this.child.send(request)
    const timeout = setTimeout(() => this.child.kill('SIGKILL'), maxBatchMs)
    try {
      const { signal } = settled
      const response = once(this.child, 'message', { signal }).then(([message]) => message as SeedsResponse)
      const exit = once(this.child, 'exit', { signal }).then(() => 'ended' as const)
      for (const each of [response, exit]) each.catch(() => undefined)
      return await Promise.race([response, exit])
    } finally {
      settled.abort()
      clearTimeout(timeout)
    }
  }

  /** Ends the process, which then removes its files. */
  stop(): void {
    this.child.disconnect()
  }
}

// Without process.exit, which drops output that a pipe has not taken yet.
process.exitCode =
  values.seed === undefined
    ? await runSeeds(Number(values.from), Number(values.seeds))
    : await showSeed(Number(values.seed))

async function showSeed(seed: number): Promise<number> {
  const simulator = await Simulator.start()
  const response = await simulator.run({ seeds: [seed], most, keepsLines: true })
  simulator.stop()
  if (response === 'ended') return report(seed, 'settles', 0, 'its process ended')
  const { lines, logLines, failure, taken, trace } = response.last!
  process.stdout.write(`${lines.join('\n')}\n${logLines.join('')}trace ${trace}\n`)
  return failure ? report(seed, failure.invariant, taken, failure.text) : 0
}

function report(seed: number, invariant: string, step: number, text: string): number {
  process.stdout.write(`seed ${seed}: ${invariant} failed at step ${step}: ${text}\n`)
  process.stdout.write(`  npm run simulate -- --seed ${seed} --steps ${step}\n`)
  return 1
}

async function runSeeds(from: number, count: number): Promise<number> {
  const startedMs = Date.now()
  const sum = { seeds: 0, steps: 0, events: 0, tasks: 0, simulatedMs: 0, failed: 0 }
  const jobs = Math.min(Number(values.jobs), Math.ceil(count / batchSize))
  let next = from
  const seconds = () => (Date.now() - startedMs) / 1_000
  const progress = setInterval(() => {
    process.stderr.write(
      `${sum.seeds} of ${count} seeds, ${sum.failed} failed, ${(sum.seeds / seconds()).toFixed(1)} per second\n`,
    )
  }, progressEveryMs)
  const work = async () => {
    let simulator = await Simulator.start()
    let left: number[] = []
    while (left.length > 0 || next < from + count) {
      if (values['until-failure'] && sum.failed > 0) break
      if (left.length === 0) while (left.length < batchSize && next < from + count) left.push(next++)
      const response = await simulator.run({ seeds: left, most })
      if (response === 'ended') {
        // One seed after another shows which of them ended the process.
        simulator = await Simulator.start()
        for (const seed of left) {
          if ((await simulator.run({ seeds: [seed], most })) !== 'ended') continue
          report(seed, 'settles', 0, 'its process ended or did not respond')
          sum.failed++
          simulator = await Simulator.start()
        }
        left = []
        continue
      }
      sum.seeds += response.seeds
      sum.steps += response.steps
      sum.events += response.events
      sum.tasks += response.tasks
      sum.simulatedMs += response.simulatedMs
      if (values.traces)
        for (const [n, trace] of response.traces.entries()) process.stdout.write(`trace ${left[n]} ${trace}\n`)
      left = left.slice(response.seeds)
      if (!response.failed) continue
      sum.failed++
      const { seed, failure, taken } = response.failed
      report(seed, failure!.invariant, taken, failure!.text)
    }
    simulator.stop()
  }
  await Promise.all(Array.from({ length: jobs }, work))
  clearInterval(progress)
  const days = (sum.simulatedMs / 86_400_000).toFixed(1)
  process.stdout.write(
    `${sum.seeds} seeds, ${sum.failed} failed: ${sum.steps} steps, ${sum.events} events, ${sum.tasks} tasks, ${days} simulated days, in ${Math.round(seconds())} s\n`,
  )
  return sum.failed > 0 || sum.seeds === 0 ? 1 : 0
}
