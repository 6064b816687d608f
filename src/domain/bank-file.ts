import { exactCsv } from '../kernel/csv.js'
import { countryOutsideEea, countryOutsideSepa, parseIban } from '../kernel/iban.js'
import { isDate } from '../kernel/time.js'
import { violate } from './decider.js'
import { type Currency, formatAmount } from './money.js'
import type { Violation } from './rules.js'
import { type Debtor, type DebtorProblem, debtorProblems, ibanProblem, sepaDebtor } from './sepa-debtor.js'
import { type SepaPayment, sepaFile } from './sepa-file.js'
import { sepaName, sepaText } from './sepa-text.js'
import { addDays, isTargetDay, targetDate, targetDayFrom } from './target-days.js'
import type { Transfer } from './transfer/transfer.js'
import type { AddToBankFile, ApprovalRules } from './transfer/transfer-commands.js'
import { decide } from './transfer/transfer-decider.js'

export interface Batch {
  /** How each withdrawal is added to the file; `messageId` has at most 35 characters. */
  readonly addition: Omit<AddToBankFile, 'sha256' | keyof ApprovalRules>
  readonly withdrawals: readonly (ApprovalRules & { readonly transfer: Transfer })[]
  /** The account that pays, which pain.001 requires. */
  readonly debtor: Debtor | undefined
  readonly currency: Currency
  /** The day on which the bank pays, such as `2026-03-02`, which only pain.001 states. */
  readonly date: string
}

/** A rule that the batch violates, and what violates it: a field of the request or a withdrawal. */
export type BankFileProblem =
  | DebtorProblem
  | (Violation & { readonly about: 'format' | 'debtor' | 'date' })
  | WithdrawalProblem
type WithdrawalProblem = Violation & { readonly about: 'trackingIds'; readonly transfer: Transfer }

/** Returns the whole batch or none of it, so that no one has to search an uploaded file for missing withdrawals. */
export function bankFile(batch: Batch) {
  const isSepa = batch.addition.format === 'pain.001'
  const unpayable = notPayable(batch)
  const problems = isSepa ? [...unpayable, ...notSepa(batch, unpayable)] : unpayable
  if (problems.length > 0) return { accepted: false, problems } as const
  return { accepted: true, text: isSepa ? sepa(batch) : csv(batch) } as const
}

/** The bank pays every withdrawal in the file, so it holds only those that the actor can pay now. */
function notPayable({ addition, withdrawals }: Batch): WithdrawalProblem[] {
  return withdrawals.flatMap(({ transfer, approvalAboveMinor, exceeded = [] }): WithdrawalProblem[] => {
    const decision = decide({ ...addition, approvalAboveMinor, exceeded, sha256: '' }, transfer)
    if (decision.accepted) return []
    const { rule, values } = decision.refusal
    return [{ about: 'trackingIds', transfer, rule, values }]
  })
}

const maxSepaMinor = 999_999_999_99n

function notSepa(
  { addition, debtor, currency, withdrawals, date }: Batch,
  unpayable: readonly WithdrawalProblem[],
): BankFileProblem[] {
  const ofWithdrawals = withdrawals.flatMap(({ transfer }): WithdrawalProblem[] => {
    const isTooLarge = transfer.amountMinor > maxSepaMinor
    const violations = [
      isTooLarge ? violate('sepa-amount-too-large', { largest: maxSepaMinor }) : undefined,
      transfer.kind === 'withdrawal' ? ibanProblem(transfer.accountNumber, violate('account-not-iban')) : undefined,
      payeeNameProblem(currency, transfer.name),
    ]
    return violations.flatMap((each) => (each ? [{ about: 'trackingIds', transfer, ...each }] : []))
  })
  const ofRequest: BankFileProblem[] = []
  if (currency.code !== 'EUR') {
    ofRequest.push({ about: 'format', ...violate('sepa-euros-only', { currency: currency.code }) })
  }
  if (debtor) {
    // A withdrawal that cannot be in the file needs no address, because the user can leave it out.
    const refused = new Set([...unpayable, ...ofWithdrawals].map(({ transfer }) => transfer))
    const payees = withdrawals.map(({ transfer }) => transfer).filter((transfer) => !refused.has(transfer))
    ofRequest.push(...debtorProblems(debtor, countriesOutsideEea([debtor.iban, ...payees.map(accountOf)])))
  } else ofRequest.push({ about: 'debtor', ...violate('required') })
  const wrongDate = executionDateProblem(date, addition.at)
  if (wrongDate) ofRequest.push({ about: 'date', ...wrongDate })
  return [...ofRequest, ...ofWithdrawals]
}

/** Returns the countries whose banks need the payer's address, in alphabetical order. */
function countriesOutsideEea(accounts: readonly string[]): string[] {
  const ibans = accounts.flatMap((account) => parseIban(account) ?? []).filter((iban) => !countryOutsideSepa(iban))
  return [...new Set(ibans.flatMap((iban) => countryOutsideEea(iban) ?? []))].sort()
}

/** Banks reject days that are further away, which are usually a mistyped year. */
const maxDaysAhead = 365

/** Returns the rule that the day violates on which a SEPA file of this time is paid. Today is possible, until the bank's cut-off time. */
function executionDateProblem(date: string, at: string): Violation | undefined {
  if (!isDate(date)) return violate('date-invalid')
  const today = targetDate(at)
  if (date < today) return violate('date-passed', { next: targetDayFrom(today) })
  const latest = addDays(today, maxDaysAhead)
  if (date > latest) return violate('date-too-late', { latest })
  return isTargetDay(date) ? undefined : violate('not-target-day', { next: targetDayFrom(date) })
}

/** Returns the rule that a name violates of which nothing is left in a payment. In euros, that is a payment in SEPA characters. */
export function payeeNameProblem({ code }: Currency, name: string): Violation | undefined {
  const isPayable = code === 'EUR' ? sepaName(name) !== undefined : /[\p{L}\p{N}]/u.test(name)
  return isPayable ? undefined : violate('name-not-payable', { currency: code })
}

function csv({ withdrawals, currency }: Batch): string {
  const head = ['trackingId', 'referenceId', 'name', 'accountNumber', 'amount', 'currency']
  const rows = withdrawals.map(({ transfer }) => {
    const { trackingId, referenceId, name, amountMinor } = transfer
    const amount = formatAmount(currency, amountMinor)
    return [trackingId, referenceId, name, accountOf(transfer), amount, currency.code]
  })
  return exactCsv([head, ...rows])
}

function sepa({ addition: { messageId, at }, debtor, withdrawals, date }: Batch): string {
  const payments = withdrawals.map(({ transfer }): SepaPayment => {
    const { trackingId, amountMinor, name, referenceId } = transfer
    return {
      // At most 35 characters: a UUID with its hyphens is one too long.
      endToEndId: trackingId.replaceAll('-', ''),
      amountMinor,
      name: sepaName(name)!,
      iban: parseIban(accountOf(transfer))!,
      // A merchant may use references without any character that a bank accepts.
      remittance: sepaText(referenceId, maxRemittance) ?? trackingId,
    }
  })
  return sepaFile({ messageId, at, date, debtor: sepaDebtor(debtor!), payments })
}

const accountOf = (transfer: Transfer): string => (transfer.kind === 'withdrawal' ? transfer.accountNumber : '')
const maxRemittance = 140
