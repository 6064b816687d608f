import type { CommandContext } from '../handle-command.js'
import type { CallbackCommands } from './callback-commands.js'

export interface NamedCallback {
  readonly trackingId: string
  readonly webhookId: string
}

/** Callbacks to take up again, for somebody who may see those of some merchants. */
export interface ResendRequest {
  readonly callbacks: readonly NamedCallback[]
  readonly sees: (merchantId: string) => boolean
  /** A merchant, and its people, may do it no more often than `resend` allows; the house at any time. */
  readonly by: 'merchant' | 'house'
}

export type ResendResult =
  | { readonly accepted: true; readonly requeued: number }
  /** `unknown`: one of them is not there, or another merchant's; nothing was done. `too-often`: all of them were taken up a moment ago. */
  | { readonly accepted: false; readonly reason: 'unknown' }
  | { readonly accepted: false; readonly reason: 'too-often'; readonly retryAfterSeconds: number }

/** Lanes that are worked on at once; callbacks of one lane follow one another, as each is an event of the same stream. */
const lot = 16

/** @throws StoreUnavailableError, TooMuchContentionError: some may have been taken up by then, and are no second time */
export async function resendCallbacks(
  commands: CallbackCommands,
  { callbacks, sees, by }: ResendRequest,
  context: CommandContext,
): Promise<ResendResult> {
  const lanes = new Map<string, Set<string>>()
  for (const { trackingId, webhookId } of callbacks) {
    lanes.set(trackingId, (lanes.get(trackingId) ?? new Set()).add(webhookId))
  }
  const known = await inLots([...lanes], async ([trackingId, wanted]) => {
    const { merchantId, deliveries } = await commands.lane(trackingId)
    const there = new Set(deliveries.map(({ webhookId }) => webhookId))
    return merchantId !== null && sees(merchantId) && [...wanted].every((each) => there.has(each))
  })
  if (known.includes(false)) return { accepted: false, reason: 'unknown' }
  const waitSeconds: number[] = []
  const counts = await inLots([...lanes], async ([trackingId, wanted]) => {
    let requeued = 0
    for (const webhookId of wanted) {
      if (by === 'house') {
        const result = await commands.requeue(trackingId, { webhookId }, context)
        if (result.accepted) requeued += result.events.length
      } else {
        const result = await commands.resend(trackingId, { webhookId }, context)
        if (result.accepted) requeued += result.count
        else if (result.retryAfterSeconds !== undefined) waitSeconds.push(result.retryAfterSeconds)
      }
    }
    return requeued
  })
  const requeued = counts.reduce((sum, each) => sum + each, 0)
  if (requeued > 0 || waitSeconds.length === 0) return { accepted: true, requeued }
  return { accepted: false, reason: 'too-often', retryAfterSeconds: Math.min(...waitSeconds) }
}

async function inLots<Item, Result>(items: readonly Item[], act: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += lot) {
    results.push(...(await Promise.all(items.slice(from, from + lot).map(act))))
  }
  return results
}
