import pRetry from 'p-retry'
import type { CallbackCommands } from '../../commands/callbacks.js'
import { type Loaded, TooMuchContentionError } from '../../commands/handle-command.js'
import type { MerchantDirectory } from '../../commands/merchant-directory.js'
import type { MerchantCommands } from '../../commands/merchants.js'
import type { AttemptOutcome, Delivery, Lane } from '../../domain/callback/callback.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import type { CallbackMetrics } from '../metrics.js'
import type { Endpoint } from './endpoint.js'
import { isGone, outcomeOf } from './schedule.js'
import { signedCallback } from './sign.js'

export interface AttemptDependencies {
  readonly commands: CallbackCommands
  readonly merchantCommands: MerchantCommands
  readonly merchants: MerchantDirectory
  readonly clock: () => string
  readonly random: () => number
  readonly metrics: CallbackMetrics
}

/** What is sent: the lane's next delivery, to its merchant's endpoint. */
export interface Attempted {
  readonly endpoint: Endpoint
  readonly merchant: Merchant
  readonly trackingId: string
  readonly lane: Loaded<Lane>
  readonly delivery: Delivery
}

/**
 * Sends a callback once and writes down what became of it. The report is repeated until the log takes it: giving up would
 * send the callback again and again while the log cannot be written.
 * @throws the signal's reason when it aborts: what is not written down then will be sent again
 */
export async function attempt(
  deps: AttemptDependencies,
  { endpoint, merchant, trackingId, lane, delivery }: Attempted,
  signal: AbortSignal,
): Promise<{ readonly outcome: AttemptOutcome; readonly lane: Lane }> {
  const { commands, metrics, clock, random } = deps
  const { webhookId } = delivery
  const begunMs = Date.parse(clock())
  metrics.waited(begunMs - Date.parse(delivery.nextAttemptAt))
  const request = await signedCallback(deps.merchants, merchant, trackingId, delivery, begunMs)
  const answer = await endpoint.connection.send(request, signal)
  const atMs = Date.parse(clock())
  const outcome = outcomeOf(answer, delivery.attempts, atMs, random())
  if (answer.failure === null) endpoint.breaker.succeeded()
  else endpoint.breaker.failed(atMs)

  // Before the report: nothing may go out to an endpoint that said it is gone.
  if (isGone(answer)) await disable(deps, endpoint, 'the endpoint answered 410 Gone', signal)
  const { httpStatus, durationMs } = answer
  const report = { attempt: delivery.attempts + 1, httpStatus, durationMs, outcome }
  const context = { actor: 'system:callbacks', $correlationId: webhookId, $causationId: webhookId }
  const { state } = await untilWritten(
    () => commands.reportAttempt(trackingId, webhookId, report, context, lane),
    signal,
  )
  metrics.attempted(outcome.result, durationMs)
  if (outcome.result === 'delivered') await untilWritten(() => endpoint.health.succeeded(), signal)
  else if (await untilWritten(() => endpoint.health.failed(atMs), signal)) {
    await disable(deps, endpoint, 'nothing but failures for 120 hours', signal)
  }
  return { outcome, lane: state }
}

async function disable(deps: AttemptDependencies, endpoint: Endpoint, reason: string, signal: AbortSignal) {
  const { merchantId } = endpoint
  endpoint.holdUntilKnownDisabled(Date.parse(deps.clock()))
  const context = { actor: 'system:callbacks', $correlationId: merchantId, $causationId: merchantId }
  const result = await untilWritten(() => deps.merchantCommands.disableCallbacks(merchantId, reason, context), signal)
  if (result.accepted && result.changed) deps.metrics.disabled()
}

/** Retries while the log is unavailable. @throws whatever else `write` throws, and the signal's reason */
function untilWritten<Result>(write: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  return pRetry(write, {
    ...{ retries: Number.POSITIVE_INFINITY, minTimeout: 250, maxTimeout: 10_000, signal },
    shouldRetry: ({ error }) => error instanceof StoreUnavailableError || error instanceof TooMuchContentionError,
  })
}
