import { eventually } from './checks.js'
import { Clients } from './clients.js'
import { runDiskWorld } from './disk/run-disk-world.js'
import { scheduler } from './environment.js'
import { type FaultRates, noFaults } from './faults.js'
import { Random } from './random.js'
import { type Failure, runToEnd } from './run-to-end.js'
import { must } from './violation.js'
import { World } from './world.js'

export interface Outcome {
  readonly seed: number
  /** The number of steps that the seed has, and of those that were taken. */
  readonly steps: number
  readonly taken: number
  readonly failure: Failure | undefined
  readonly trace: string
  readonly lines: readonly string[]
  readonly logLines: readonly string[]
  readonly events: number
  readonly tasks: number
}

const maxHealingMs = 120_000
const maxQuietMs = 15_000
const attemptTimeoutMs = 2_500
const minuteMs = 60_000
/** Every tenth world is one of files instead of services. */
const diskWorldEvery = 10

type Step = (world: World, clients: Clients, random: Random) => Promise<void>

const client =
  (start: (clients: Clients) => Promise<void>): Step =>
  async (world, clients) =>
    world.run(() => start(clients))

const steps: readonly (readonly [weight: number, name: string, step: Step])[] = [
  [20, 'create', client((clients) => clients.create())],
  [26, 'act', client((clients) => clients.act())],
  [8, 'pay', client((clients) => clients.pay())],
  [5, 'pay by file', client((clients) => clients.payByFile())],
  [8, 'pay from the wallet', client((clients) => clients.payFromWallet())],
  [3, 'read', client((clients) => clients.read())],
  [2, 'audit', client((clients) => clients.audit())],
  [3, 'change settings', client((clients) => clients.changeSettings())],
  [1, 'rebuild', client((clients) => clients.rebuild())],
  [1, 'resend', client((clients) => clients.resend())],
  [1, 'erase', client((clients) => clients.erase())],
  [3, 'crash', async (world, _, random) => crash(world, random)],
  [2, 'stop', async (world, _, random) => stop(world, random)],
  [2, 'cut', async (world, _, random) => cut(world, random)],
  [2, 'set a clock', async (world, _, random) => setClock(world, random)],
  [1, 'pause', async (world, _, random) => pause(world, random)],
  [2, 'back up', async (world) => world.backUp()],
  [2, 'let time pass', async (world) => letTimePass(world)],
  [1, 'restore', async (world, clients) => restore(world, clients)],
  [1, 'break an endpoint', async (world, _, random) => breakEndpoint(world, random)],
]
/** Without transfers, there is nothing to do. */
const firstCreates = 3
const totalWeight = steps.reduce((sum, [weight]) => sum + weight, 0)

/**
 * Runs the world of a seed: its steps, then healing, then the checks of the settled world. `most` takes only the first steps, with which a
 * failure is shrunk: a step draws from its own sequence, so that it is the same in every prefix.
 */
export async function runWorld(seed: number, most = Number.POSITIVE_INFINITY, keepsLines = false): Promise<Outcome> {
  if (seed % diskWorldEvery === 0) return runDiskWorld(seed, most, keepsLines)
  const world = new World(seed, { keepsLines })
  const plan = new Random(seed, 4)
  const count = plan.chance(0.1) ? 20 + plan.below(20) : 4 + plan.below(14)
  let taken = 0
  const failure = await runToEnd(async () => {
    const clients = new Clients(world)
    const nodes = plan.chance(0.3) ? 2 : 1
    const gapMs = plan.pick([20, 150, 400])
    const rates = ratesOf(plan)
    for (let n = 1; n <= nodes; n++) world.run(() => world.start(world.addNode(`n${n}`)))
    await scheduler.sleep(plan.below(100))
    world.rates = rates
    while (taken < Math.min(count, most)) {
      const random = new Random(seed, 1_000 + taken++)
      const [, name, step] = taken <= firstCreates ? steps[0]! : chosen(random)
      world.note(`step ${taken}: ${name}`)
      await step(world, clients, random)
      world.seeTree()
      await scheduler.sleep(random.below(2 * gapMs))
    }
    await heal(world, clients)
    await eventually(world, clients)
  })
  world.close()
  const { lines = [], logLines } = world
  const events = world.base.log.events.length
  const trace = world.trace.digest('hex')
  return { seed, steps: count, taken, failure, trace, lines, logLines, events, tasks: scheduler.ran }
}

function chosen(random: Random): (typeof steps)[number] {
  let left = random.below(totalWeight)
  for (const step of steps) {
    left -= step[0]
    if (left < 0) return step
  }
  throw new Error('the weights have another sum')
}

function ratesOf(plan: Random): FaultRates {
  const rate = (most: number) => (plan.chance(0.5) ? 0 : plan.fraction() * most)
  return {
    store: rate(0.05),
    readModels: rate(0.03),
    wallet: rate(0.3),
    endpoint: rate(0.8),
    network: rate(0.3),
    slow: plan.pick([0, 0.02, 0.2]),
  }
}

async function crash(world: World, random: Random): Promise<void> {
  const node = random.pick(world.nodes)
  if (node.process.isDead) return
  node.crash()
  world.note(`${node.name} crashes`)
  world.run(async () => {
    await scheduler.sleep(random.below(2_000))
    await world.start(node)
  })
}

async function stop(world: World, random: Random): Promise<void> {
  const node = random.pick(world.nodes)
  if (!node.service) return
  world.run(async () => {
    await world.stop(node)
    await scheduler.sleep(random.below(500))
    await world.start(node)
  })
}

async function cut(world: World, random: Random): Promise<void> {
  const node = random.pick(world.nodes)
  world.cut.add(node)
  world.note(`${node.name} is cut off`)
  world.run(async () => {
    await scheduler.sleep(random.below(6_000))
    world.cut.delete(node)
  })
}

async function setClock(world: World, random: Random): Promise<void> {
  const node = random.pick(world.nodes)
  node.process.skewMs += random.below(8_000) - 4_000
  world.note(`the clock of ${node.name} is off by ${node.process.skewMs} ms`)
}

async function pause(world: World, random: Random): Promise<void> {
  const { process, name } = random.pick(world.nodes)
  process.pausedUntilMs = scheduler.nowMs + 500 + random.below(9_000)
  world.note(`${name} is paused until ${process.pausedUntilMs}`)
}

/** Waits until no client waits for a response. Returns whether that is so. */
async function untilQuiet(world: World): Promise<boolean> {
  const untilMs = scheduler.nowMs + maxQuietMs
  while (world.clients.size > 0 && scheduler.nowMs < untilMs) await scheduler.sleep(100)
  return world.clients.size === 0
}

/** Lets claims, deposits and sessions expire. A user who pays later has compared the open withdrawals with the bank. */
async function letTimePass(world: World): Promise<void> {
  if (!(await untilQuiet(world))) return
  for (const { process } of world.nodes) process.skewMs += 35 * minuteMs
  for (const payment of world.bank) payment.isKnown = true
}

/** Replaces everything by the last backup, once no client waits for a response. */
async function restore(world: World, clients: Clients): Promise<void> {
  if (!world.backup || !(await untilQuiet(world))) return
  for (const node of world.nodes) node.crash()
  world.restore()
  clients.forget()
  for (const node of world.nodes) await world.start(node)
  await clients.resumePayouts()
}

async function breakEndpoint(world: World, random: Random): Promise<void> {
  const { callbackPath } = random.pick(world.base.merchants)
  world.endpoints.broken.set(callbackPath, random.pick(['gone', 'hangs'] as const))
  world.note(`${callbackPath} is broken`)
}

/** Ends all faults, waits for the clients, and lets hours pass, so that whatever waits becomes due. */
async function heal(world: World, clients: Clients): Promise<void> {
  world.note('healing')
  world.rates = noFaults
  world.cut.clear()
  world.endpoints.broken.clear()
  for (const { process } of world.nodes) await scheduler.sleep(process.pausedUntilMs - scheduler.nowMs)
  const untilMs = scheduler.nowMs + maxHealingMs
  while (world.clients.size > 0) {
    must('settles', scheduler.nowMs < untilMs, () => 'a client does not end')
    await scheduler.sleep(100)
  }
  // One node does all the work from now on.
  for (const node of world.nodes.slice(1)) if (node.service) await world.stop(node)
  const [node] = world.nodes
  if (!node!.service) await world.start(node!)
  if (clients.isInterrupted || world.random.chance(0.3)) {
    await world.stop(node!)
    await world.start(node!)
  }
  // Until every attempt that hangs has ended.
  await scheduler.sleep(attemptTimeoutMs)
  await clients.repair()
  // Deposits expire, and the longest wait of a callback ends.
  for (const minutes of [40, 26 * 60]) {
    node!.process.skewMs += minutes * minuteMs
    await scheduler.sleep(500)
  }
}
