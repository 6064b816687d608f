import { callbackDecider } from '../domain/callback.js'
import { type Folded, refuse } from '../domain/decider.js'
import { merchantDecider } from '../domain/merchant/merchant.js'
import { skippedEventsStream, streamKind, streamPrefix } from '../domain/streams.js'
import { transferDecider } from '../domain/transfer/transfer-decider.js'
import { userDecider } from '../domain/user/user.js'
import { walletAccountDecider } from '../domain/wallet-account.js'
import { encodeEvent, shownType, UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../event-store/event-store.js'
import { foldEvent, unreadableReason } from '../event-store/read-event.js'
import type { Clock } from '../kernel/time.js'
import { appendToEnd, type CommandContext } from './handle-command.js'

/** The deciders by stream prefix. The events of other streams do not depend on earlier ones. */
const deciders = new Map<string | undefined, Folded<unknown, never>>([
  [streamPrefix.transfer, transferDecider],
  [streamPrefix.merchant, merchantDecider],
  [streamPrefix.callback, callbackDecider],
  [streamPrefix.wallet, walletAccountDecider],
  [streamPrefix.user, userDecider],
])

/** Skips an unreadable event in every process and node. A repeat changes nothing. @throws StoreUnavailableError, TooMuchContentionError */
export async function skipEvent(
  { store, clock }: { readonly store: EventStore; readonly clock: Clock },
  { stream, revision, reason }: { readonly stream: string; readonly revision: number; readonly reason: string },
  context: CommandContext,
) {
  if (streamKind(stream) === undefined) return refuse('not-found', 'unknown-stream', { stream })
  const events = await store.readStream(stream, { maxCount: revision + 1 })
  const recorded = events.find((event) => event.revision === revision)
  if (!recorded) return refuse('not-found', 'unknown-event', { stream, revision })
  const problem = unreadableReason(recorded) ?? inapplicableReason(stream, events, recorded)
  if (problem === undefined) return refuse('conflict', 'event-readable')
  if (recorded.isSkipped) return { accepted: true, problem, changed: false } as const
  const { id: eventId, type } = recorded
  const data = { stream, revision, eventId, eventType: shownType(type), problem, reason, at: clock() }
  await appendToEnd(store, skippedEventsStream, encodeEvent({ type: 'EventSkipped', data }, context))
  return { accepted: true, problem, changed: true } as const
}

/** Returns why a readable event cannot be applied: for example, a transfer whose creation is skipped cannot be completed. */
function inapplicableReason(
  stream: string,
  events: readonly RecordedEvent[],
  { revision, isSkipped }: RecordedEvent,
): string | undefined {
  if (isSkipped) return 'it cannot be applied to the events before it'
  try {
    const decider = deciders.get(streamKind(stream))
    if (decider) events.reduce((state, each) => foldEvent(decider.evolve, state, each), decider.initialState)
    return undefined
  } catch (error) {
    // An earlier unreadable event must be skipped first: only then is it known whether this one can be applied.
    if (error instanceof UnreadableEventError) return error.revision === revision ? error.reason : undefined
    throw error
  }
}
