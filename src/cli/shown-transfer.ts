import type { FoundTransfer } from '../queries/transfer-queries.js'
import type { Workplace } from './cli-stores.js'

/** As `GET /v1/transfers/:trackingId` shows it, with the currency and the merchant. */
export async function shownTransfer({ configuration }: Workplace, { transfer, revision }: FoundTransfer) {
  const { viewOfTransfer } = await import('../http/v1/transfer-view.js')
  const currency = configuration.currency.code
  return { ...viewOfTransfer(transfer, revision), currency, merchantId: transfer.merchantId }
}
