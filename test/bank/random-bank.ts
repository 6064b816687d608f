import type { BankEntry, BankRecord, PaymentStatus } from '../../src/domain/bank/bank-records.js'
import { entryOf, payeeAccount, statementOf } from './bank-world.js'

/** The entries of a bank on some days with the owner of each, which statements contain in parts and in several formats. */

interface BankTruth {
  readonly entries: readonly TrueEntry[]
  readonly rejections: readonly PaymentStatus[]
}

export interface TrueEntry {
  readonly number: number
  readonly entry: BankEntry
  /** The transfer whose money it is; null if it is of no one. */
  readonly owner: string | null
}

type Numbers = (below: number) => number
interface SentWithdrawal {
  readonly trackingId: string
  readonly amountMinor: bigint
  readonly fileId: string
}
interface OpenDeposit {
  readonly trackingId: string
  readonly referenceId: string
  readonly amountMinor: bigint
}

export const bankDays = ['2026-03-02', '2026-03-03', '2026-03-04'] as const

/** Ten ways in which customers and banks damage a reference. */
const damages: readonly ((reference: string) => readonly string[])[] = [
  (text) => [text],
  (text) => [text.toLowerCase()],
  (text) => [text.replaceAll('-', ' ')],
  (text) => [text.replaceAll('-', '')],
  (text) => [`Payment ${text} thank you`],
  (text) => [text.slice(0, 5), text.slice(5)],
  (text) => [`${text.slice(0, 4)} ${text.slice(4)}`],
  (text) => [`${text}9`],
  (text) => [text.slice(0, -2)],
  (text) => [`EREF+${text}+SVWZ+invoice`],
]

export function bankTruth(
  number: Numbers,
  withdrawals: readonly SentWithdrawal[],
  deposits: readonly OpenDeposit[],
): BankTruth {
  const entries: TrueEntry[] = []
  const rejections: PaymentStatus[] = []
  const add = (owner: string | null, entry: Parameters<typeof entryOf>[0]) =>
    entries.push({ number: entries.length + 1, owner, entry: entryOf(entry) })
  const amounts = [...withdrawals, ...deposits].map(({ amountMinor }) => amountMinor)
  for (const { trackingId, amountMinor, fileId } of withdrawals) {
    const endToEndId = trackingId.replaceAll('-', '')
    const what = number(10)
    if (what === 0) {
      const reason = { statusCode: 'RJCT', reasonCode: 'AC01', reasonText: null }
      rejections.push({ type: 'status', fileId, endToEndId, status: 'rejected', ...reason })
      continue
    }
    if (what === 1) continue
    const day = number(2)
    const paid = what === 2 ? amountMinor + 1n : amountMinor
    const debit = { direction: 'debit', amountMinor: paid, payment: { endToEndId, account: payeeAccount } } as const
    add(trackingId, { ...debit, date: bankDays[day]! })
    if (what === 3) add(trackingId, { ...debit, date: bankDays[day + number(2)]! })
    if (what < 6) continue
    const returned = {
      reasonCode: ['AC04', 'MD07', 'AC01'][number(3)]!,
      reasonText: 'x',
      originalEndToEndId: endToEndId,
    }
    if (number(3) === 0) add(trackingId, { amountMinor: paid, date: bankDays[day + 1]!, payment: { returned } })
  }
  for (const { trackingId, referenceId, amountMinor } of deposits) {
    for (let n = number(3); n > 0; n--) {
      const part = [amountMinor, amountMinor, amountMinor / 2n, amountMinor + 7n][number(4)]!
      const remittance = damages[number(damages.length)]!(referenceId)
      add(trackingId, { amountMinor: part, date: bankDays[number(3)]!, payment: { remittance, name: 'A customer' } })
    }
  }
  for (let n = number(4); n > 0; n--) {
    const amountMinor = amounts[number(amounts.length)]!
    const direction = number(2) === 0 ? 'credit' : 'debit'
    add(null, { amountMinor, direction, date: bankDays[number(3)]!, payment: { remittance: ['unknown'], name: 'Who' } })
  }
  return { entries, rejections }
}

/** Returns a statement of a day in a family of formats, of all its entries or of some. */
export function statementIn(family: 'camt' | 'mt' | 'csv', entries: readonly TrueEntry[]): readonly BankRecord[] {
  const format = ({ camt: 'camt.053', mt: 'MT940', csv: 'csv' } as const)[family]
  return statementOf(
    entries.map(({ entry, number }) => {
      const payments = entry.payments.map((payment) => {
        if (family === 'camt') return { ...payment, bankReference: `R${number}` }
        const remittance = payment.remittance.map((line) => line.toUpperCase())
        if (family === 'mt') return { ...payment, remittance, name: null }
        const { endToEndId } = payment
        return { ...payment, endToEndId: null, remittance: endToEndId === null ? remittance : [endToEndId] }
      })
      const bankReference = ({ camt: `R${number}`, mt: `M${number}`, csv: null } as const)[family]
      return { ...entry, bankReference, payments }
    }),
    { format },
  )
}
