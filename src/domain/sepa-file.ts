import { formatTwoDecimals } from './money.js'

/** A SEPA credit transfer initiation (ISO 20022 pain.001.001.09) with one execution date and one account that pays. */
interface SepaFile {
  readonly messageId: string
  /** ISO 8601 in UTC. */
  readonly at: string
  /** The day on which the bank pays, such as `2026-03-02`. */
  readonly date: string
  readonly debtor: SepaDebtor
  readonly payments: readonly SepaPayment[]
}

/** Every text is in SEPA characters, and every IBAN in electronic form. */
export interface SepaDebtor {
  readonly name: string
  readonly iban: string
  readonly bic: string | undefined
  readonly address: SepaAddress | undefined
}

interface SepaAddress {
  readonly street: string | undefined
  readonly building: string | undefined
  readonly postcode: string | undefined
  readonly town: string
  readonly country: string
}

export interface SepaPayment {
  readonly endToEndId: string
  readonly amountMinor: bigint
  readonly name: string
  readonly iban: string
  readonly remittance: string
}

const texts = (maxLength: number) => new RegExp(`^(?! )[A-Za-z0-9/\\-?:().,'+ ]{1,${maxLength}}(?<! )$`)

/** The content that SEPA allows in each element. None of it needs an escape. */
const contents = {
  MsgId: texts(35),
  // Banks accept these 19 characters. Some reject the fractions and the zone that ISO 20022 allows.
  CreDtTm: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/,
  NbOfTxs: /^[1-9]\d{0,14}$/,
  CtrlSum: /^\d{1,15}\.\d\d$/,
  PmtInfId: texts(35),
  PmtMtd: /^TRF$/,
  Cd: /^SEPA$/,
  Dt: /^\d{4}-\d\d-\d\d$/,
  Nm: texts(70),
  StrtNm: texts(70),
  BldgNb: texts(16),
  PstCd: texts(16),
  TwnNm: texts(35),
  Ctry: /^[A-Z]{2}$/,
  IBAN: /^[A-Z]{2}\d\d[A-Z0-9]{11,30}$/,
  BICFI: /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/,
  Id: /^NOTPROVIDED$/,
  ChrgBr: /^SLEV$/,
  EndToEndId: texts(35),
  InstdAmt: /^(?!0+\.00$)\d{1,9}\.\d\d$/,
  Ustrd: texts(140),
} as const

export const isBic = (text: string): boolean => contents.BICFI.test(text)

/** @throws Error if a bank would reject the file. The caller checks every input before, so this shows a defect before anything is recorded. */
export function sepaFile({ messageId, at, date, debtor, payments }: SepaFile): string {
  const totalMinor = payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
  const totals = [leaf('NbOfTxs', String(payments.length)), leaf('CtrlSum', formatTwoDecimals(totalMinor))]
  const { name, iban, bic, address } = debtor
  const agent = bic ? leaf('BICFI', bic) : element('Othr', leaf('Id', 'NOTPROVIDED'))
  const header = element(
    'GrpHdr',
    ...[leaf('MsgId', messageId), leaf('CreDtTm', at.slice(0, 19)), ...totals],
    element('InitgPty', leaf('Nm', name)),
  )
  const information = element(
    'PmtInf',
    ...[leaf('PmtInfId', messageId), leaf('PmtMtd', 'TRF'), ...totals],
    element('PmtTpInf', element('SvcLvl', leaf('Cd', 'SEPA'))),
    element('ReqdExctnDt', leaf('Dt', date)),
    element('Dbtr', leaf('Nm', name), address ? postalAddress(address) : ''),
    element('DbtrAcct', element('Id', leaf('IBAN', iban))),
    element('DbtrAgt', element('FinInstnId', agent)),
    leaf('ChrgBr', 'SLEV'),
    ...payments.map(creditTransfer),
  )
  const namespace = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'
  const initiation = element('CstmrCdtTrfInitn', header, information)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${namespace}">${initiation}</Document>\n`
}

function creditTransfer({ endToEndId, amountMinor, name, iban, remittance }: SepaPayment): string {
  return element(
    'CdtTrfTxInf',
    element('PmtId', leaf('EndToEndId', endToEndId)),
    element('Amt', leaf('InstdAmt', formatTwoDecimals(amountMinor), ' Ccy="EUR"')),
    element('Cdtr', leaf('Nm', name)),
    element('CdtrAcct', element('Id', leaf('IBAN', iban))),
    element('RmtInf', leaf('Ustrd', remittance)),
  )
}

/** Returns a structured address. From November 2026 on, banks reject addresses that consist of lines. */
function postalAddress({ street, building, postcode, town, country }: SepaAddress): string {
  return element(
    'PstlAdr',
    street === undefined ? '' : leaf('StrtNm', street),
    building === undefined ? '' : leaf('BldgNb', building),
    postcode === undefined ? '' : leaf('PstCd', postcode),
    leaf('TwnNm', town),
    leaf('Ctry', country),
  )
}

const element = (name: string, ...inner: readonly string[]): string => `<${name}>${inner.join('')}</${name}>`

function leaf(name: keyof typeof contents, text: string, attribute = ''): string {
  // The text can be a person's name, so the message does not contain it.
  if (!contents[name].test(text)) throw new Error(`the content of ${name} is invalid in a SEPA file`)
  return `<${name}${attribute}>${text}</${name}>`
}
