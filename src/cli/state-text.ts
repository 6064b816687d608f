import type { stateAsOf } from '../queries/state-as-of.js'
import { fieldTable, textField } from './field-table.js'
import type { Names } from './names.js'
import { exactTime } from './readable.js'

type State = Exclude<Awaited<ReturnType<typeof stateAsOf>>, 'malformed' | undefined>
type Line = NonNullable<State['statement']>[number]

/** The figures of a statement: the amount, and the number of transfers if it is counted. The labels are those of the dashboard. */
const figures = [
  ['Requested', 'requestedMinor', 'requestedCount'],
  ['Held at the start', 'openingMinor'],
  ['Received', 'receivedMinor'],
  ['Completed', 'completedMinor', 'completedCount'],
  ['Difference', 'mismatchMinor'],
  ['Corrected', 'correctedMinor', 'correctedCount'],
  ['Returned', 'returnedMinor'],
  ['Of it booked', 'refundedMinor'],
  ['Kept', 'keptMinor'],
  ['Resolved', 'resolvedMinor'],
  ['Held at the end', 'heldMinor'],
  ['Open at the end', 'openMinor', 'openCount'],
] as const satisfies readonly (readonly [string, keyof Line, (keyof Line)?])[]
const labelWidth = Math.max(...figures.map(([label]) => label.length))

/** Returns a state as one field per line, after its subject and its last event. */
export function stateText({ of, id, position, recordedAt, state, statement }: State, names: Names): string {
  // The first line names the user. The label of `userId` is that of a merchant's customer.
  const { userId, ...shown } = state ?? {}
  const last =
    position === null || recordedAt === null ? '-' : `position ${position}, recorded ${exactTime(recordedAt)}`
  const heads = [
    ['State of', `${of} ${subjectOf({ of, id, state }, names)}`],
    ['Last event', last],
  ] as const
  const head = `${heads.map(([label, text]) => textField(label, text, 10)).join('')}\n`
  if (state) return `${head}${fieldTable(of === 'user' ? shown : state, names)}`
  if (!statement || statement.length === 0) return `${head}No activity.\n`
  return `${head}${statement.map((line) => lineText(line, names)).join('\n')}`
}

function subjectOf({ of, id, state }: Pick<State, 'of' | 'id' | 'state'>, names: Names): string {
  if (of === 'transfer') return id
  if (of === 'user') return `${state?.name} (${id})`
  const [merchantId, ...day] = id.split('/')
  return [names.value('merchantId', merchantId), ...day].join(', ')
}

function lineText(line: Line, names: Names): string {
  const rows = figures.map(([label, amount, count]) => {
    const counted = count === undefined ? '' : ` (${line[count]})`
    return textField(label, `${names.value(amount, line[amount])}${counted}`, labelWidth, '  ')
  })
  return `${line.day}, ${line.kind}s\n${rows.join('')}`
}
