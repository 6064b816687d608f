import type { StoryItem } from '../../api/contract'

/** What an entry says at a glance, in this order; the rest is there for whoever asks. */
const atAGlance = [
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

/** Fields that say nothing (null, an amount of nothing) are among neither. */
export function told({ data }: StoryItem): { readonly shown: readonly Field[]; readonly rest: readonly Field[] } {
  const names: readonly string[] = atAGlance
  const fields = Object.entries(data).filter(([, value]) => value !== null)
  const shown = fields
    .filter(([name, value]) => names.includes(name) && !(name.endsWith('Minor') && String(value) === '0'))
    .sort(([a], [b]) => names.indexOf(a) - names.indexOf(b))
  return { shown, rest: fields.filter((field) => !shown.includes(field)) }
}
