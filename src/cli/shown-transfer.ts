import type { FoundTransfer } from '../queries/transfer-queries.js'
import type { CommandStores } from './cli-stores.js'

/** Returns a transfer as `GET /v1/transfers/:trackingId` shows it, with the currency and the merchant. */
export async function shownTransfer({ configuration }: CommandStores, { transfer, revision }: FoundTransfer) {
  const { viewOfTransfer } = await import('../http/v1/transfer-view.js')
  const currency = configuration.currency.code
  return { ...viewOfTransfer(transfer, revision), currency, merchantId: transfer.merchantId }
}
