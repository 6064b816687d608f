import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { collections } from '../read-models/documents.js'
import { attemptsOf } from '../read-models/endpoint-attempts.js'
import type { ReadModels } from '../read-models/read-models.js'

interface Sources {
  readonly callbacks: Pick<CallbackCommands, 'endpointState'>
  readonly readModels: ReadModels
}

const maxCounted = 1_000

/**
 * Returns since when every attempt has failed, or `null`. The attempts that users see show the first failure; the log records a failure
 * that lasts, and keeps it if the read models are lost. @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function failingSinceOf({ callbacks, readModels }: Sources, merchantId: string) {
  const [{ failingSince: recorded }, seen] = await Promise.all([
    callbacks.endpointState(merchantId),
    attemptsOf(readModels, merchantId),
  ])
  const hasRecovered = seen?.attempts.at(-1)?.failure === null
  return { failingSince: hasRecovered ? null : (recorded ?? seen?.failingSince ?? null), seen }
}

/**
 * Returns the health of a merchant's endpoint: its state and the reason for it from the log, the start of a period of only failures, the
 * latest attempts, and the waiting and parked callbacks, counted up to {@link maxCounted}.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function endpointHealth({ callbacks, readModels }: Sources, merchant: Merchant) {
  const { merchantId, settings, callbacksDisabled: reason } = merchant
  const count = (status: string) =>
    readModels.collection(collections.callbacks).countDocuments({ merchantId, status }, { limit: maxCounted })
  const failing = failingSinceOf({ callbacks, readModels }, merchantId)
  const [{ failingSince, seen }, waiting, parked] = await Promise.all([failing, count('waiting'), count('parked')])
  const health = failingSince !== null ? 'failing' : 'healthy'
  const state: 'healthy' | 'failing' | 'disabled' = reason !== null ? 'disabled' : health
  const { attempts = [] } = seen ?? {}
  const last = attempts.findLast(({ failure, body }) => failure === null || body !== undefined)
  const lastBody = last?.body ?? null
  return { url: settings.callbackUrl, state, reason, failingSince, waiting, parked, attempts, lastBody }
}
