import { apiKeyId } from '../domain/merchant/api-key.js'
import { type Merchant, merchantDecider } from '../domain/merchant/merchant.js'
import { merchantStream, transferStream, userStream } from '../domain/streams.js'
import { transferDecider } from '../domain/transfer/transfer-decider.js'
import { type User, userDecider } from '../domain/user/user.js'
import { type EventStore, formatPosition, type RecordedEvent } from '../event-store/event-store.js'
import { parseTime } from '../kernel/time.js'
import { storedUuid } from '../kernel/uuid.js'
import { withTexts } from './overview.js'
import { foldAsOf, type PointInTime } from './point-in-time.js'
import { shownFields } from './recent-changes.js'
import { statementFromLog } from './statement.js'

type Store = Pick<EventStore, 'readStream'>
type Fields = { readonly [field: string]: unknown }

/** Returns the state, folded from its own events, or `undefined` if the transfer did not exist. Amounts are numbers in minor units. @throws StoreUnavailableError, UnreadableEventError */
export async function transferAsOf(store: Store, trackingId: string, asOf?: PointInTime) {
  const { state, last } = await foldAsOf(store, transferDecider, transferStream(trackingId), asOf)
  if (!last || state.kind === 'none') return undefined
  return stateAt(last, shownFields(state, Object.keys(state)))
}

/** As {@link transferAsOf}, without the merchant's secrets. @throws StoreUnavailableError, UnreadableEventError */
export async function merchantAsOf(store: Store, merchantId: string, asOf?: PointInTime) {
  const { state, last } = await foldAsOf(store, merchantDecider, merchantStream(merchantId), asOf)
  return last && state.merchantId !== null ? stateAt(last, shownMerchant(state)) : undefined
}

/** As {@link transferAsOf}, without the user's email and secrets. @throws StoreUnavailableError, UnreadableEventError */
export async function userAsOf(store: Store, userId: string, asOf?: PointInTime) {
  const { state, last } = await foldAsOf(store, userDecider, userStream(userId), asOf)
  return last && state.userId !== null ? stateAt(last, shownUser(state)) : undefined
}

/** Returns a state with its last event, whose position is as `formatPosition` prints it. */
function stateAt({ position, recordedAtMs, revision }: RecordedEvent, fields: Fields) {
  const recordedAt = new Date(recordedAtMs).toISOString()
  const state: Fields = { ...fields, revision }
  return { position: formatPosition(position), recordedAt, state }
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

function shownUser(user: User): Fields {
  return {
    ...shownFields(user, ['userId', 'name', 'role', 'merchantIds', 'disabled', 'heldBy', 'mustChangePassword']),
    hasSecondFactor: user.secondFactor !== null,
    unusedRecoveryCodes: user.recoveryCodes.length,
    ...shownFields(user, ['createdAt', 'lastSignInAt']),
  }
}

const statesOf = { transfer: transferAsOf, merchant: merchantAsOf, user: userAsOf }

interface StateQuery {
  readonly of: keyof typeof statesOf | 'statement'
  readonly id: string
  readonly asOf?: PointInTime | undefined
}

/**
 * Returns a state by kind and id; `<merchantId>` or `<merchantId>/<2026-11-21>` identifies a statement. Returns `undefined` if it did not
 * exist. @throws StoreUnavailableError, UnreadableEventError
 */
export async function stateAsOf(
  { store }: { readonly store: Pick<EventStore, 'readAll' | 'readStream'> },
  { of, id, asOf }: StateQuery,
) {
  if (of !== 'statement') {
    const stored = storedUuid(id)
    const found = await statesOf[of](store, stored, asOf)
    return found && { of, id: stored, ...found, statement: null }
  }
  const [merchant = '', day, ...rest] = id.split('/')
  if (rest.length > 0 || (day !== undefined && (!/^\d{4}-\d\d-\d\d$/.test(day) || !parseTime(day))))
    return 'malformed' as const
  const merchantId = storedUuid(merchant)
  if (!(await merchantAsOf(store, merchantId, asOf))) return undefined
  const { lines, ...last } = await statementFromLog(store, merchantId, day, asOf)
  const stored = day === undefined ? merchantId : `${merchantId}/${day}`
  return { of, id: stored, ...last, state: null, statement: lines.map(withTexts) }
}
