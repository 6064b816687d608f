/** An event of a history, whose amounts are numbers or decimal digits in minor units. */
interface ShownEvent {
  readonly type: string
  readonly data: { readonly [field: string]: unknown }
}

/** The fields that an entry of a history shows without being expanded, in this order. */
const mainFields = [
  'receivedAmountMinor',
  'transactionAmountMinor',
  'collectedAmountMinor',
  'returnedAmountMinor',
  'refundAmountMinor',
  'repaymentAmountMinor',
  'resolvedAmountMinor',
  'approvedAmountMinor',
  'correctedAmountMinor',
  'previousAmountMinor',
  'effect',
  'matchedAmountMinor',
  'bankReference',
  'bankReasonCode',
  'bankReasonText',
  'reasonCode',
  'reference',
  'proposedBy',
  'attempt',
  'httpStatus',
  'durationMs',
  'outcome',
  'message',
  'reason',
  'nextAttemptAt',
  'until',
  'expiresAt',
  'receiptUrl',
] as const

/**
 * The open records of events: objects whose keys and values are any texts of a merchant. A test compares this list with the schemas of all
 * events.
 */
export const openRecords: ReadonlySet<string> = new Set(['metadata'])

/**
 * Returns whether the value of a field is an open record, which is shown unchanged: the name of a field decides how its value is formatted,
 * but a key such as `amountMinor` of a merchant has no such meaning.
 */
export function isOpenRecord(name: string, value: unknown): value is { readonly [key: string]: string } {
  if (!openRecords.has(name) || typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((each) => typeof each === 'string')
}

/** Returns whether a field has a value to show. After an erasure, an open record is empty. */
export function hasValue(name: string, value: unknown): boolean {
  return value !== null && value !== undefined && !(isOpenRecord(name, value) && Object.keys(value).length === 0)
}

type Field = readonly [name: string, value: unknown]

/** Splits the fields of an event into those shown immediately and the rest. Fields without a value are omitted. */
export function timelineFields({ data }: Pick<ShownEvent, 'data'>): {
  readonly shown: readonly Field[]
  readonly rest: readonly Field[]
} {
  const names: readonly string[] = mainFields
  const fields = Object.entries(data).filter(([name, value]) => hasValue(name, value))
  const shown = fields
    .filter(([name, value]) => names.includes(name) && !(name.endsWith('Minor') && String(value) === '0'))
    .sort(([a], [b]) => names.indexOf(a) - names.indexOf(b))
  return { shown, rest: fields.filter((field) => !shown.includes(field)) }
}

/** The fields whose amount an entry shows next to the name of the event; the first one that is present. */
const amounts = [
  'transactionAmountMinor',
  'receivedAmountMinor',
  'returnedAmountMinor',
  'refundAmountMinor',
  'repaymentAmountMinor',
  'resolvedAmountMinor',
  'approvedAmountMinor',
  'correctedAmountMinor',
  'collectedAmountMinor',
  'matchedAmountMinor',
]
/** The texts that people wrote. The reason of a cancellation and the message of a correction are codes. */
const words = ['message', 'reason']
const codes = ['TransferCancelled reason', 'TransferCorrected message']

/** Splits the main fields of an event into its amount, the texts that people wrote, and the others. */
export function storyFields(item: ShownEvent) {
  const { shown } = timelineFields(item)
  const isCreated = item.type === 'DepositCreated' || item.type === 'WithdrawalCreated'
  const amount = isCreated
    ? item.data.amountMinor
    : amounts.map((name) => shown.find((field) => field[0] === name)?.[1]).find((value) => value !== undefined)
  return {
    amountMinor: amount === undefined || amount === null ? undefined : BigInt(String(amount)),
    facts: shown.filter(([name, value]) => value !== amount && !words.includes(name)),
    words: shown.flatMap(([name, value]) => (isWords(item, name) && typeof value === 'string' ? [value] : [])),
  }
}

/** Returns whether a field of an event is a text that a person or a program wrote for readers. */
export function isWords({ type }: Pick<ShownEvent, 'type'>, field: string): boolean {
  return words.includes(field) && !codes.includes(`${type} ${field}`)
}
