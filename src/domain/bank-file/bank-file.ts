import { csvLine } from '../../kernel/csv.js'
import { type Violation, violate } from '../../kernel/rules.js'
import { isVisible } from '../../kernel/text.js'
import { type Currency, formatAmount } from '../currency.js'
import { type Actor, paymentRefusal } from '../transfer/allowed-actions.js'
import type { Transfer } from '../transfer/transfer.js'
import { parseIban } from './iban.js'
import { type Debtor, pain001 } from './pain001.js'

/** The formats of a batch of withdrawals that banks import. */
export type BankFormat = 'csv' | 'pain.001'

interface Batch {
  readonly format: BankFormat
  /** The account that pays, which pain.001 requires. */
  readonly debtor: Debtor | undefined
  readonly currency: Currency
  /** The id of the batch. The same withdrawals always have the same one. */
  readonly messageId: string
  /** Each withdrawal with the actor who requests the file and must be allowed to pay it. */
  readonly withdrawals: readonly { readonly transfer: Transfer; readonly actor: Actor }[]
  readonly at: string
}

/** A rule that the batch violates, and what violates it: a field of the request or a withdrawal. */
type Problem = Violation &
  (
    | { readonly about: 'format' | 'debtor' | 'name' | 'iban' | 'bic' }
    | { readonly about: 'trackingIds'; readonly transfer: Transfer }
  )

export type BankFile =
  | { readonly accepted: true; readonly text: string }
  | { readonly accepted: false; readonly problems: readonly Problem[] }

/** Returns the whole batch or none of it, so that no one has to search an uploaded file for missing withdrawals. */
export function bankFile(batch: Batch): BankFile {
  const problems = [...notPayable(batch), ...(batch.format === 'pain.001' ? notSepa(batch) : [])]
  if (problems.length > 0) return { accepted: false, problems }
  return { accepted: true, text: batch.format === 'csv' ? csv(batch) : sepa(batch) }
}

/** The bank pays every withdrawal in the file, so it holds only those that the actor can pay now. */
function notPayable({ withdrawals }: Batch): Problem[] {
  return withdrawals.flatMap(({ transfer, actor }): Problem[] => {
    const violation = transfer.kind === 'withdrawal' ? paymentRefusal(transfer, actor) : violate('withdrawal-required')
    return violation ? [{ about: 'trackingIds', transfer, rule: violation.rule, values: violation.values }] : []
  })
}

const bic = /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/

/** The largest payment of the SEPA scheme. */
const maxSepaMinor = 999_999_999_99n

function notSepa({ debtor, currency, withdrawals }: Batch): Problem[] {
  const problems: Problem[] = []
  if (currency.code !== 'EUR') {
    problems.push({ about: 'format', ...violate('sepa-euros-only', { currency: currency.code }) })
  }
  if (!debtor) problems.push({ about: 'debtor', ...violate('required') })
  else {
    if (debtor.name.trim() === '') problems.push({ about: 'name', ...violate('blank') })
    if (!isVisible(debtor.name)) problems.push({ about: 'name', ...violate('hidden-characters') })
    if (!parseIban(debtor.iban)) problems.push({ about: 'iban', ...violate('iban-invalid') })
    if (debtor.bic && !bic.test(debtor.bic)) problems.push({ about: 'bic', ...violate('bic-invalid') })
  }
  for (const { transfer } of withdrawals) {
    if (transfer.amountMinor > maxSepaMinor) {
      problems.push({ about: 'trackingIds', transfer, ...violate('sepa-amount-too-large', { most: maxSepaMinor }) })
    }
    if (transfer.kind !== 'withdrawal' || parseIban(transfer.accountNumber)) continue
    problems.push({ about: 'trackingIds', transfer, ...violate('account-not-iban') })
  }
  return problems
}

function csv({ withdrawals, currency }: Batch): string {
  const head = csvLine(['trackingId', 'referenceId', 'name', 'accountNumber', 'amount', 'currency'])
  const lines = withdrawals.map(({ transfer }) => {
    const { trackingId, referenceId, name, amountMinor } = transfer
    return csvLine([
      trackingId,
      referenceId,
      name,
      accountOf(transfer),
      formatAmount(currency, amountMinor),
      currency.code,
    ])
  })
  return [head, ...lines].join('')
}

function sepa({ messageId, debtor, currency, withdrawals, at }: Batch): string {
  const { name, iban, bic } = debtor!
  const transfers = withdrawals.map(({ transfer }) => ({
    // A UUID with its hyphens is one character too long.
    endToEndId: transfer.trackingId.replaceAll('-', ''),
    amountMinor: transfer.amountMinor,
    name: transfer.name,
    iban: parseIban(accountOf(transfer))!,
    remittance: transfer.referenceId,
  }))
  return pain001({ messageId, debtor: { name, iban: parseIban(iban)!, ...(bic && { bic }) }, currency, transfers, at })
}

function accountOf(transfer: Transfer): string {
  return transfer.kind === 'withdrawal' ? transfer.accountNumber : ''
}
