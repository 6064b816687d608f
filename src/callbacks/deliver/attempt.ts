import pRetry from 'p-retry'
import type { CallbackCommands, LoadedLane } from '../../commands/callback/callback-commands.js'
import { TooMuchContentionError } from '../../commands/handle-command.js'
import type { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { AttemptOutcome, Delivery, Lane } from '../../domain/callback/callback-decider.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import { annotate, inSpanOf } from '../../tracing/tracing.js'
import type { CallbackMetrics } from '../callback-metrics.js'
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
  readonly lane: LoadedLane
  readonly delivery: Delivery
  /** Called when the endpoint's answer is known, or that there is none: another may go out to it. Resolves when it may be written down. */
  readonly answered: () => Promise<void>
}

/**
 * Sends a callback once and writes down what became of it. The report is repeated until the log takes it: giving up would
 * send the callback again and again while the log cannot be written.
 * @throws the signal's reason when it aborts: what is not written down then will be sent again
 */
export function attempt(deps: AttemptDependencies, attempted: Attempted, signal: AbortSignal): Promise<Attempt> {
  const { trackingId, lane, delivery, merchant } = attempted
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
    const done = await sendAndReport(deps, attempted, signal)
    annotate(() => ({ 'transferd.callback.outcome': done.outcome.result }))
    return done
  })
}

interface Attempt {
  readonly outcome: AttemptOutcome
  readonly lane: Lane
}

async function sendAndReport(
  deps: AttemptDependencies,
  { endpoint, merchant, trackingId, lane, delivery, answered }: Attempted,
  signal: AbortSignal,
): Promise<Attempt> {
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

  const gone = isGone(answer)
  // Nothing may go out to an endpoint that said it is gone.
  if (gone) endpoint.holdUntilKnownDisabled(atMs)
  const turn = answered()
  // Before the report: what waits for the endpoint to be enabled is due then, and not while it is about to be disabled.
  if (gone) await disable(deps, endpoint, 'the endpoint answered 410 Gone', signal)
  await turn
  const { httpStatus, durationMs } = answer
  const report = { attempt: delivery.attempts + 1, httpStatus, durationMs, outcome }
  const $correlationId = lane.causes.get(webhookId)?.$correlationId ?? webhookId
  const context = { actor: 'system:callbacks', $correlationId, $causationId: webhookId }
  const { state } = await untilWritten(
    () => commands.reportAttempt(trackingId, webhookId, report, context, lane),
    signal,
  )
  metrics.attempted(merchant.merchantId, outcome.result, durationMs)
  if (outcome.result === 'delivered') {
    if (!endpoint.health.isKnownWell) await untilWritten(() => endpoint.health.succeeded(), signal)
  } else if (await untilWritten(() => endpoint.health.failed(atMs), signal)) {
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
async function untilWritten<Result>(write: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  try {
    return await write()
  } catch (error) {
    if (!isRetried(error)) throw error
  }
  return pRetry(write, {
    ...{ retries: Number.POSITIVE_INFINITY, minTimeout: 250, maxTimeout: 10_000, signal },
    shouldRetry: ({ error }) => isRetried(error),
  })
}

function isRetried(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof TooMuchContentionError
}
