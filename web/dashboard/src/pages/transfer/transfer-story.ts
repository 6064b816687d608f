import type { StoryItem } from '../../../../../src/http/dashboard/api'

/** A callback of a status, with the events of its attempts, oldest first. */
export interface StoryCallback {
  readonly webhookId: string
  readonly attempts: readonly StoryItem[]
  /** The state after the last event. */
  readonly state: 'waiting' | 'delivered' | 'parked'
}

export interface StoryEntry {
  readonly item: StoryItem
  /** The time since the previous entry; null for the first one. */
  readonly tookMs: number | null
  readonly callbacks: readonly StoryCallback[]
}

const states: { readonly [type: string]: StoryCallback['state'] } = {
  CallbackDelivered: 'delivered',
  CallbackParked: 'parked',
}

/** Returns the history with the events of callbacks folded into the events that they report, oldest first. */
export function storyOf(items: readonly StoryItem[]): readonly StoryEntry[] {
  const callbacks = callbacksByRevision(items)
  const own = items.filter(({ source }) => source !== 'callback')
  return own.map((item, index) => {
    const previous = own[index - 1]
    return {
      item,
      tookMs: previous ? Math.max(0, Date.parse(item.at) - Date.parse(previous.at)) : null,
      callbacks: (item.source === 'transfer' && callbacks.get(item.revision)) || [],
    }
  })
}

function callbacksByRevision(items: readonly StoryItem[]): ReadonlyMap<number, readonly StoryCallback[]> {
  const events = items.filter(({ source }) => source === 'callback')
  const found = new Map<number, StoryCallback[]>()
  for (const { type, data } of events) {
    if (type !== 'CallbackRecorded') continue
    const webhookId = String(data.webhookId)
    const own = events.filter((event) => event.data.webhookId === data.webhookId)
    const callback = {
      webhookId,
      attempts: own.filter((event) => event.type === 'CallbackDelivered' || event.type === 'CallbackAttemptFailed'),
      state: states[own.at(-1)?.type ?? ''] ?? ('waiting' as const),
    }
    const revision = Number(data.transferRevision)
    found.set(revision, [...(found.get(revision) ?? []), callback])
  }
  return found
}

export type StepName =
  | 'requested'
  | 'claimed'
  | 'approved'
  | 'received'
  | 'manualControl'
  | 'completed'
  | 'cancelled'
  | 'failed'
  | 'reopened'
  | 'returned'
  | 'corrected'
  | 'notified'

interface Step {
  readonly name: StepName
  /** Null while the step is still to come. */
  readonly at: string | null
  /** The time until the next step; null after the last one. */
  readonly tookMs: number | null
}

const stepNames: { readonly [type: string]: StepName } = {
  DepositCreated: 'requested',
  WithdrawalCreated: 'requested',
  WithdrawalClaimed: 'claimed',
  WithdrawalApproved: 'approved',
  FundsReceived: 'received',
  LateFundsReceived: 'received',
  TransferSentToManualControl: 'manualControl',
  TransferCompleted: 'completed',
  TransferCancelled: 'cancelled',
  TransferFailed: 'failed',
  TransferReopened: 'reopened',
  FundsReturned: 'returned',
  WithdrawalReturned: 'returned',
  TransferCorrected: 'corrected',
}
const ends: readonly StepName[] = ['completed', 'cancelled', 'failed']

/** Returns how far a transfer is: the latest event of each kind, then `coming`, the steps that an open transfer still needs. */
export function stepsOf(items: readonly StoryItem[], coming: readonly StepName[]): readonly Step[] {
  const latest = new Map<StepName, string>()
  for (const { type, at, source } of items) {
    const name = source === 'transfer' ? stepNames[type] : undefined
    if (!name) continue
    // A later event of the same kind replaces the earlier one, at its own place.
    if (name !== 'requested') latest.delete(name)
    latest.set(name, at)
  }
  const done = [...latest].map(([name, at]) => ({ name, at }))
  const callbacks = [...callbacksByRevision(items).values()].flat()
  const delivered = callbacks.at(-1)?.attempts.findLast(({ type }) => type === 'CallbackDelivered')
  const notified = callbacks.length > 0 ? [{ name: 'notified' as const, at: delivered?.at ?? null }] : []
  const all: readonly { readonly name: StepName; readonly at: string | null }[] =
    coming.length > 0
      ? [...done.filter(({ name }) => !ends.includes(name)), ...coming.map((name) => ({ name, at: null }))]
      : // Money can arrive after the merchant was notified of the end.
        [...done, ...notified].sort((a, b) => ((a.at ?? '~') < (b.at ?? '~') ? -1 : 1))
  return all.map(({ name, at }, index) => {
    const next = all[index + 1]?.at
    return { name, at, tookMs: at && next ? Math.max(0, Date.parse(next) - Date.parse(at)) : null }
  })
}

/** An actor that is not a person, such as `merchant:<id>` or `system:projection`. */
const machine = /^(customer|operator|merchant|system|cli|user)(:|$)/

/** Returns the users who took part, with the type of each one's last event, in the order of their first. */
export function peopleOf(items: readonly StoryItem[]): readonly { readonly name: string; readonly did: string }[] {
  const people = new Map<string, string>()
  for (const { actor, type, source } of items) {
    if (source !== 'callback' && actor !== '' && !machine.test(actor)) people.set(actor, type)
  }
  return [...people].map(([name, did]) => ({ name, did }))
}
