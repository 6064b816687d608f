import { bankCsv } from '../kernel/csv.js'
import { type Violation, violate } from '../kernel/rules.js'
import { isVisible } from '../kernel/text.js'
import { type Currency, formatAmount } from './money.js'
import { type Actor, paymentRefusal } from './transfer/allowed-actions.js'
import type { Transfer } from './transfer/transfer.js'

export type BankFormat = 'csv' | 'pain.001'
type Debtor = { readonly name: string; readonly iban: string; readonly bic?: string }

interface Batch {
  readonly format: BankFormat
  /** The account that pays, which pain.001 requires. */
  readonly debtor: Debtor | undefined
  readonly currency: Currency
  /** At most 35 characters. The same withdrawals always have the same one, because a bank rejects a batch that it has seen. */
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

/** Returns the whole batch or none of it, so that no one has to search an uploaded file for missing withdrawals. */
export function bankFile(batch: Batch) {
  const problems = [...notPayable(batch), ...(batch.format === 'pain.001' ? notSepa(batch) : [])]
  if (problems.length > 0) return { accepted: false, problems } as const
  return { accepted: true, text: batch.format === 'csv' ? csv(batch) : sepa(batch) } as const
}

/** The bank pays every withdrawal in the file, so it holds only those that the actor can pay now. */
function notPayable({ withdrawals }: Batch): Problem[] {
  return withdrawals.flatMap(({ transfer, actor }): Problem[] => {
    const violation = transfer.kind === 'withdrawal' ? paymentRefusal(transfer, actor) : violate('withdrawal-required')
    return violation ? [{ about: 'trackingIds', transfer, rule: violation.rule, values: violation.values }] : []
  })
}

const bic = /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/
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
    const about = { about: 'trackingIds', transfer } as const
    const isTooLarge = transfer.amountMinor > maxSepaMinor
    if (isTooLarge) problems.push({ ...about, ...violate('sepa-amount-too-large', { largest: maxSepaMinor }) })
    const isIban = transfer.kind !== 'withdrawal' || parseIban(transfer.accountNumber)
    if (!isIban) problems.push({ ...about, ...violate('account-not-iban') })
  }
  return problems
}

function csv({ withdrawals, currency }: Batch): string {
  const head = ['trackingId', 'referenceId', 'name', 'accountNumber', 'amount', 'currency']
  const rows = withdrawals.map(({ transfer }) => {
    const { trackingId, referenceId, name, amountMinor } = transfer
    const amount = formatAmount(currency, amountMinor)
    return [trackingId, referenceId, name, accountOf(transfer), amount, currency.code]
  })
  return bankCsv([head, ...rows])
}

/** Returns a SEPA credit transfer initiation, ISO 20022 pain.001.001.09. The scheme limits names to 70 characters. */
function sepa({ messageId, debtor, currency, withdrawals, at }: Batch): string {
  const { name, iban, bic } = debtor!
  const totalMinor = withdrawals.reduce((sum, { transfer }) => sum + transfer.amountMinor, 0n)
  const totals = [
    element('NbOfTxs', String(withdrawals.length)),
    element('CtrlSum', formatAmount(currency, totalMinor)),
  ]
  const agent = bic ? element('BICFI', bic) : nested('Othr', element('Id', 'NOTPROVIDED'))
  const owner = element('Nm', shortName(name))
  const header = [element('MsgId', messageId), element('CreDtTm', at), ...totals, nested('InitgPty', owner)]
  const information = nested(
    'PmtInf',
    ...[element('PmtInfId', messageId), element('PmtMtd', 'TRF'), ...totals],
    nested('PmtTpInf', nested('SvcLvl', element('Cd', 'SEPA'))),
    nested('ReqdExctnDt', element('Dt', at.slice(0, 'yyyy-mm-dd'.length))),
    nested('Dbtr', owner),
    nested('DbtrAcct', nested('Id', element('IBAN', parseIban(iban)!))),
    nested('DbtrAgt', nested('FinInstnId', agent)),
    element('ChrgBr', 'SLEV'),
    ...withdrawals.map(({ transfer }) => creditTransfer(transfer, currency)),
  )
  const namespace = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'
  const initiation = nested('CstmrCdtTrfInitn', nested('GrpHdr', ...header), information)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${namespace}">${initiation}</Document>\n`
}

function creditTransfer(transfer: Transfer, currency: Currency): string {
  const { trackingId, amountMinor, name, referenceId } = transfer
  return nested(
    'CdtTrfTxInf',
    // At most 35 characters: a UUID with its hyphens is one too long.
    nested('PmtId', element('EndToEndId', trackingId.replaceAll('-', ''))),
    nested('Amt', `<InstdAmt Ccy="${currency.code}">${formatAmount(currency, amountMinor)}</InstdAmt>`),
    nested('Cdtr', element('Nm', shortName(name))),
    nested('CdtrAcct', nested('Id', element('IBAN', parseIban(accountOf(transfer))!))),
    nested('RmtInf', element('Ustrd', referenceId)),
  )
}

const accountOf = (transfer: Transfer): string => (transfer.kind === 'withdrawal' ? transfer.accountNumber : '')
const nested = (name: string, ...inner: readonly string[]): string => `<${name}>${inner.join('')}</${name}>`
const element = (name: string, text: string): string => `<${name}>${escapeXml(text)}</${name}>`

/** Counts characters, not UTF-16 units. */
const shortName = (name: string): string => [...name].slice(0, 70).join('')
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }
/** The characters that XML 1.0 does not allow, escaped or not. */
const notXml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

function escapeXml(text: string): string {
  return text.replaceAll(notXml, '').replaceAll(/[&<>"']/g, (character) => entities[character]!)
}

/** The length of the IBANs of each country (the registry of ISO 13616). */
const lengths = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 ' +
    'FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 ' +
    'LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 ' +
    'SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** Returns an IBAN in electronic form, without spaces and in capitals, or `undefined` if its country, length or check digits are wrong. */
export function parseIban(text: string): string | undefined {
  const iban = text.replaceAll(' ', '').toUpperCase()
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]+$/.test(iban) || iban.length !== lengths.get(iban.slice(0, 2))) return undefined
  const digits = [...iban.slice(4), ...iban.slice(0, 4)].map((character) => Number.parseInt(character, 36)).join('')
  return BigInt(digits) % 97n === 1n ? iban : undefined
}
