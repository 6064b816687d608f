import { setImmediate } from 'node:timers/promises'
import { type CandidateFields, CandidateIndex } from '../domain/bank/candidate-index.js'
import { isManual, type PaymentMethod } from '../domain/payment-method.js'
import type { Status } from '../domain/transfer/status.js'
import { addMs, dayMs } from '../kernel/time.js'
import type { TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstTransfers, newestFirst } from './transfer-queries.js'

const pageSize = 1_000
const open: readonly Status[] = ['Pending', 'ManualControl']
const ended: readonly Status[] = ['Completed', 'Cancelled', 'Failed']
/** How long after its creation a transfer that has ended is still looked for in statements. */
const endedDays = 60
const maxEnded = 50_000

/**
 * Returns the transfers that payments of a bank can belong to: open ones, and the latest of those that ended. The read model only proposes
 * them; each transfer decides about its payment. @throws ReadModelsUnavailableError
 */
export async function matchCandidates(
  readModels: ReadModels,
  paymentMethods: readonly PaymentMethod[],
  merchantIds: readonly string[] | null,
  now: string,
): Promise<CandidateIndex> {
  const found: CandidateFields[] = []
  const merchants = merchantIds?.map((merchantId) => ({ merchantId })) ?? [{}]
  for (const merchant of merchants) {
    for (const kind of ['deposit', 'withdrawal'] as const) {
      for (const status of [...open, ...ended]) {
        const isOpen = open.includes(status)
        const from = isOpen ? undefined : addMs(now, -endedDays * dayMs)
        const runs = [{ equal: { ...merchant, kind, status }, from }]
        let cursor: { at: string; position: number } | undefined
        for (let count = 0; isOpen || count < maxEnded; count += pageSize) {
          const page = (await firstTransfers(
            readModels,
            newestFirst,
            runs,
            pageSize,
            cursor,
          )) as readonly TransferDocument[]
          const last = page.at(-1)
          for (const document of page)
            if (kind === 'withdrawal' || isManual(paymentMethods, document.paymentMethod as number))
              found.push(fieldsOf(document))
          if (!last || page.length < pageSize) break
          // Hundreds of pages must not hold up the requests of this thread.
          await setImmediate()
          cursor = { at: last.createdAt, position: last.position }
        }
      }
    }
  }
  return new CandidateIndex(found)
}

function fieldsOf({
  _id: trackingId,
  kind,
  referenceId,
  amountMinor,
  accountNumber,
  bankFiles,
}: TransferDocument): CandidateFields {
  const files = bankFiles?.split(' ') ?? []
  return {
    trackingId,
    kind,
    referenceId,
    amountMinor: BigInt(amountMinor),
    accountNumber: accountNumber ?? null,
    bankFiles: files,
  }
}
