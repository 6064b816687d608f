import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

/** Where a merchant's callbacks go, and how they fare. */
export interface EndpointHealth {
  readonly url: string
  /** `disabled` goes before `failing`: nothing is sent. */
  readonly state: 'answering' | 'failing' | 'disabled'
  /** Why it is disabled. */
  readonly reason: string | null
  /** Nothing but failures since then, once it was ten minutes. */
  readonly failingSince: string | null
  /** At most {@link maxCounted}, which then means that many or more. */
  readonly waiting: number
  readonly parked: number
}

interface Sources {
  readonly callbacks: Pick<CallbackCommands, 'endpointFailingSince'>
  readonly readModels: ReadModels
}

export const maxCounted = 1_000

/** State and reason from the log, never behind. @throws StoreUnavailableError, ReadModelsUnavailableError */
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
