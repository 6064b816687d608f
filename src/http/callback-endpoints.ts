import { type NamedCallback, type ResendRequest, resendCallbacks } from '../commands/callback/callback-commands.js'
import type { CommandContext } from '../commands/handle-command.js'
import { storedUuid } from '../kernel/uuid.js'
import { isAnyRetried } from '../queries/callback-queries.js'
import type { ReadBy } from '../readers/readers.js'
import { RequestError } from './refusals.js'
import type { HttpServices } from './services.js'

/** Sends a test event. If it is delivered, the callbacks that wait after a failed attempt are sent again. @throws RequestError */
export async function sendTestEvent(
  { testEndpoint, callbacks, readModels, directory, clock }: HttpServices,
  merchantId: string,
  context: CommandContext,
) {
  const result = await testEndpoint(merchantId)
  if (!result) throw new RequestError('unknown-merchant')
  if (!result.sent) throw new RequestError('too-many-requests', { retryAfterSeconds: result.retryAfterSeconds })
  const { httpStatus, failure, durationMs, redirectsTo = null } = result.response
  const delivered = failure === null
  // Callbacks of a disabled endpoint are sent when it is enabled.
  const isEnabled = directory.byId(merchantId)?.callbacksDisabled === null
  const resendsWaiting = delivered && isEnabled && (await isAnyRetried(readModels, merchantId, clock()))
  if (resendsWaiting) await callbacks.requestRetry(merchantId, context)
  return { delivered, httpStatus, durationMs, failure, redirectsTo, resendsWaiting }
}

/** One request requeues at most this many callbacks; another one requeues the rest. */
const maxPerRequest = 1_000

type Wanted =
  | { readonly callbacks: readonly NamedCallback[] }
  /** ISO 8601 in UTC with milliseconds. */
  | { readonly merchantId: string; readonly parkedSince: string }

/** Requeues callbacks. `more`: there may be further callbacks beyond the limit of one request. @throws RequestError */
export async function requeueCallbacks(
  { callbacks: commands, readers, directory }: HttpServices,
  wanted: Wanted,
  { reader, ...who }: Pick<ResendRequest, 'sees' | 'by' | 'takeReplays'> & { readonly reader: ReadBy },
  context: CommandContext,
): Promise<{ readonly requeued: number; readonly more: boolean }> {
  const { callbacks, more } =
    'callbacks' in wanted
      ? { callbacks: wanted.callbacks.map(storedCallback), more: false }
      : await readers.page(reader, 'parkedSince', {
          merchantId: wanted.merchantId,
          since: wanted.parkedSince,
          limit: maxPerRequest,
        })
  const isSandbox = (id: string) => directory.byId(id)?.settings.sandbox === true
  const result = await resendCallbacks(commands, { callbacks, isSandbox, ...who }, context)
  if (result.accepted) return { requeued: result.requeued, more }
  if (result.reason === 'unknown') throw new RequestError('unknown-callback')
  throw new RequestError('resent-too-often', { retryAfterSeconds: result.retryAfterSeconds })
}

/** Returns the ids of a callback as they are stored. */
export function storedCallback({ trackingId, webhookId }: NamedCallback): NamedCallback {
  return { trackingId: storedUuid(trackingId), webhookId: storedUuid(webhookId) }
}
