import { countryOutsideSepa, isQrIban } from '../kernel/iban.js'
import { formatTwoDecimals } from './money.js'
import type { ReceivingAccount } from './payment-method.js'
import { sepaName, sepaText } from './sepa-text.js'

/** The content of a QR code of version 13 with error correction M, the largest that EPC069-12 allows. */
const maxBytes = 331
const maxRemittance = 140
const largestMinor = 999_999_999_99n

/**
 * Returns the content of a QR code that fills in a credit transfer in euros in a banking app (EPC069-12, version 002), or `undefined` if no
 * such transfer can reach the account or state the complete reference. A transfer without the reference would arrive, but nothing would match
 * it with the deposit, and a customer who scans a code does not check its reference.
 */
export function epcCode(
  { name, iban, bic = '' }: ReceivingAccount,
  amountMinor: bigint,
  reference: string,
): string | undefined {
  const remittance = sepaText(reference, Number.POSITIVE_INFINITY)
  if (remittance === undefined || remittance.length > maxRemittance) return undefined
  if (amountMinor <= 0n || amountMinor > largestMinor) return undefined
  if (countryOutsideSepa(iban) !== undefined || isQrIban(iban)) return undefined
  const amount = `EUR${formatTwoDecimals(amountMinor)}`
  // 1: UTF-8. The empty lines are the purpose and the structured reference.
  const content = (payee: string | undefined) =>
    ['BCD', '002', '1', 'SCT', bic, payee, iban, amount, '', '', remittance].join('\n')
  // Banks compare the name with that of the account, so it keeps its letters if they fit.
  const exact = content(name.normalize('NFC'))
  return new TextEncoder().encode(exact).length <= maxBytes ? exact : content(sepaName(name))
}
