import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

interface Sources {
  readonly callbacks: Pick<CallbackCommands, 'endpointFailingSince'>
  readonly readModels: ReadModels
}

export const maxCounted = 1_000

/**
 * Returns the health of a merchant's endpoint: its state and the reason for it from the log, the start of a period of only failures that
 * lasts for at least ten minutes, and the waiting and parked callbacks, counted up to {@link maxCounted}.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function endpointHealth({ callbacks, readModels }: Sources, merchant: Merchant) {
  const { merchantId, settings, callbacksDisabled: reason } = merchant
  const count = (status: string) =>
    readModels.collection(collections.callbacks).countDocuments({ merchantId, status }, { limit: maxCounted })
  const failing = callbacks.endpointFailingSince(merchantId)
  const [failingSince, waiting, parked] = await Promise.all([failing, count('waiting'), count('parked')])
  const answers = failingSince !== null ? 'failing' : 'answering'
  const state: 'answering' | 'failing' | 'disabled' = reason !== null ? 'disabled' : answers
  return { url: settings.callbackUrl, state, reason, failingSince, waiting, parked }
}
