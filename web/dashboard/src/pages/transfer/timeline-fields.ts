import type { StoryItem } from '../../api/contract'

/** The fields that an entry shows without being expanded, in this order. */
const mainFields = [
  'receivedAmountMinor',
  'transactionAmountMinor',
  'collectedAmountMinor',
  'returnedAmountMinor',
  'resolvedAmountMinor',
  'approvedAmountMinor',
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

type Field = readonly [name: string, value: unknown]

/** Splits the fields of an event into those shown immediately and the rest. Fields that are null are omitted. */
export function timelineFields({ data }: StoryItem): {
  readonly shown: readonly Field[]
  readonly rest: readonly Field[]
} {
  const names: readonly string[] = mainFields
  const fields = Object.entries(data).filter(([, value]) => value !== null)
  const shown = fields
    .filter(([name, value]) => names.includes(name) && !(name.endsWith('Minor') && String(value) === '0'))
    .sort(([a], [b]) => names.indexOf(a) - names.indexOf(b))
  return { shown, rest: fields.filter((field) => !shown.includes(field)) }
}
