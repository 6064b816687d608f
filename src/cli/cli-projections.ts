import type { Command } from 'commander'
import type { ProjectionStatus } from '../projections/projection-status.js'
import type { ProjectionConflictError, ProjectionTask } from '../projections/projection-tasks.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand } from './command.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { columnsOnlyIn } from './listing.js'
import { flag, option, reason } from './options.js'

const taskCommands = {
  verify: 'compare the served documents with newly built ones, or with those that wait for a switch',
  switch: 'serve the built documents and keep the previous ones',
  rollback: 'serve the previous documents again',
}

export function addProjectionCommands(program: Command): void {
  const projections = program.command('projections').description('manage the projections that maintain the lists')
  const none = 'No projections found.'
  defineCommand(projections, 'list', 'projections with their collections', {
    examples: ['', '--json'],
    run: showStatus,
    list: {
      columns: {
        name: {},
        version: { align: 'right' },
        collection: {},
        lastEventAt: { head: 'LAST EVENT' },
        built: { cell: ({ built }) => built?.at },
        previous: { cell: ({ previous }) => previous?.at },
        ...columnsOnlyIn('wide and csv', 'state', 'checkpoint', 'end'),
        ...columnsOnlyIn('csv', 'lagEvents', 'waitingSince', 'holder', 'failure', 'paused', 'task', 'actions'),
      },
      none,
    },
  })
  defineCommand(projections, 'status', 'the state and lag of each projection', {
    examples: ['--watch', '-o wide'],
    watch: true,
    run: showStatus,
    list: {
      columns: {
        name: {},
        state: {},
        lagEvents: { head: 'LAG', align: 'right' },
        lastEventAt: { head: 'LAST EVENT' },
        task: { cell: ({ task }) => task && taskText(task) },
        holder: { head: 'RUN BY', max: 32 },
        ...columnsOnlyIn('wide and csv', 'checkpoint', 'end', 'waitingSince'),
        ...columnsOnlyIn('csv', 'version', 'collection', 'failure', 'paused', 'built', 'previous', 'actions'),
      },
      none,
      hint: (all) => all.flatMap(hintsFor).join('; ') || undefined,
    },
  })
  const rebuilding = 'build new documents, compare them with the served ones, and switch if they are identical'
  defineCommand(projections, 'rebuild [name]', rebuilding, {
    examples: ['transfers', '--all --keep'],
    options: {
      all: flag('all projections'),
      keep: flag('do not switch; the built documents wait for `projections switch`'),
    },
    async run(stores, { all = false, keep = false }, ...[name]: string[]) {
      if (all === (name !== undefined)) throw new UsageError('name one projection, or use --all')
      const { allProjections } = await import('../projections/all-projections.js')
      const names = name === undefined ? allProjections.map((projection) => projection.name) : [name]
      const ended = await doTasks(stores, names, { what: 'rebuild', keep })
      return name === undefined ? ended : ended[0]
    },
  })
  for (const what of ['verify', 'switch', 'rollback'] as const) {
    defineCommand(projections, `${what} <name>`, taskCommands[what], {
      examples: ['transfers', 'callbacks --json'],
      async run(stores, _, name: string) {
        const [ended] = await doTasks(stores, [name], { what })
        if (what === 'verify' && ended?.comparison?.differing)
          throw new Refused('documents-differ', differencesText(ended))
        return ended
      },
    })
  }
  defineCommand(projections, 'pause <name>', 'stop updating a projection until it is resumed', {
    examples: ['transfers --reason "maintenance of the store"', 'callbacks --json'],
    options: { reason: option('<text>', 'shown in the status', reason) },
    async run(stores, { reason = null }, name: string) {
      const { tasks } = await tasksOf(stores, [name])
      return { name, paused: true, changed: await tasks.pause(name, stores.context.actor, reason) }
    },
  })
  defineCommand(projections, 'resume <name>', 'continue a paused projection', {
    examples: ['transfers', 'callbacks --json'],
    async run(stores, _, name: string) {
      const { tasks } = await tasksOf(stores, [name])
      return { name, paused: false, changed: await tasks.resume(name) }
    },
  })
  defineCommand(projections, 'cancel <name>', 'cancel the current task and discard its documents', {
    examples: ['transfers', 'callbacks --json'],
    async run(stores, _, name: string) {
      const { tasks, deps } = await tasksOf(stores, [name])
      const { watchTasks } = await import('../projections/start-projections.js')
      const task = await tasks.find(name)
      if (!task || !(await tasks.cancel(name, task.requestId)))
        throw new Refused('no-task', `${name} has no task that can be cancelled`)
      for await (const _ of watchTasks(deps, [task], new AbortController().signal));
      return { name, cancelled: task.what }
    },
  })
}

function hintsFor({ name, failure, paused, built }: ProjectionStatus): string[] {
  return [
    failure && `${name} has stopped: ${failure.reason} (${failure.command ?? 'docs/operating/projections.md'})`,
    paused && `${name} is paused by ${paused.by} (transferd projections resume ${name})`,
    built && `${name} has built documents (transferd projections switch ${name})`,
  ].filter((hint) => hint !== null)
}

function taskText({ what, state, phase, progress }: NonNullable<ProjectionStatus['task']>): string {
  if (state !== 'running') return `${what} ${state}`
  return `${what} ${phase ?? state}${progress === null ? '' : ` ${Math.floor(progress * 100)} %`}`
}

async function showStatus({ eventStore: store, readModels }: CommandStores) {
  const { projectionStatus } = await import('../projections/projection-status.js')
  return projectionStatus({ store, readModels: await readModels() })
}

type Ended = ReturnType<typeof endedOf>

/** Requests the tasks and waits for them. Prints progress on stderr. Ctrl-C cancels the tasks that this command requested. */
async function doTasks(
  stores: CommandStores,
  names: readonly string[],
  request: { readonly what: ProjectionTask['what']; readonly keep?: boolean },
): Promise<readonly Ended[]> {
  const { notify, clock, context } = stores
  const { tasks, deps } = await tasksOf(stores, names)
  const { watchTasks } = await import('../projections/start-projections.js')
  const { isUnfinished } = await import('../projections/projection-tasks.js')
  const own: ProjectionTask[] = []
  const watched: ProjectionTask[] = []
  for (const name of names) {
    const { task, joined } = await asRefusal(tasks.request(name, { ...request, by: context.actor }))
    watched.push(task)
    if (joined) notify(`${name}: ${task.what} is already running, requested by ${task.by} at ${task.requestedAt}`)
    else own.push(task)
  }
  let isInterrupted = false
  const abandoned = new AbortController()
  const interrupt = async () => {
    isInterrupted = true
    const cancelled = await Promise.all(own.map(({ projection, requestId }) => tasks.cancel(projection, requestId)))
    if (!cancelled.includes(true)) abandoned.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void interrupt())
  const last = new Map<string, ProjectionTask>()
  const startedAtMs = Date.parse(clock())
  for await (const found of watchTasks(deps, watched, abandoned.signal)) {
    for (const [name, task] of found) {
      if (task) {
        const before = last.get(name)
        const line = progressLine(task)
        if (!before || line !== progressLine(before)) notify(line)
        last.set(name, task)
      } else last.delete(name)
    }
    // Tasks of other users continue. Wait until the own tasks are cleaned up.
    if (isInterrupted && !own.some(({ projection }) => isUnfinished(found.get(projection)))) break
  }
  if (isInterrupted)
    throw new Refused('interrupted', own.length === 0 ? 'interrupted; the tasks of other users continue' : 'cancelled')
  if (names.length > 1) notify(`took ${Math.round((Date.parse(clock()) - startedAtMs) / 1_000)} s`)
  return names.map((name) => endedOf(name, last.get(name)))
}

/** @throws Refused */
function endedOf(name: string, task: ProjectionTask | undefined) {
  if (!task) throw new Refused('task-cancelled', `another user cancelled the task of ${name}`)
  const { state, comparison = null, reason: why } = task
  const ended = { name, state, position: comparison?.position ?? task.end ?? null, comparison }
  if (state === 'failed') throw new Refused('task-failed', `${task.what} of ${name} failed: ${why}`)
  if (why !== undefined)
    throw new Refused('documents-differ', `${differencesText(ended)}: ${why} (transferd projections switch ${name})`)
  return ended
}

function differencesText({ name, comparison }: Ended): string {
  const { differing = 0, compared = 0, differences = [] } = comparison ?? {}
  const more = differing > differences.length ? ', …' : ''
  return `${name}: ${differing} of ${compared} documents differ at ${comparison?.position ?? 0} (${differences.join(', ')}${more})`
}

function progressLine({ projection, what, state, phase, ...task }: ProjectionTask): string {
  const { reached, end, eventsPerSecond, secondsLeft } = task
  if (state !== 'running' || phase !== 'building')
    return `${projection}: ${what} ${phase && state === 'running' ? phase : state}`
  const rate = eventsPerSecond === undefined ? '' : `, ${eventsPerSecond} events/s`
  const left = secondsLeft === undefined ? '' : `, ${secondsLeft} s left`
  return `${projection}: ${what} ${phase}, at ${reached ?? 0} of ${end ?? 0}${rate}${left}`
}

/** @throws Refused for an unknown projection */
async function tasksOf({ eventStore: store, readModels: open, clock }: CommandStores, names: readonly string[]) {
  const { projectionNamed } = await import('../projections/all-projections.js')
  const { ProjectionTasks } = await import('../projections/projection-tasks.js')
  const { createLogger } = await import('../operations/logging/logger.js')
  await asRefusal(Promise.resolve().then(() => names.map((name) => projectionNamed(name))))
  const readModels = await open()
  const deps = { store, readModels, clock, logger: createLogger('fatal', 'cli') }
  return { tasks: new ProjectionTasks(readModels, clock), deps }
}

async function asRefusal<Result>(request: Promise<Result>): Promise<Result> {
  try {
    return await request
  } catch (error) {
    if (!(error instanceof Error)) throw error
    // By their names: to import the classes would load most of the program.
    if (error.name === 'UnknownProjectionError') throw new Refused('unknown-projection', error.message)
    if (error.name === 'ProjectionConflictError') throw refusedBy((error as ProjectionConflictError).violation)
    throw error
  }
}
