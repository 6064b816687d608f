import type { TransferDetail } from '../../../../../src/http/dashboard/api'

type CopiedField = 'amountMinor' | 'accountNumber' | 'name' | 'referenceId'

export interface CopyValue {
  readonly field: CopiedField
  /** The plain text that banks accept: no spaces in an account number, and an amount without grouping and currency. */
  readonly value: string
}

/** Returns what the operator copies into the bank's form, in the order of the keys. */
export function copyValues(transfer: Pick<TransferDetail, CopiedField>, digits: number): readonly CopyValue[] {
  const { amountMinor, accountNumber, name, referenceId } = transfer
  return [
    { field: 'amountMinor', value: plainAmount(amountMinor, digits) },
    { field: 'accountNumber', value: (accountNumber ?? '').replace(/\s/g, '') },
    { field: 'name', value: name },
    { field: 'referenceId', value: referenceId },
  ]
}

/** Writes an amount with a point before the decimals in every language. Minor units are hundredths in every currency. */
function plainAmount(minor: number, digits: number): string {
  const padded = String(minor).padStart(3, '0')
  return digits === 0 ? padded.slice(0, -2) : `${padded.slice(0, -2)}.${padded.slice(-2)}`
}
