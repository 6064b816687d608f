import type { Command } from 'commander'
import type { Workplace } from './cli-stores.js'
import { accepted, answer, answerList, Refused } from './command.js'
import { addEventsCopyCommands } from './events-copy.js'
import { addEventsServeCommand } from './events-serve.js'
import { matching, reason, trackingId } from './options.js'
import { type Column, detailed } from './readable.js'

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('the log itself')
  answer(
    events
      .command('show')
      .argument('<trackingId>', '', trackingId)
      .description('everything that happened to a transfer'),
    showEvents,
    { text: historyTable },
  )
  answerList(
    events.command('problems').description('events that cannot be read and that no one has decided to skip'),
    listProblems,
    {
      columns: () => [
        { head: 'EVENT', cell: ({ event }) => event },
        { head: 'REASON', cell: ({ reason }) => reason },
      ],
      none: 'No problems found.',
      hint: ([first]) => first && 'to skip one for good: transferd events skip <event> --reason <text>',
    },
  )
  const skipCommand = events
    .command('skip')
    .argument('<event>', 'stream@revision, as `events problems` names it', place)
    .description('from now on an event that cannot be read counts as if it were not there')
  answer(skipCommand.requiredOption('--reason <text>', 'for auditors', reason), skipEventNamed)
  addEventsServeCommand(events)
  addEventsCopyCommands(events)
}

/** `merchant-…@3` as text; the command splits it. */
const place = matching((text) => /^.+@\d{1,10}$/s.test(text), 'It must be stream@revision.')

/** What merchants and users are out of service for. */
async function knownProblems(workplace: Workplace) {
  const { UserDirectory } = await import('../commands/user/user-directory.js')
  const users = new UserDirectory(workplace.eventStore, () => undefined)
  await users.catchUp()
  const merchants = (await workplace.merchantDirectory()).problems()
  return [...merchants.map(({ problem }) => problem), ...users.problems()]
}

async function listProblems(workplace: Workplace) {
  const { isStillOpen, openProblems, placeOf, problemsNotFoundYet } = await import('../projections/open-problems.js')
  const { eventStore } = workplace
  const readModels = await workplace.readModels()
  const problems = new Map<string, string>()
  for (const problem of await openProblems(readModels, await knownProblems(workplace)))
    if (await isStillOpen(eventStore, problem)) problems.set(placeOf(problem), problem.reason)
  for await (const problem of problemsNotFoundYet(eventStore, readModels))
    problems.set(placeOf(problem), problem.reason)
  return [...problems].map(([event, reason]) => ({ event, reason }))
}

async function skipEventNamed(
  { eventStore: store, clock, context }: Workplace,
  options: { reason: string },
  event: string,
) {
  const { skipEvent } = await import('../commands/skip-events.js')
  const at = event.lastIndexOf('@')
  const target = { stream: event.slice(0, at), revision: Number(event.slice(at + 1)), reason: options.reason }
  const { problem, changed } = accepted(await skipEvent({ store, clock }, target, context))
  return { event, problem, changed }
}

async function showEvents({ eventStore }: Workplace, _options: object, trackingId: string) {
  const { transferStream } = await import('../domain/streams.js')
  const { formatPosition } = await import('../event-store/event-store.js')
  const events = await eventStore.readStream(transferStream(trackingId))
  if (events.length === 0) throw new Refused('There is no such transfer.')
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

/** A line for each event, and below it what it says. */
function historyTable(events: readonly ShownEvent[]): string {
  const columns: Column<ShownEvent>[] = [
    { head: 'REV', cell: ({ revision }) => revision },
    { head: 'AT', cell: ({ recordedAt }) => recordedAt },
    { head: 'TYPE', cell: ({ type, skipped }) => (skipped ? `${type} (skipped)` : type), max: 40 },
    { head: 'BY', cell: ({ metadata }) => metadata.actor },
  ]
  return detailed(events, columns, ({ data }) => data)
}
