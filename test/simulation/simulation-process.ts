// The environment must be replaced before anything else is loaded.
import { scheduler } from './environment.js'

const { prepareFoundation } = await import('./foundation.js')
const { runWorld } = await import('./run-world.js')
type Outcome = Awaited<ReturnType<typeof runWorld>>

/** The seeds to run. `most`: only the first steps of each. */
export interface SeedsRequest {
  readonly seeds: readonly number[]
  readonly most?: number | undefined
  readonly keepsLines?: boolean | undefined
}

export interface SeedsResponse {
  readonly seeds: number
  readonly steps: number
  readonly events: number
  readonly tasks: number
  readonly simulatedMs: number
  /** The hashes of the traces, in the order of the seeds. */
  readonly traces: readonly string[]
  /** The first seed that failed, with its shortest prefix of steps that fails in the same way. The seeds after it did not run. */
  readonly failed: Outcome | undefined
  readonly last: Outcome | undefined
}

// The first ones load modules on demand, which takes real time.
await prepareFoundation()
await runWorld(0)
await runWorld(1)
await prepareFoundation()
process.on('message', async (request: SeedsRequest) => {
  process.send!(await run(request))
})
process.send!('ready')

async function run({ seeds, most, keepsLines }: SeedsRequest): Promise<SeedsResponse> {
  const sum = { seeds: 0, steps: 0, events: 0, tasks: 0, simulatedMs: 0 }
  const traces: string[] = []
  let last: Outcome | undefined
  for (const seed of seeds) {
    last = await runWorld(seed, most, keepsLines)
    sum.seeds++
    sum.steps += last.taken
    sum.events += last.events
    sum.tasks += last.tasks
    sum.simulatedMs += scheduler.nowMs
    traces.push(last.trace)
    if (last.failure) return { ...sum, traces, failed: await shrunk(last), last }
  }
  return { ...sum, traces, failed: undefined, last }
}

async function shrunk(outcome: Outcome): Promise<Outcome> {
  for (let most = 0; most < outcome.taken; most++) {
    const shorter = await runWorld(outcome.seed, most, true)
    if (shorter.failure?.invariant === outcome.failure!.invariant) return shorter
  }
  return runWorld(outcome.seed, outcome.taken, true)
}
