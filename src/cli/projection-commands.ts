import type { Command } from 'commander'
import type { ProjectionStatus } from '../projections/projection-status.js'
import type { ProjectionTask } from '../projections/tasks/projection-tasks.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, defineListCommand, type Listing, Refused, UsageError } from './command.js'
import { reason } from './options.js'

export function addProjectionCommands(program: Command): void {
  const projections = program.command('projections').description('what the lists are read from')
  defineListCommand(projections.command('list').description('each projection and what it keeps'), showStatus, list)
  defineListCommand(
    projections.command('status').description('how far each projection has come'),
    showStatus,
    statusTable,
  )
  const rebuildCommand = projections
    .command('rebuild')
    .argument('[name]')
    .option('--all', 'every projection, in one pass over the log')
    .option('--keep', 'do not switch: what was built waits for `projections switch`')
    .description('build the documents anew beside those in use, compare, and switch when they are equal')
  defineCommand(rebuildCommand, rebuild)
  defineCommand(
    projections
      .command('verify <name>')
      .description('compare the documents in use with what the log gives (or with what was built and waits)'),
    (stores, _options, name: string) => oneTask(stores, name, 'verify'),
  )
  defineCommand(
    projections.command('switch <name>').description('use what was built, and keep what was in use'),
    (stores, _options, name: string) => oneTask(stores, name, 'switch'),
  )
  defineCommand(
    projections.command('rollback <name>').description('use again what was in use before the last switch'),
    (stores, _options, name: string) => oneTask(stores, name, 'rollback'),
  )
  defineCommand(
    projections
      .command('pause <name>')
      .option('--reason <text>', 'for whoever looks at the status', reason)
      .description('nothing is added to its documents until it is resumed; the others go on'),
    pauseProjection,
  )
  defineCommand(projections.command('resume <name>').description('go on where it was paused'), resumeProjection)
  defineCommand(
    projections.command('cancel <name>').description('end what is being done to it, and leave nothing of it'),
    cancel,
  )
}

const list: Listing<ProjectionStatus> = {
  columns: () => [
    { head: 'NAME', cell: ({ name }) => name },
    { head: 'VERSION', cell: ({ version }) => version, align: 'right' },
    { head: 'COLLECTION', cell: ({ collection }) => collection },
    { head: 'LAST EVENT', cell: ({ lastEventAt }) => lastEventAt },
    { head: 'BUILT', cell: ({ built }) => built?.at },
    { head: 'BEFORE THE SWITCH', cell: ({ previous }) => previous?.at },
  ],
  emptyText: 'No projections found.',
}

const statusTable: Listing<ProjectionStatus> = {
  columns: () => [
    { head: 'NAME', cell: ({ name }) => name },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'LAG', cell: ({ lagEvents }) => lagEvents, align: 'right' },
    { head: 'LAST EVENT', cell: ({ lastEventAt }) => lastEventAt },
    { head: 'TASK', cell: ({ task }) => task && taskInWords(task) },
    { head: 'RUN BY', cell: ({ holder }) => holder, max: 32 },
  ],
  emptyText: 'No projections found.',
  hint: (all) => all.flatMap(hintsFor).join('; ') || undefined,
}

function hintsFor({ name, failure, paused, built }: ProjectionStatus): string[] {
  return [
    ...(failure
      ? [`${name} stands still: ${failure.reason} (${failure.command ?? 'docs/operating/projections.md'})`]
      : []),
    ...(paused ? [`${name} is paused by ${paused.by} (transferd projections resume ${name})`] : []),
    ...(built ? [`${name} has documents that wait (transferd projections switch ${name})`] : []),
  ]
}

function taskInWords({ what, state, phase, progress }: NonNullable<ProjectionStatus['task']>): string {
  if (state !== 'running') return `${what} ${state}`
  return `${what} ${phase ?? state}${progress === null ? '' : ` ${Math.floor(progress * 100)} %`}`
}

async function showStatus({ eventStore: store, readModels }: CommandStores) {
  const { projectionStatus } = await import('../projections/projection-status.js')
  return projectionStatus({ store, readModels: await readModels() })
}

interface Ended {
  readonly name: string
  readonly state: ProjectionTask['state']
  readonly position: string | null
  readonly comparison: ProjectionTask['comparison'] | null
}

async function rebuild(
  stores: CommandStores,
  { all = false, keep = false }: { all?: boolean; keep?: boolean },
  ...[name]: string[]
) {
  if (all === (name !== undefined)) throw new UsageError('name one projection, or say --all')
  const { allProjections } = await import('../projections/all-projections.js')
  const names = name === undefined ? allProjections.map((projection) => projection.name) : [name]
  const ended = await doTasks(stores, names, { what: 'rebuild', keep })
  return name === undefined ? ended : ended[0]
}

async function oneTask(stores: CommandStores, name: string, what: ProjectionTask['what']) {
  const [ended] = await doTasks(stores, [name], { what })
  if (what === 'verify' && ended?.comparison?.differing) throw new Refused(differencesInWords(ended))
  return ended
}

/** Progress goes to stderr, as it is no part of the answer. Ctrl-C takes back what this command asked for. */
async function doTasks(
  stores: CommandStores,
  names: readonly string[],
  asked: { readonly what: ProjectionTask['what']; readonly keep?: boolean },
): Promise<readonly Ended[]> {
  const { notify, clock, context } = stores
  const { tasks, deps } = await tasksOf(stores, names)
  const { watchTasks } = await import('../projections/tasks/watch-tasks.js')
  const { isUnfinished } = await import('../projections/tasks/projection-tasks.js')
  const own: ProjectionTask[] = []
  const watched: ProjectionTask[] = []
  for (const name of names) {
    const { task, joined } = await asRefusal(tasks.request(name, { ...asked, by: context.actor }))
    watched.push(task)
    if (joined) notify(`${name}: ${task.what} is under way since ${task.requestedAt}, asked for by ${task.by}`)
    else own.push(task)
  }
  let isInterrupted = false
  const givenUp = new AbortController()
  const interrupt = async () => {
    isInterrupted = true
    const cancelled = await Promise.all(own.map(({ projection, requestId }) => tasks.cancel(projection, requestId)))
    if (!cancelled.includes(true)) givenUp.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void interrupt())
  const last = new Map<string, ProjectionTask>()
  const beganAtMs = Date.parse(clock())
  for await (const found of watchTasks(deps, watched, givenUp.signal)) {
    for (const [name, task] of found) if (task && tellProgress(task, last.get(name), notify)) last.set(name, task)
    for (const [name, task] of found) if (!task) last.delete(name)
    // What others asked for goes on; what is cancelled here has to be cleared up first.
    if (isInterrupted && !own.some(({ projection }) => isUnfinished(found.get(projection)))) break
  }
  if (isInterrupted) throw new Refused(own.length === 0 ? 'interrupted; what others asked for goes on' : 'cancelled')
  if (names.length > 1) notify(`took ${Math.round((Date.parse(clock()) - beganAtMs) / 1_000)} s`)
  return names.map((name) => endedOf(name, last.get(name)))
}

/** @throws Refused */
function endedOf(name: string, task: ProjectionTask | undefined): Ended {
  if (!task) throw new Refused(`the task of ${name} was cancelled by another`)
  const { state, comparison = null, reason: why } = task
  const ended = { name, state, position: comparison?.position ?? task.end ?? null, comparison }
  if (state === 'failed') throw new Refused(`${task.what} of ${name} failed: ${why}`)
  if (why !== undefined)
    throw new Refused(`${differencesInWords(ended)}: ${why} (transferd projections switch ${name})`)
  return ended
}

function differencesInWords({ name, comparison }: Ended): string {
  const { differing = 0, compared = 0, differences = [] } = comparison ?? {}
  const more = differing > differences.length ? ', …' : ''
  return `${name}: ${differing} of ${compared} documents differ at ${comparison?.position ?? 0} (${differences.join(', ')}${more})`
}

/** True when it is worth remembering. */
function tellProgress(
  task: ProjectionTask,
  before: ProjectionTask | undefined,
  notify: (message: string) => void,
): boolean {
  const line = progressLine(task)
  if (!before || line !== progressLine(before)) notify(line)
  return true
}

function progressLine({ projection, what, state, phase, ...task }: ProjectionTask): string {
  const { reached, end, eventsPerSecond, secondsLeft } = task
  if (state !== 'running' || phase !== 'building')
    return `${projection}: ${what} ${phase && state === 'running' ? phase : state}`
  const rate = eventsPerSecond === undefined ? '' : `, ${eventsPerSecond} events/s`
  const left = secondsLeft === undefined ? '' : `, ${secondsLeft} s left`
  return `${projection}: ${what} ${phase}, at ${reached ?? 0} of ${end ?? 0}${rate}${left}`
}

async function pauseProjection(stores: CommandStores, { reason: why }: { reason?: string }, name: string) {
  const { tasks } = await tasksOf(stores, [name])
  return { name, paused: true, changed: await tasks.pause(name, stores.context.actor, why ?? null) }
}

async function resumeProjection(stores: CommandStores, _options: object, name: string) {
  const { tasks } = await tasksOf(stores, [name])
  return { name, paused: false, changed: await tasks.resume(name) }
}

async function cancel(stores: CommandStores, _options: object, name: string) {
  const { tasks, deps } = await tasksOf(stores, [name])
  const { watchTasks } = await import('../projections/tasks/watch-tasks.js')
  const task = await tasks.find(name)
  if (!task || !(await tasks.cancel(name, task.requestId)))
    throw new Refused(`nothing is being done to ${name} that could be cancelled`)
  for await (const _ of watchTasks(deps, [task], new AbortController().signal));
  return { name, cancelled: task.what }
}

/** @throws Refused where a name is no projection's */
async function tasksOf({ eventStore: store, readModels: open, clock }: CommandStores, names: readonly string[]) {
  const { projectionNamed } = await import('../projections/all-projections.js')
  const { ProjectionTasks } = await import('../projections/tasks/projection-tasks.js')
  const { createLogger } = await import('../operations/logging/logger.js')
  await asRefusal(Promise.resolve().then(() => names.map((name) => projectionNamed(name))))
  const readModels = await open()
  const deps = { store, readModels, clock, logger: createLogger('fatal', 'cli') }
  return { tasks: new ProjectionTasks(readModels, clock), deps }
}

async function asRefusal<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Error && ['ProjectionBusyError', 'UnknownProjectionError'].includes(error.name))
      throw new Refused(error.message)
    throw error
  }
}
