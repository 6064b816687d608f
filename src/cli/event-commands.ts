import type { Command } from 'commander'
import type { CopyProgress } from '../operations/copy/copy-log.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, defineStandaloneCommand, Refused } from './command.js'
import { interruptSignal, percentOf, progressReporter } from './long-running.js'
import { matching, option, reason, required } from './options.js'
import { detailed } from './readable.js'

/** Accepts `merchant-…@3` as text, which the command splits. */
const place = matching((text) => /^.+@\d{1,10}$/s.test(text), 'It must be stream@revision.')

export function addEventCommands(events: Command): void {
  defineCommand(events, 'show <trackingId>', 'all events of a transfer', {
    async run({ eventStore }, _, trackingId: string) {
      const { transferStream } = await import('../domain/streams.js')
      const { formatPosition } = await import('../event-store/event-store.js')
      const events = await eventStore.readStream(transferStream(trackingId))
      if (events.length === 0) throw new Refused('Transfer not found.')
      return events.map(({ id, type, revision, position, recordedAtMs, data, metadata, isSkipped }) => ({
        ...{ revision, type, recordedAt: new Date(recordedAtMs).toISOString(), position: formatPosition(position), id },
        ...{ data, metadata },
        ...(isSkipped && { skipped: true }),
      }))
    },
    text: (events) =>
      detailed(
        events,
        {
          REV: 'revision',
          AT: 'recordedAt',
          TYPE: { cell: ({ type, skipped }) => (skipped ? `${type} (skipped)` : type), max: 40 },
          BY: ({ metadata }) => metadata.actor,
        },
        ({ data }) => data,
      ),
  })
  defineCommand(events, 'problems', 'unreadable events that are not skipped', {
    async run(stores) {
      const projections = await import('../projections/event-problems.js')
      const { isStillOpen, openProblems, placeOf, problemsNotFoundYet } = projections
      const { eventStore } = stores
      const readModels = await stores.readModels()
      const problems = new Map<string, string>()
      for (const problem of await openProblems(readModels, await knownProblems(stores)))
        if (await isStillOpen(eventStore, problem)) problems.set(placeOf(problem), problem.reason)
      for await (const problem of problemsNotFoundYet(eventStore, readModels))
        problems.set(placeOf(problem), problem.reason)
      return [...problems].map(([event, reason]) => ({ event, reason }))
    },
    list: {
      columns: { EVENT: 'event', REASON: 'reason' },
      none: 'No problems found.',
      hint: ([first]) => first && 'to skip an event permanently: transferd events skip <event> --reason <text>',
    },
  })
  defineCommand(events, 'skip <event>', 'ignore an unreadable event permanently', {
    args: { event: { description: 'stream@revision, as `events problems` prints it', parse: place } },
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    async run({ eventStore: store, clock, context }, { reason }, event: string) {
      const { skipEvent } = await import('../commands/skip-events.js')
      const at = event.lastIndexOf('@')
      const target = { stream: event.slice(0, at), revision: Number(event.slice(at + 1)), reason }
      const { problem, changed } = accepted(await skipEvent({ store, clock }, target, context))
      return { event, problem, changed }
    },
  })
}

/** Adds the commands that copy the whole log to another engine or to a file. */
export function addEventsCopyCommands(events: Command): void {
  defineStandaloneCommand(events, 'copy', 'copy the log to another engine, to move the service there', {
    options: {
      from: required(option('<url>', 'like EVENT_STORE_URL: embedded:<directory> or esdb://…')),
      to: required(option('<url>', 'the same; empty or with a prefix of the same log')),
    },
    async run({ progress }, { from, to }) {
      const { copyEvents } = await import('../operations/copy/copy-events.js')
      const onProgress = progressReporter(progress, copyProgress())
      const { sourceHasGrown, ...result } = await copyEvents(from, to, { signal: interruptSignal(), onProgress })
      if (!sourceHasGrown) return result
      throw new Refused(
        `${result.events} events are copied and verified, but the source has grown since: stop its writers and run the command again`,
      )
    },
  })
  defineStandaloneCommand(
    events,
    'backup <file>',
    'write the embedded log to one file, with or without a running service',
    {
      async run({ configuration }, _, file: string) {
        const { backUpEvents } = await import('../operations/backup/backup-commands.js')
        return backUpEvents(configuration, file)
      },
    },
  )
}

/** Returns the events that put merchants and users out of service. */
async function knownProblems(stores: CommandStores) {
  const { UserDirectory } = await import('../commands/user/user-commands.js')
  const users = new UserDirectory(stores.eventStore, () => undefined)
  await users.catchUp()
  const merchants = (await stores.merchantDirectory()).problems()
  return [...merchants.map(({ problem }) => problem), ...users.problems()]
}

/** Returns a formatter that also computes the rate since the previous line of the same phase. */
function copyProgress(): (progress: CopyProgress) => string {
  let previous = { doing: '', events: 0, atMs: performance.now() }
  return ({ doing, events, at, end }) => {
    const nowMs = performance.now()
    const added = previous.doing === doing ? events - previous.events : 0
    const perSecond = Math.round((added * 1_000) / (nowMs - previous.atMs))
    previous = { doing, events, atMs: nowMs }
    // Show 100 only when the copy is complete.
    return `${doing}: ${events} events, ${Math.min(99, percentOf(at, end))} %, ${perSecond} per second`
  }
}
