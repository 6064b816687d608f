import type { Command } from 'commander'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, defineListCommand, Refused } from './command.js'
import { addEventsCopyCommands } from './events-copy.js'
import { addEventsServeCommand } from './events-serve.js'
import { matching, reason, trackingId } from './options.js'
import { type Column, detailed } from './readable.js'

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('the event log')
  defineCommand(
    events.command('show').argument('<trackingId>', '', trackingId).description('all events of a transfer'),
    showEvents,
    { text: historyTable },
  )
  defineListCommand(events.command('problems').description('unreadable events that are not skipped'), listProblems, {
    columns: () => [
      { head: 'EVENT', cell: ({ event }) => event },
      { head: 'REASON', cell: ({ reason }) => reason },
    ],
    emptyText: 'No problems found.',
    hint: ([first]) => first && 'to skip an event permanently: transferd events skip <event> --reason <text>',
  })
  const skipCommand = events
    .command('skip')
    .argument('<event>', 'stream@revision, as `events problems` prints it', place)
    .description('ignore an unreadable event permanently')
  defineCommand(skipCommand.requiredOption('--reason <text>', 'for auditors', reason), skipEventNamed)
  addEventsServeCommand(events)
  addEventsCopyCommands(events)
}

/** Accepts `merchant-…@3` as text, which the command splits. */
const place = matching((text) => /^.+@\d{1,10}$/s.test(text), 'It must be stream@revision.')

/** Returns the events that put merchants and users out of service. */
async function knownProblems(stores: CommandStores) {
  const { UserDirectory } = await import('../commands/user/user-commands.js')
  const users = new UserDirectory(stores.eventStore, () => undefined)
  await users.catchUp()
  const merchants = (await stores.merchantDirectory()).problems()
  return [...merchants.map(({ problem }) => problem), ...users.problems()]
}

async function listProblems(stores: CommandStores) {
  const { isStillOpen, openProblems, placeOf, problemsNotFoundYet } = await import('../projections/open-problems.js')
  const { eventStore } = stores
  const readModels = await stores.readModels()
  const problems = new Map<string, string>()
  for (const problem of await openProblems(readModels, await knownProblems(stores)))
    if (await isStillOpen(eventStore, problem)) problems.set(placeOf(problem), problem.reason)
  for await (const problem of problemsNotFoundYet(eventStore, readModels))
    problems.set(placeOf(problem), problem.reason)
  return [...problems].map(([event, reason]) => ({ event, reason }))
}

async function skipEventNamed(
  { eventStore: store, clock, context }: CommandStores,
  options: { reason: string },
  event: string,
) {
  const { skipEvent } = await import('../commands/skip-events.js')
  const at = event.lastIndexOf('@')
  const target = { stream: event.slice(0, at), revision: Number(event.slice(at + 1)), reason: options.reason }
  const { problem, changed } = accepted(await skipEvent({ store, clock }, target, context))
  return { event, problem, changed }
}

async function showEvents({ eventStore }: CommandStores, _options: object, trackingId: string) {
  const { transferStream } = await import('../domain/streams.js')
  const { formatPosition } = await import('../event-store/event-store.js')
  const events = await eventStore.readStream(transferStream(trackingId))
  if (events.length === 0) throw new Refused('Transfer not found.')
  return events.map(({ id, type, revision, position, recordedAtMs, data, metadata, isSkipped }) => ({
    revision,
    type,
    recordedAt: new Date(recordedAtMs).toISOString(),
    position: formatPosition(position),
    id,
    data,
    metadata,
    ...(isSkipped && { skipped: true }),
  }))
}

type ShownEvent = Awaited<ReturnType<typeof showEvents>>[number]

/** Returns one line per event with its data below. */
function historyTable(events: readonly ShownEvent[]): string {
  const columns: Column<ShownEvent>[] = [
    { head: 'REV', cell: ({ revision }) => revision },
    { head: 'AT', cell: ({ recordedAt }) => recordedAt },
    { head: 'TYPE', cell: ({ type, skipped }) => (skipped ? `${type} (skipped)` : type), max: 40 },
    { head: 'BY', cell: ({ metadata }) => metadata.actor },
  ]
  return detailed(events, columns, ({ data }) => data)
}
