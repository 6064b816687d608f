import type { CallbackCommands } from '../../commands/callbacks.js'
import { type Loaded, TooMuchContentionError } from '../../commands/handle-command.js'
import type { MerchantDirectory } from '../../commands/merchant-directory.js'
import type { MerchantCommands } from '../../commands/merchants.js'
import type { AttemptOutcome, Delivery, Lane } from '../../domain/callback/callback.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { callbackSecretKey } from '../../domain/merchant/secret-keys.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import { BackOff } from './back-off.js'
import { callbackBody } from './body.js'
import type { CallbackRequest } from './connection.js'
import type { Endpoint } from './endpoint.js'
import type { CallbackMetrics } from './metrics.js'
import { isGone, outcomeOf } from './outcome.js'
import { webhookSignature } from './signature.js'

export interface AttemptDependencies {
  readonly commands: CallbackCommands
  readonly merchantCommands: MerchantCommands
  readonly merchants: MerchantDirectory
  readonly clock: () => string
  readonly random: () => number
  readonly metrics: CallbackMetrics
}

/**
 * Sends a callback of the lane once and writes down what became of it. The report is repeated until the log takes it: giving up would
 * send the callback again and again while the log cannot be written.
 * @throws AttemptAbortedError when `signal` aborts, with nothing written: the callback will be sent again
 */
export async function attempt(
  deps: AttemptDependencies,
  endpoint: Endpoint,
  merchant: Merchant,
  trackingId: string,
  lane: Loaded<Lane>,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<{ readonly outcome: AttemptOutcome; readonly lane: Lane }> {
  const { commands, metrics, clock, random } = deps
  const { webhookId } = delivery
  const begunMs = Date.parse(clock())
  metrics.waited(begunMs - Date.parse(delivery.nextAttemptAt))
  const sender = await asOfNow(deps, merchant)
  const answer = await endpoint.connection.send(callbackRequest(deps, sender, trackingId, delivery, begunMs), signal)
  const atMs = Date.parse(clock())
  const outcome = outcomeOf(answer, delivery.attempts, atMs, random())
  if (answer.failure === null) endpoint.breaker.succeeded()
  else endpoint.breaker.failed(atMs)

  const context = { actor: 'system:callbacks', $correlationId: webhookId, $causationId: webhookId }
  // Before the report: nothing may go out to an endpoint that said it is gone.
  if (isGone(answer)) await disable(deps, endpoint, 'the endpoint answered 410 Gone', signal)
  const { httpStatus, durationMs } = answer
  const attempted = { attempt: delivery.attempts + 1, httpStatus, durationMs, outcome }
  const { state } = await untilWritten(
    () => commands.reportAttempt(trackingId, webhookId, attempted, context, lane),
    signal,
  )
  metrics.attempted(outcome.result, durationMs)
  if (outcome.result === 'delivered') await untilWritten(() => endpoint.health.succeeded(), signal)
  else if (await untilWritten(() => endpoint.health.failed(atMs), signal)) {
    await disable(deps, endpoint, 'nothing but failures for 120 hours', signal)
  }
  return { outcome, lane: state }
}

/**
 * The merchant as the log has it now, where callbacks are hashed with a SecretKey that it may have put aside a moment ago, at
 * another node: its receiver would refuse the hash.
 */
async function asOfNow({ merchants, clock }: AttemptDependencies, merchant: Merchant): Promise<Merchant> {
  if (callbackSecretKey(merchant.secretKeys, clock()) === merchant.secretKeys.all[0]) return merchant
  await merchants.catchUp()
  return merchants.byId(merchant.merchantId) ?? merchant
}

function callbackRequest(
  { merchants }: AttemptDependencies,
  merchant: Merchant,
  trackingId: string,
  delivery: Delivery,
  atMs: number,
): CallbackRequest {
  const { webhookId, transferRevision, payload } = delivery
  const { callbackUrl: url, sandbox } = merchant.settings
  const at = new Date(atMs).toISOString()
  const { number } = callbackSecretKey(merchant.secretKeys, at)
  const secretKey = merchants.secretKeys(merchant, at).find((key) => key.number === number)
  if (!secretKey) throw new Error(`merchant ${merchant.merchantId} has no SecretKey`)
  const body = callbackBody(payload, trackingId, secretKey.value)
  const timestamp = Math.floor(atMs / 1_000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'transferd',
    'webhook-id': webhookId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': webhookSignature(merchants.secrets(merchant, 'webhookSecret'), webhookId, timestamp, body),
    'x-transfer-revision': String(transferRevision),
  }
  return { url, sandbox, headers, body }
}

async function disable(deps: AttemptDependencies, endpoint: Endpoint, reason: string, signal: AbortSignal) {
  const { merchantId } = endpoint
  endpoint.holdUntilKnownDisabled(Date.parse(deps.clock()))
  const context = { actor: 'system:callbacks', $correlationId: merchantId, $causationId: merchantId }
  const result = await untilWritten(() => deps.merchantCommands.disableCallbacks(merchantId, reason, context), signal)
  if (result.accepted && result.changed) deps.metrics.disabled()
}

/** Repeats while the log is away. @throws whatever else `write` throws, and the last refusal once the signal aborts */
async function untilWritten<Result>(write: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  const backOff = new BackOff()
  for (;;) {
    try {
      return await write()
    } catch (error) {
      const passing = error instanceof StoreUnavailableError || error instanceof TooMuchContentionError
      if (!passing || signal.aborted) throw error
      await backOff.wait(signal)
    }
  }
}
