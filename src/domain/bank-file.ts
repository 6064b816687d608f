import { exactCsv } from '../kernel/csv.js'
import { countryOutsideSepa, parseIban } from '../kernel/iban.js'
import { type Violation, violate } from '../kernel/rules.js'
import { type Currency, formatAmount } from './money.js'
import { sepaName, sepaText } from './sepa-text.js'
import type { Transfer } from './transfer/transfer.js'
import type { AddToBankFile } from './transfer/transfer-commands.js'
import { decide } from './transfer/transfer-decider.js'

export type Debtor = { readonly name: string; readonly iban: string; readonly bic?: string | undefined }

export interface Batch {
  /** How each withdrawal is added to the file; `messageId` has at most 35 characters. */
  readonly addition: Omit<AddToBankFile, 'sha256' | 'approvalAboveMinor'>
  readonly withdrawals: readonly { readonly transfer: Transfer; readonly approvalAboveMinor: bigint | null }[]
  /** The account that pays, which pain.001 requires. */
  readonly debtor: Debtor | undefined
  readonly currency: Currency
  /** The day on which the bank pays, such as `2026-03-01`. */
  readonly date: string
}

/** A rule that the batch violates, and what violates it: a field of the request or a withdrawal. */
export type BankFileProblem = Violation &
  (
    | { readonly about: 'format' | 'debtor' | 'name' | 'iban' | 'bic' }
    | { readonly about: 'trackingIds'; readonly transfer: Transfer }
  )

/** Returns the whole batch or none of it, so that no one has to search an uploaded file for missing withdrawals. */
export function bankFile(batch: Batch) {
  const isSepa = batch.addition.format === 'pain.001'
  const problems = [...notPayable(batch), ...(isSepa ? notSepa(batch) : [])]
  if (problems.length > 0) return { accepted: false, problems } as const
  return { accepted: true, text: isSepa ? sepa(batch) : csv(batch) } as const
}

/** The bank pays every withdrawal in the file, so it holds only those that the actor can pay now. */
function notPayable({ addition, withdrawals }: Batch): BankFileProblem[] {
  return withdrawals.flatMap(({ transfer, approvalAboveMinor }): BankFileProblem[] => {
    const decision = decide({ ...addition, approvalAboveMinor, sha256: '' }, transfer)
    if (decision.accepted) return []
    const { rule, values } = decision.refusal
    return [{ about: 'trackingIds', transfer, rule, values }]
  })
}

const bic = /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/
const maxSepaMinor = 999_999_999_99n

function notSepa({ debtor, currency, withdrawals }: Batch): BankFileProblem[] {
  const problems: BankFileProblem[] = []
  if (currency.code !== 'EUR') {
    problems.push({ about: 'format', ...violate('sepa-euros-only', { currency: currency.code }) })
  }
  if (!debtor) problems.push({ about: 'debtor', ...violate('required') })
  else {
    const name = payeeNameProblem(currency, debtor.name)
    if (name) problems.push({ about: 'name', ...name })
    const iban = ibanProblem(debtor.iban, violate('iban-invalid'))
    if (iban) problems.push({ about: 'iban', ...iban })
    if (debtor.bic && !bic.test(debtor.bic)) problems.push({ about: 'bic', ...violate('bic-invalid') })
  }
  for (const { transfer } of withdrawals) {
    const isTooLarge = transfer.amountMinor > maxSepaMinor
    const violations = [
      isTooLarge ? violate('sepa-amount-too-large', { largest: maxSepaMinor }) : undefined,
      transfer.kind === 'withdrawal' ? ibanProblem(transfer.accountNumber, violate('account-not-iban')) : undefined,
      payeeNameProblem(currency, transfer.name),
    ]
    for (const each of violations) if (each) problems.push({ about: 'trackingIds', transfer, ...each })
  }
  return problems
}

function ibanProblem(text: string, invalid: Violation): Violation | undefined {
  const iban = parseIban(text)
  const country = iban && countryOutsideSepa(iban)
  if (!iban) return invalid
  return country ? violate('iban-not-sepa', { country }) : undefined
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

/** Returns a SEPA credit transfer initiation, ISO 20022 pain.001.001.09. */
function sepa({ addition: { messageId, at }, debtor, currency, withdrawals, date }: Batch): string {
  const { name, iban, bic } = debtor!
  const totalMinor = withdrawals.reduce((sum, { transfer }) => sum + transfer.amountMinor, 0n)
  const totals = [
    element('NbOfTxs', String(withdrawals.length)),
    element('CtrlSum', formatAmount(currency, totalMinor)),
  ]
  const agent = bic ? element('BICFI', bic) : element('Othr', element('Id', 'NOTPROVIDED'))
  const owner = element('Nm', sepaName(name)!)
  const header = [element('MsgId', messageId), element('CreDtTm', at), ...totals, element('InitgPty', owner)]
  const information = element(
    'PmtInf',
    ...[element('PmtInfId', messageId), element('PmtMtd', 'TRF'), ...totals],
    element('PmtTpInf', element('SvcLvl', element('Cd', 'SEPA'))),
    element('ReqdExctnDt', element('Dt', date)),
    element('Dbtr', owner),
    element('DbtrAcct', element('Id', element('IBAN', parseIban(iban)!))),
    element('DbtrAgt', element('FinInstnId', agent)),
    element('ChrgBr', 'SLEV'),
    ...withdrawals.map(({ transfer }) => creditTransfer(transfer, currency)),
  )
  const namespace = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'
  const initiation = element('CstmrCdtTrfInitn', element('GrpHdr', ...header), information)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${namespace}">${initiation}</Document>\n`
}

function creditTransfer(transfer: Transfer, currency: Currency): string {
  const { trackingId, amountMinor, name, referenceId } = transfer
  return element(
    'CdtTrfTxInf',
    // At most 35 characters: a UUID with its hyphens is one too long.
    element('PmtId', element('EndToEndId', trackingId.replaceAll('-', ''))),
    element('Amt', `<InstdAmt Ccy="${currency.code}">${formatAmount(currency, amountMinor)}</InstdAmt>`),
    element('Cdtr', element('Nm', sepaName(name)!)),
    element('CdtrAcct', element('Id', element('IBAN', parseIban(accountOf(transfer))!))),
    element('RmtInf', element('Ustrd', sepaText(referenceId, maxRemittance))),
  )
}

const accountOf = (transfer: Transfer): string => (transfer.kind === 'withdrawal' ? transfer.accountNumber : '')
/** Nothing needs an escape: SEPA characters include none of markup. */
const element = (name: string, ...inner: readonly string[]): string => `<${name}>${inner.join('')}</${name}>`
const maxRemittance = 140
