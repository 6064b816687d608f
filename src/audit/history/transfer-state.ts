import { apiKeyId } from '../../domain/merchant/api-key.js'
import { evolve, initialState, type Merchant } from '../../domain/merchant/merchant.js'
import { merchantStream, transferStream } from '../../domain/streams.js'
import type { Transfer } from '../../domain/transfer/transfer.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import { type EventStore, formatPosition, type RecordedEvent } from '../../event-store/event-store.js'
import { foldEvent } from '../../event-store/read-event.js'
import type { Decider } from '../../kernel/decision.js'
import { shownFields } from '../../queries/shown-fields.js'
import { type Moment, streamAt } from './point-in-time.js'

type Store = Pick<EventStore, 'readStream'>
type Fields = { readonly [field: string]: unknown }

/** What something was at a moment: the fold of its own events up to there, and never a read model. */
export interface StateThen<State> {
  /** Of the last event that counts, as `formatPosition` prints it. */
  readonly position: string
  readonly recordedAt: string
  readonly state: State
}

/** The fold of a stream up to a moment, and its last event there. @throws StoreUnavailableError, UnreadableEventError */
export async function foldAt<State, Event>(
  store: Store,
  { initialState, evolve }: Pick<Decider<State, never, Event>, 'initialState' | 'evolve'>,
  stream: string,
  moment: Moment | undefined,
): Promise<{ readonly state: State; readonly last: RecordedEvent | undefined }> {
  const events = streamAt(await store.readStream(stream), moment)
  const state = events.reduce((before, recorded) => foldEvent(evolve, before, recorded), initialState)
  return { state, last: events.at(-1) }
}

/** Undefined when it was not there then. Amounts are numbers, in minor units. @throws StoreUnavailableError, UnreadableEventError */
export async function transferAt(
  store: Store,
  trackingId: string,
  moment: Moment | undefined,
): Promise<StateThen<Fields> | undefined> {
  const { state, last } = await foldAt(store, transferDecider, transferStream(trackingId), moment)
  return last && state.kind !== 'none' ? then(last, { ...shownState(state), revision: last.revision }) : undefined
}

/** Likewise, without anything of its secrets. @throws StoreUnavailableError, UnreadableEventError */
export async function merchantAt(
  store: Store,
  merchantId: string,
  moment: Moment | undefined,
): Promise<StateThen<Fields> | undefined> {
  const { state, last } = await foldAt(store, { initialState, evolve }, merchantStream(merchantId), moment)
  return last && state.merchantId !== null
    ? then(last, { ...shownMerchant(state), revision: last.revision })
    : undefined
}

function then<State>({ position, recordedAtMs }: RecordedEvent, state: State): StateThen<State> {
  return { position: formatPosition(position), recordedAt: new Date(recordedAtMs).toISOString(), state }
}

function shownState(state: Transfer): Fields {
  return shownFields(state, Object.keys(state))
}

function shownMerchant(merchant: Merchant): Fields {
  const { apiKeys, secretKeys, webhookSecret } = merchant
  return {
    ...shownFields(merchant, ['merchantId', 'settings', 'suspended', 'callbacksDisabled', 'createdAt']),
    keys: apiKeys.map((key) => ({
      keyId: apiKeyId(key),
      ...shownFields(key, ['name', 'scopes', 'createdAt', 'validUntil']),
    })),
    secretKeys: secretKeys.all.map(({ number, validUntil }) => ({ number, validUntil })),
    previousWebhookSecretValidUntil: webhookSecret.previous?.validUntil ?? null,
  }
}
