import type { KnownPayment } from '../domain/bank/bank-entries.js'
import type { BankPaymentDocument } from './documents.js'

/** Returns the payment of a document. */
export function bankPaymentOf({
  payment,
  uses,
  explained,
  isSuperseded = false,
  isErased = false,
}: BankPaymentDocument): KnownPayment {
  const bookedAmountMinor = BigInt(payment.bookedAmountMinor)
  return {
    payment: { ...payment, bookedAmountMinor, paidAmountMinor: BigInt(payment.paidAmountMinor) },
    uses: uses.map((use) => ({ ...use, amountMinor: BigInt(use.amountMinor) })),
    explained: explained ?? null,
    isSuperseded,
    isErased,
  }
}
