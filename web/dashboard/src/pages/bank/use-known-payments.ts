import { useState } from 'react'
import type { BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'
import type { KnownPayments } from './known-payments'

/** Keeps the payments that were imported or decided on this page, because lists show them with a delay. */
export function useKnownPayments() {
  const [known, setKnown] = useState<KnownPayments>(new Map())
  const note = (payments: readonly BankPayment[]) => {
    const atMs = Date.now()
    setKnown(
      (before) => new Map([...before, ...payments.map((each) => [each.paymentId, { payment: each, atMs }] as const)]),
    )
  }
  return { known, note }
}
