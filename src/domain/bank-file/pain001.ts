import { type Currency, formatAmount } from '../currency.js'

/** The owner of the debited account. */
export interface Debtor {
  readonly name: string
  readonly iban: string
  readonly bic?: string
}

export interface CreditTransfer {
  /** At most 35 characters. It appears on the payer's statement. */
  readonly endToEndId: string
  readonly amountMinor: bigint
  readonly name: string
  readonly iban: string
  readonly remittance: string
}

interface Batch {
  /** At most 35 characters. The same batch always has the same id, because a bank rejects one that it has seen. */
  readonly messageId: string
  readonly debtor: Debtor
  readonly currency: Currency
  readonly transfers: readonly CreditTransfer[]
  readonly at: string
}

/** Returns a SEPA credit transfer initiation, ISO 20022 pain.001.001.09. The scheme limits names to 70 characters. */
export function pain001({ messageId, debtor, currency, transfers, at }: Batch): string {
  const totalMinor = transfers.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
  const totals = [element('NbOfTxs', String(transfers.length)), element('CtrlSum', formatAmount(currency, totalMinor))]
  const agent = debtor.bic ? element('BICFI', debtor.bic) : nested('Othr', element('Id', 'NOTPROVIDED'))
  const header = nested(
    'GrpHdr',
    ...[element('MsgId', messageId), element('CreDtTm', at), ...totals],
    nested('InitgPty', element('Nm', shortName(debtor.name))),
  )
  const payments = transfers.map((transfer) => creditTransfer(transfer, currency))
  const information = nested(
    'PmtInf',
    ...[element('PmtInfId', messageId), element('PmtMtd', 'TRF'), ...totals],
    nested('PmtTpInf', nested('SvcLvl', element('Cd', 'SEPA'))),
    nested('ReqdExctnDt', element('Dt', at.slice(0, 'yyyy-mm-dd'.length))),
    nested('Dbtr', element('Nm', shortName(debtor.name))),
    nested('DbtrAcct', nested('Id', element('IBAN', debtor.iban))),
    nested('DbtrAgt', nested('FinInstnId', agent)),
    element('ChrgBr', 'SLEV'),
    ...payments,
  )
  const namespace = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${namespace}">${nested('CstmrCdtTrfInitn', header, information)}</Document>\n`
}

function creditTransfer({ endToEndId, amountMinor, name, iban, remittance }: CreditTransfer, currency: Currency) {
  return nested(
    'CdtTrfTxInf',
    nested('PmtId', element('EndToEndId', endToEndId)),
    nested('Amt', `<InstdAmt Ccy="${currency.code}">${formatAmount(currency, amountMinor)}</InstdAmt>`),
    nested('Cdtr', element('Nm', shortName(name))),
    nested('CdtrAcct', nested('Id', element('IBAN', iban))),
    nested('RmtInf', element('Ustrd', remittance)),
  )
}

function nested(name: string, ...inner: readonly string[]): string {
  return `<${name}>${inner.join('')}</${name}>`
}

function element(name: string, text: string): string {
  return `<${name}>${escapeXml(text)}</${name}>`
}

/** Counts characters, not UTF-16 units. */
function shortName(name: string): string {
  return [...name].slice(0, 70).join('')
}

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}
/** The characters that XML 1.0 does not allow, escaped or not. */
const notXml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

function escapeXml(text: string): string {
  return text.replaceAll(notXml, '').replaceAll(/[&<>"']/g, (character) => entities[character]!)
}
