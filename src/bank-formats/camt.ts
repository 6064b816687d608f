import {
  type Balance,
  type BankEntry,
  type BankPayment,
  type BankRecord,
  maxPaymentsOfEntry,
  type ReturnedPayment,
  type StatementStart,
} from '../domain/bank/bank-records.js'
import { fail } from './bank-file-error.js'
import { amountOf, dateOf, referenceOrNull, unstatedPayment, withoutSpaces } from './values.js'
import { allAt, type MessagePart, textAt, type XmlElement } from './xml-message.js'

type Direction = BankEntry['direction']

const statementParts = ['Stmt', 'Rpt', 'Ntfctn']

/** Returns the records of camt.052, camt.053 or camt.054, in the versions 02 to 14 of ISO 20022. */
export async function* camtRecords(
  parts: AsyncIterable<MessagePart>,
  format: StatementStart['format'],
): AsyncGenerator<BankRecord> {
  let statement = new Statement(format)
  /** The page of a message of version 02, which later versions state in the statement. */
  let page: XmlElement | undefined
  for await (const each of parts) {
    if (each.type === 'message') page = undefined
    if (each.type === 'start') {
      statement = new Statement(format)
      if (page !== undefined) statement.addHeader(page)
    } else if (each.type === 'child' && each.element.name === 'MsgPgntn') page = each.element
    else if (each.type === 'item') statement.addPayment(each.element, each.child)
    else if (each.type === 'child' && statementParts.includes(each.part)) {
      if (each.element.name === 'Bal') statement.addBalance(each.element)
      else if (each.element.name !== 'Ntry') statement.addHeader(each.element)
      else {
        yield* statement.start(each.element.place)
        yield statement.entryOf(each.element)
      }
    } else if (each.type === 'end' && statementParts.includes(each.part)) {
      yield* statement.start(each.place)
      yield { type: 'statement-end', ...statement.balances() }
    }
  }
}

class Statement {
  readonly #format: StatementStart['format']
  readonly #headers = new Map<string, XmlElement>()
  readonly #balances: { readonly kind: string | null; readonly balance: Balance }[] = []
  #isStarted = false
  #entries = 0
  #account: string | null = null
  #payments: Details[] = []

  constructor(format: StatementStart['format']) {
    this.#format = format
  }

  addHeader(element: XmlElement): void {
    const name = element.name.replace(/^(?:Stmt|Rpt|Ntfctn)Pgntn$/, 'MsgPgntn')
    if (['Id', 'Acct', 'LglSeqNb', 'ElctrncSeqNb', 'MsgPgntn'].includes(name)) this.#headers.set(name, element)
  }

  addBalance(element: XmlElement): void {
    const { amountMinor, currency } = moneyOf(element)
    const isNegative = directionOf(element) === 'debit'
    const date = entryDate(element, 'Dt') ?? fail('bank-value-missing', { name: 'Dt', place: element.place })
    const balance = { amountMinor: isNegative ? -amountMinor : amountMinor, currency, date }
    if (this.#balances.length < 100) this.#balances.push({ kind: textAt(element, 'Tp/CdOrPrtry/Cd'), balance })
  }

  /**
   * Returns the first and the last balance. A page of a statement of several pages has interim balances (ITBD) instead: one next to OPBD or
   * CLBD, or two. In any other statement, interim balances are those of the day.
   */
  balances(): { opening: Balance | null; closing: Balance | null } {
    const of = (kind: string) => this.#balances.filter((each) => each.kind === kind).map(({ balance }) => balance)
    const opening = of('OPBD')[0] ?? of('PRCD')[0]
    const closing = of('CLBD').at(-1)
    const interim = this.#headers.has('MsgPgntn') ? of('ITBD') : []
    const isPage = interim.length === 2 || (interim.length === 1 && (opening ?? closing) !== undefined)
    return {
      opening: opening ?? (isPage ? interim[0]! : null),
      closing: closing ?? (isPage ? interim.at(-1)! : null),
    }
  }

  *start(place: string): Generator<StatementStart> {
    if (this.#isStarted) return
    this.#isStarted = true
    const text = (name: string, ...paths: string[]) => {
      const element = this.#headers.get(name)
      return element === undefined ? null : paths.length > 0 ? textAt(element, ...paths) : element.text.trim() || null
    }
    this.#account =
      withoutSpaces(text('Acct', 'Id/IBAN', 'Id/Othr/Id', 'Id/PrtryAcct/Id')) ??
      fail('bank-value-missing', { name: 'Acct', place })
    const number = text('LglSeqNb') ?? text('ElctrncSeqNb')
    const page = text('MsgPgntn', 'PgNb')
    const isOnlyPage = page === null || (page === '1' && text('MsgPgntn', 'LastPgInd') === 'true')
    yield {
      ...{ type: 'statement', format: this.#format, account: this.#account, currency: text('Acct', 'Ccy') },
      ...{ statementId: text('Id'), number: number === null || isOnlyPage ? number : `${number}/${page}` },
    }
  }

  /** Reads a payment before its entry ends, because an entry can have thousands. */
  addPayment(element: XmlElement, entry: XmlElement): void {
    if (entry.name !== 'Ntry') return
    if (this.#payments.length === maxPaymentsOfEntry)
      fail('bank-entry-too-large', { place: entry.place, most: maxPaymentsOfEntry })
    this.#payments.push(detailsOf(element, moneyOf(entry).currency))
  }

  entryOf(element: XmlElement): BankEntry {
    const { place } = element
    const details = this.#payments
    this.#payments = []
    this.#entries += 1
    const money = moneyOf(element)
    const direction = directionOf(element)
    const isReversal = isTrue(textAt(element, 'RvslInd'))
    const batches = allAt(element, 'NtryDtls/Btch')
    const counts = batches.flatMap((batch) => textAt(batch, 'NbOfTxs') ?? [])
    const [only] = details.length === 1 ? details : []
    // The details of a batch that is booked as one amount are often a single element that names only the customer's file.
    const isBatch = only !== undefined && only.fileId !== null && !only.namesPayment
    const batchFile = commonOf(batches.map((batch) => textAt(batch, 'MsgId', 'PmtInfId')))
    const payments = isBatch ? [] : details.map((each) => each.paymentOf(direction, isReversal, this.#account))
    const charges = only === undefined ? null : chargesOf(element, money.currency)
    return {
      ...{ type: 'entry', number: this.#entries, status: statusOf(element), direction, isReversal, ...money },
      date:
        entryDate(element, 'BookgDt') ??
        entryDate(element, 'ValDt') ??
        fail('bank-value-missing', { name: 'BookgDt', place }),
      bankReference: textAt(element, 'AcctSvcrRef'),
      kind: kindOf(element),
      text: textAt(element, 'AddtlNtryInf'),
      fileId: batchFile ?? (isBatch ? only.fileId : null),
      paymentCount: counts.length > 0 ? counts.reduce((sum, count) => sum + countOf(count, place), 0) : null,
      payments: payments.map((payment) =>
        only === undefined || counts.some((count) => Number(count) > 1)
          ? payment
          : {
              ...payment,
              amountMinor: payment.amountMinor ?? money.amountMinor,
              chargesMinor: payment.chargesMinor ?? charges,
            },
      ),
    }
  }
}

function moneyOf(element: XmlElement): { amountMinor: bigint; currency: string } {
  const [amount] = allAt(element, 'Amt')
  const { place } = amount ?? element
  const currency = amount?.currency ?? fail('bank-value-missing', { name: 'Amt Ccy', place })
  return { amountMinor: amountOf(amount?.text ?? null, 'xml', place), currency: currencyOf(currency, place) }
}

function currencyOf(currency: string, place: string): string {
  return /^[A-Z]{3}$/.test(currency) ? currency : fail('bank-value-unknown', { name: 'Ccy', place })
}

/**
 * Returns whether the balance of the account grows. A reversal states the direction of the reversing booking: ISO 20022 defines that if it is CRDT
 * and RvslInd is true, the original operation was a debit. So RvslInd does not change the direction.
 */
function directionOf(element: XmlElement): Direction {
  const indicator = textAt(element, 'CdtDbtInd')
  if (indicator === 'CRDT') return 'credit'
  if (indicator === 'DBIT') return 'debit'
  return fail('bank-value-unknown', { name: 'CdtDbtInd', place: element.place })
}

function statusOf(element: XmlElement): BankEntry['status'] {
  const status = textAt(element, 'Sts', 'Sts/Cd', 'Sts/Prtry')
  if (status === 'BOOK') return 'booked'
  if (status === 'PDNG' || status === 'INFO' || status === 'FUTR') return 'pending'
  return fail('bank-value-unknown', { name: 'Sts', place: element.place })
}

function entryDate(element: XmlElement, name: string): string | null {
  const text = textAt(element, `${name}/Dt`, `${name}/DtTm`)
  // A date can have a time zone. The day is the one that the bank writes.
  return text === null ? null : dateOf(text.slice(0, 10), element.place)
}

function kindOf(element: XmlElement): string | null {
  const domain = ['Cd', 'Fmly/Cd', 'Fmly/SubFmlyCd'].flatMap((path) => textAt(element, `BkTxCd/Domn/${path}`) ?? [])
  return domain.length > 0 ? domain.join('-') : textAt(element, 'BkTxCd/Prtry/Cd')
}

const countOf = (text: string, place: string): number =>
  /^\d{1,15}$/.test(text) ? Number(text) : fail('bank-value-unknown', { name: 'NbOfTxs', place })
const commonOf = ([first = null, ...others]: readonly (string | null)[]): string | null =>
  others.every((each) => each === first) ? first : null
const isTrue = (text: string | null): boolean => text === 'true' || text === '1'

interface Details {
  /** The id of the customer's file that the references name. */
  readonly fileId: string | null
  /** Whether the details name a payment, rather than only the file that contains it. */
  readonly namesPayment: boolean
  readonly paymentOf: (direction: Direction, isReversal: boolean, account: string | null) => BankPayment
}

function detailsOf(element: XmlElement, currency: string): Details {
  const endToEndId = referenceOrNull(textAt(element, 'Refs/EndToEndId'))
  const debtor = partyOf(element, 'Dbtr')
  const creditor = partyOf(element, 'Cdtr')
  const remittance = [...allAt(element, 'RmtInf/Ustrd'), ...allAt(element, 'RmtInf/Strd/AddtlRmtInf')]
  const returned = returnOf(element)
  const chargesMinor = chargesOf(element, currency)
  const [instructedAmount] = allAt(element, 'AmtDtls/InstdAmt').map(moneyOf)
  // An instructed amount is also the booked one if nothing was deducted. `Amt` of the details exists from version 03 on.
  const amounts = [
    ...(allAt(element, 'Amt').length > 0 ? [moneyOf(element)] : []),
    ...allAt(element, 'AmtDtls/TxAmt').map(moneyOf),
    ...(instructedAmount !== undefined && !chargesMinor ? [instructedAmount] : []),
  ]
  const amountMinor = amounts.find((amount) => amount.currency === currency)?.amountMinor ?? null
  const payment: BankPayment = {
    ...{ ...unstatedPayment, amountMinor, endToEndId, returned, chargesMinor },
    bankReference: textAt(element, 'Refs/AcctSvcrRef'),
    remittance: remittance.map(({ text }) => text.trim()).filter((text) => text !== ''),
    creditorReference: textAt(element, 'RmtInf/Strd/CdtrRefInf/Ref', 'RmtInf/Strd/CdtrRefInf/CdtrRef'),
    instructed:
      instructedAmount?.currency === currency && instructedAmount.amountMinor === amountMinor
        ? null
        : (instructedAmount ?? null),
  }
  return {
    fileId: textAt(element, 'Refs/MsgId', 'Refs/PmtInfId'),
    namesPayment: [endToEndId, debtor, creditor, returned, remittance[0]].some((part) => part != null),
    paymentOf(direction, isReversal, account) {
      // Most banks keep the roles of the original payment in a return, so that its payee sends the money. The own account decides first.
      const isTurned = isReversal || returned !== null
      const isDebtorOther =
        account !== null && debtor?.account === account
          ? false
          : (account !== null && creditor?.account === account) || (direction === 'credit') !== isTurned
      const [other, fallback] = isDebtorOther ? [debtor, creditor] : [creditor, debtor]
      const { name, account: otherAccount } = other ?? fallback ?? { name: null, account: null }
      return { ...payment, name, account: otherAccount }
    },
  }
}

/** Returns the party of a role in the form of all versions, or null if it is not stated. */
function partyOf(element: XmlElement, role: 'Dbtr' | 'Cdtr'): { name: string | null; account: string | null } | null {
  const names = [role, `Ultmt${role}`].flatMap((each) => [`RltdPties/${each}/Nm`, `RltdPties/${each}/Pty/Nm`])
  const name = textAt(element, ...names)
  const account = withoutSpaces(textAt(element, `RltdPties/${role}Acct/Id/IBAN`, `RltdPties/${role}Acct/Id/Othr/Id`))
  return name === null && account === null ? null : { name, account }
}

function returnOf(element: XmlElement): ReturnedPayment | null {
  const [info] = allAt(element, 'RtrInf')
  if (info === undefined) return null
  const texts = [...allAt(info, 'Rsn/Prtry'), ...allAt(info, 'AddtlInf')].map(({ text }) => text.trim())
  const reasonText = texts.filter((text) => text !== '').join(' ') || null
  return { reasonCode: textAt(info, 'Rsn/Cd'), reasonText, originalEndToEndId: null }
}

/**
 * Returns the sum of the included charges in the currency. Version 02 repeats `Chrgs`, and later versions have one with a `Rcrd` for each
 * charge. The total of all charges counts only if no charge is listed. A charge with `ChrgInclInd` false is booked separately.
 */
function chargesOf(element: XmlElement, currency: string): bigint | null {
  const listed = [...allAt(element, 'Chrgs/Rcrd'), ...allAt(element, 'Chrgs').filter((each) => allAt(each, 'Amt')[0])]
  if (listed.length === 0) {
    const [total] = allAt(element, 'Chrgs/TtlChrgsAndTaxAmt')
    return total?.currency === currency ? amountOf(total.text, 'xml', total.place) : null
  }
  const included = listed.filter((charge) => (textAt(charge, 'ChrgInclInd') ?? 'true') !== 'false')
  const amounts = included.flatMap((charge) => {
    const money = moneyOf(charge)
    if (money.currency !== currency) return []
    return textAt(charge, 'CdtDbtInd') === 'CRDT' ? -money.amountMinor : money.amountMinor
  })
  return amounts.length > 0 ? amounts.reduce((sum, amount) => sum + amount, 0n) : null
}
