import type { ExceededLimit } from './withdrawal-limits.js'

/** The values that explain a violated rule, by their kind. Each reader's texts format them in the reader's language. */
export interface Kinds {
  /** Minor units. */
  readonly amount: bigint
  readonly number: number
  /** ISO 8601 in UTC. */
  readonly time: string
  /** The actor of an event's metadata, or the name under which the reader knows it. */
  readonly actor: string
  readonly status: string
  readonly role: string
  readonly task: string
  /** The latest changes of a transfer, oldest first. */
  readonly changes: readonly Change[]
  /** The limits that a payout is beyond. */
  readonly limits: readonly ExceededLimit[]
  readonly text: string
}

export type Change = { readonly type: string; readonly by: string; readonly at: string }
export type ValueKind = keyof Kinds
export type RuleValue = Kinds[ValueKind]

/** The kinds of the values by their names. A value with any other name is a text. */
export const kinds = {
  ...({
    amount: 'amount',
    booked: 'amount',
    confirmed: 'amount',
    largest: 'amount',
    left: 'amount',
    lowest: 'amount',
  } as const),
  ...({ requested: 'amount', returned: 'amount', smallest: 'amount' } as const),
  ...({ received: 'amount', corrected: 'amount', proposed: 'amount' } as const),
  ...({ days: 'number', kibibytes: 'number', least: 'number', limit: 'number', megabytes: 'number' } as const),
  ...({ method: 'number', most: 'number', revision: 'number' } as const),
  ...({
    until: 'time',
    done: 'time',
    by: 'actor',
    status: 'status',
    role: 'role',
    task: 'task',
    changes: 'changes',
    exceeded: 'limits',
  } as const),
}

export function kindOf(name: string): ValueKind {
  const known: { readonly [name: string]: ValueKind } = kinds
  return known[name] ?? 'text'
}
export type RuleValues = Readonly<Record<string, RuleValue>>
