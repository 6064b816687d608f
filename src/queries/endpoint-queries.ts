import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

export interface EndpointHealth {
  readonly url: string
  /** `disabled` takes precedence over `failing`. */
  readonly state: 'answering' | 'failing' | 'disabled'
  readonly reason: string | null
  /** The start of a period of only failures, if it lasts for at least ten minutes. */
  readonly failingSince: string | null
  /** Counted up to {@link maxCounted}. */
  readonly waiting: number
  readonly parked: number
}

interface Sources {
  readonly callbacks: Pick<CallbackCommands, 'endpointFailingSince'>
  readonly readModels: ReadModels
}

export const maxCounted = 1_000

/** Reads the state and the reason from the log. @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function endpointHealth(sources: Sources, merchant: Merchant): Promise<EndpointHealth> {
  const { merchantId, settings, callbacksDisabled: reason } = merchant
  const [failingSince, waiting, parked] = await Promise.all([
    sources.callbacks.endpointFailingSince(merchantId),
    count(sources.readModels, { merchantId, status: 'waiting' }),
    count(sources.readModels, { merchantId, status: 'parked' }),
  ])
  const state = reason !== null ? 'disabled' : failingSince !== null ? 'failing' : 'answering'
  return { url: settings.callbackUrl, state, reason, failingSince, waiting, parked }
}

async function count(readModels: ReadModels, filter: { merchantId: string; status: string }): Promise<number> {
  return (await readModels.collection(collections.callbacks).find(filter, { limit: maxCounted })).length
}
