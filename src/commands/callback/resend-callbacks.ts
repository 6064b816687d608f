import type { CommandContext } from '../handle-command.js'
import type { CallbackCommands } from './callback-commands.js'

export interface NamedCallback {
  readonly trackingId: string
  readonly webhookId: string
}

/** A request to resend callbacks, by a caller who is allowed to see those of some merchants. */
export interface ResendRequest {
  readonly callbacks: readonly NamedCallback[]
  readonly sees: (merchantId: string) => boolean
  /** The rate is limited for a merchant and its users, and unlimited for the operator. */
  readonly by: 'merchant' | 'operator'
}

export type ResendResult =
  | { readonly accepted: true; readonly requeued: number }
  /** `unknown`: a callback does not exist or is not visible, and nothing was done. `too-often`: all of them were resent just now. */
  | { readonly accepted: false; readonly reason: 'unknown' }
  | { readonly accepted: false; readonly reason: 'too-often'; readonly retryAfterSeconds: number }

/** The lanes are handled concurrently. The callbacks of a lane are handled one at a time, because they share a stream. */
const concurrency = 16

/**
 * Resends callbacks. After an error some may be requeued already; a repeat does not requeue them again.
 * @throws StoreUnavailableError, TooMuchContentionError
 */
export async function resendCallbacks(
  commands: CallbackCommands,
  { callbacks, sees, by }: ResendRequest,
  context: CommandContext,
): Promise<ResendResult> {
  const lanes = new Map<string, Set<string>>()
  for (const { trackingId, webhookId } of callbacks) {
    lanes.set(trackingId, (lanes.get(trackingId) ?? new Set()).add(webhookId))
  }
  const known = await inBatches([...lanes], async ([trackingId, wanted]) => {
    const { merchantId, deliveries } = await commands.lane(trackingId)
    const there = new Set(deliveries.map(({ webhookId }) => webhookId))
    return merchantId !== null && sees(merchantId) && [...wanted].every((each) => there.has(each))
  })
  if (known.includes(false)) return { accepted: false, reason: 'unknown' }
  const waitSeconds: number[] = []
  const counts = await inBatches([...lanes], async ([trackingId, wanted]) => {
    let requeued = 0
    for (const webhookId of wanted) {
      if (by === 'operator') {
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

async function inBatches<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += concurrency) {
    results.push(...(await Promise.all(items.slice(from, from + concurrency).map(act))))
  }
  return results
}
