import { createHash } from 'node:crypto'
import { scheduler } from '../environment.js'
import { Random } from '../random.js'
import { runToEnd } from '../run-to-end.js'
import type { Outcome } from '../run-world.js'
import { LogWorld } from './log-world.js'
import { TreeWorld } from './tree-world.js'

type Step<World> = readonly [weight: number, name: string, step: (world: World, random: Random) => Promise<void> | void]

const steps: readonly Step<LogWorld | TreeWorld>[] = [
  [10, 'append', (world, random) => appendMany(world, random)],
  [3, 'crash in a write', (world, random) => world.planCrash(random)],
  [2, 'crash', (world, random) => world.crash(random.chance(0.6))],
  [2, 'fail to sync', (world, random) => world.failSyncs(1 + random.below(4))],
  [2, 'fill the disk', (world, random) => world.fill(random.below(300))],
  [2, 'check', (world) => world.check()],
]
const logSteps: readonly Step<LogWorld>[] = [
  ...steps,
  [2, 'checkpoint', (world, random) => world.checkpoint(random)],
  [1, 'stop', (world, random) => world.stop(random)],
]

function appendMany(world: LogWorld | TreeWorld, random: Random): void {
  for (let left = 1 + random.below(4); left > 0; left--) world.append(random)
}

/** Runs a world of the embedded log or of a tree over a disk that fails. */
export async function runDiskWorld(seed: number, most: number, keepsLines: boolean): Promise<Outcome> {
  scheduler.reset(seed)
  const plan = new Random(seed, 4)
  const count = 6 + plan.below(16)
  const lines: string[] = []
  const trace = createHash('sha256')
  const note = (text: string) => {
    const line = `${scheduler.nowMs} ${text}`
    trace.update(`${line}\n`)
    if (keepsLines) lines.push(line)
  }
  const isTree = plan.chance(0.4)
  const faults = new Random(seed, 3)
  const world = isTree ? new TreeWorld(faults, note) : new LogWorld(faults, note)
  const take = async (random: Random) => {
    const [, name, step] = world instanceof TreeWorld ? chosen(steps, random) : chosen(logSteps, random)
    note(`step ${taken}: ${name}`)
    await step(world as LogWorld & TreeWorld, random)
  }
  let taken = 0
  const failure = await runToEnd(async () => {
    await world.open()
    while (taken < Math.min(count, most)) {
      const random = new Random(seed, 1_000 + taken++)
      await take(random)
      await scheduler.sleep(random.below(60))
    }
    await world.heal()
    await world.check()
    world.crash(true)
    await world.heal()
    await world.check()
  })
  world.close()
  const { events } = world
  return {
    seed,
    steps: count,
    taken,
    failure,
    trace: trace.digest('hex'),
    lines,
    logLines: [],
    events,
    tasks: scheduler.ran,
  }
}

function chosen<World>(from: readonly Step<World>[], random: Random): Step<World> {
  let left = random.below(from.reduce((sum, [weight]) => sum + weight, 0))
  for (const step of from) {
    left -= step[0]
    if (left < 0) return step
  }
  throw new Error('the weights have another sum')
}
