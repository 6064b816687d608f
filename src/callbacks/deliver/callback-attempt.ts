import pRetry from 'p-retry'
import type { CallbackCommands, LoadedLane } from '../../commands/callback/callback-commands.js'
import { type Loaded, TooMuchContentionError } from '../../commands/handle-command.js'
import type { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Delivery, Lane } from '../../domain/callback.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { annotate, inSpanOf } from '../../tracing/tracing.js'
import type { CallbackMetrics } from '../callback-metrics.js'
import type { CallbackTiming } from '../callback-timing.js'
import type { CallbackEndpoint } from './callback-endpoint.js'
import { signCallback } from './callback-signing.js'
import { endpointContext } from './endpoint-health.js'
import { isGone, outcomeOf } from './retry-schedule.js'

export interface AttemptDependencies {
  readonly commands: CallbackCommands
  readonly merchantCommands: MerchantCommands
  readonly merchants: MerchantDirectory
  readonly clock: Clock
  readonly random: () => number
  readonly metrics: CallbackMetrics
  readonly timing: CallbackTiming
}

/** The lane's next delivery, to its merchant's endpoint. */
export interface Attempt {
  readonly endpoint: CallbackEndpoint
  readonly merchant: Merchant
  readonly trackingId: string
  readonly lane: LoadedLane
  readonly delivery: Delivery
  /** Passes the lane's newest known state to `work`. Another callback may have been recorded during the attempt. */
  readonly appendToLane: <Appended extends Loaded<Lane>>(
    work: (newest: Loaded<Lane>) => Promise<Appended>,
  ) => Promise<Appended>
  /** Called once the response or failure is known, so that another attempt can start. Resolves when the report can be appended. */
  readonly onResponse: () => Promise<void>
}

/** Sends a callback once and reports the outcome. A callback that is not reported is sent again. @throws the reason of the signal if it aborts */
export function attemptCallback(deps: AttemptDependencies, attempt: Attempt, signal: AbortSignal) {
  const { trackingId, lane, delivery, merchant } = attempt
  const cause = lane.causes.get(delivery.webhookId)
  const start = () => {
    const attributes = {
      'transferd.tracking_id': trackingId,
      'transferd.merchant_id': merchant.merchantId,
      'transferd.callback.attempt': delivery.attempts + 1,
      ...(cause && { 'transferd.correlation_id': cause.$correlationId }),
    }
    return { name: 'callback deliver', kind: 'client', attributes } as const
  }
  return inSpanOf(cause && { metadata: cause }, start, async () => {
    const result = await sendAndReport(deps, attempt, signal)
    annotate(() => ({ 'transferd.callback.outcome': result.outcome.result }))
    return result
  })
}

async function sendAndReport(deps: AttemptDependencies, attempt: Attempt, signal: AbortSignal) {
  const { endpoint, merchant, trackingId, lane, delivery, appendToLane, onResponse } = attempt
  const { commands, metrics, clock, random } = deps
  const { webhookId } = delivery
  const startedMs = Date.parse(clock())
  metrics.observeWait(Math.max(0, startedMs - Date.parse(delivery.nextAttemptAt)))
  const request = await signCallback(deps.merchants, merchant, trackingId, delivery, startedMs)
  const response = await endpoint.connection.send(request, signal)
  const nowMs = Date.parse(clock())
  const outcome = outcomeOf(response, delivery.attempts, nowMs, random())
  if (response.failure === null) endpoint.breaker.recordSuccess()
  else endpoint.breaker.recordFailure(endpoint.nowMs())

  if (isGone(response)) endpoint.holdUntilKnownDisabled()
  const canReport = onResponse()
  // Disable the endpoint before the report: its callbacks are due from then on, and must not be sent before it is disabled.
  if (isGone(response)) await disable(deps, attempt, 'the endpoint responded with 410 Gone', signal)
  await canReport
  const { httpStatus, durationMs } = response
  const report = { attempt: delivery.attempts + 1, httpStatus, durationMs, outcome }
  const $correlationId = lane.causes.get(webhookId)?.$correlationId ?? webhookId
  const context = { actor: 'system:callbacks', $correlationId, $causationId: webhookId }
  const write = <Result>(work: () => Promise<Result>) => retryWrite(work, deps.timing, signal)
  const reported = await write(() =>
    appendToLane(async (newest) => {
      const result = await commands.reportAttempt(trackingId, webhookId, report, context, newest)
      if (!result.accepted) throw new Error(`${trackingId}: ${result.refusal.rule}`)
      return result
    }),
  )
  metrics.observeAttempt(merchant.merchantId, outcome.result, durationMs)
  if (outcome.result === 'delivered') {
    if (!endpoint.health.isKnownHealthy) await write(() => endpoint.health.succeeded())
  } else if (await write(() => endpoint.health.failed(nowMs))) {
    await disable(deps, attempt, 'every attempt failed for 120 hours', signal)
  }
  return { outcome, response, lane: { ...lane, ...reported } }
}

/** Disables the endpoint unless its URL has changed since the attempt. */
async function disable(
  deps: AttemptDependencies,
  { endpoint, merchant }: Attempt,
  reason: string,
  signal: AbortSignal,
) {
  const { merchantId } = endpoint
  endpoint.holdUntilKnownDisabled()
  const command = { type: 'DisableCallbacks', reason, ofUrl: merchant.settings.callbackUrl } as const
  const write = () => deps.merchantCommands.execute(merchantId, command, endpointContext(merchantId))
  const result = await retryWrite(write, deps.timing, signal)
  if (result.accepted && result.changed) deps.metrics.countDisabled()
}

/** Retries while the log is unavailable. @throws other errors of `write`, and the signal's reason */
function retryWrite<Result>(
  write: () => Promise<Result>,
  timing: CallbackTiming,
  signal: AbortSignal,
): Promise<Result> {
  return pRetry(write, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: timing.reportRetryMs,
    maxTimeout: 10_000,
    signal,
    shouldRetry: ({ error }) => error instanceof StoreUnavailableError || error instanceof TooMuchContentionError,
  })
}
