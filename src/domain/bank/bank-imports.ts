import { plainAccountNumber } from '../../kernel/account-number.js'
import { folded } from '../../kernel/text.js'
import {
  type BankEntries,
  type BankEntryEvent,
  entriesIdOf,
  type FormatFamily,
  type KnownEntry,
} from './bank-entries.js'
import type { BankEntry, BankPayment, StatementStart } from './bank-records.js'
import { type Compared, recordedEntries } from './same-entry.js'

/** Returns a keyed digest of a text for a purpose. */
export type Mac = (purpose: string, text: string) => string

/** The statement that an entry is in. */
interface EntrySource {
  readonly accountId: string
  readonly importId: string
  readonly family: FormatFamily
  readonly at: string
}

export function familyOf(format: StatementStart['format']): FormatFamily {
  if (format === 'csv') return 'csv'
  return format.startsWith('MT') ? 'mt' : 'camt'
}

interface RecordedEntries {
  readonly events: readonly BankEntryEvent[]
  /** The recorded entry of each entry of the file, in its order. */
  readonly entryIds: readonly string[]
  readonly newEntries: number
}

/**
 * Returns the events that record entries of a file: new entries, and the payments of an entry that an earlier file had only as one amount.
 * All entries have the same account, day, direction and amount. `taken` are the entries that earlier entries of the same file are.
 */
export function recordEntries(
  entries: readonly BankEntry[],
  known: BankEntries,
  taken: ReadonlySet<string>,
  source: EntrySource,
  mac: Mac,
): RecordedEntries {
  const { accountId, importId, family, at } = source
  const paymentsOf = new Map(
    entries.map((entry) => [entry, namedPayments(entry).map((each) => comparable(each, source, mac))]),
  )
  const compared = entries.map((entry) => ({ ...entry, family, payments: paymentsOf.get(entry)! }))
  const same = recordedEntries(compared, known, taken)
  const events: BankEntryEvent[] = []
  let count = known.length
  const entryIds = entries.map((entry, n) => {
    const found = same[n]
    const entryId = found?.entryId ?? `${entriesIdOf({ ...entry, accountId })}-${++count}`
    const common = { accountId, date: entry.date, entryId, at }
    const missing = missingPayments(entry, found)
    const whole = found?.payments.find(({ payment }) => payment.paymentId === entryId)
    if (whole && !whole.isSuperseded && missing.length > 0) {
      const data = { ...common, paymentId: entryId, supersededAmountMinor: whole.payment.paidAmountMinor }
      events.push({ type: 'BankPaymentSuperseded', data })
    }
    for (const payment of missing) {
      const stated = { ...statedEntry(entry), importId, family, ...paymentData(payment, entryId, entry) }
      const personId = personIdOf(payment, accountId, stated.paymentId, mac)
      const data = { ...common, ...stated, personId, ...comparable(payment, source, mac) }
      events.push({ type: 'BankPaymentRecorded', data })
    }
    return entryId
  })
  return { events, entryIds, newEntries: count - known.length }
}

function statedEntry(entry: BankEntry) {
  const { direction, isReversal, amountMinor: bookedAmountMinor, currency, fileId, paymentCount } = entry
  const { kind: entryKind, bankReference: entryReference } = entry
  return { direction, isReversal, bookedAmountMinor, currency, entryKind, fileId, paymentCount, entryReference }
}

/** A payment of an entry; number 0 is the entry itself. */
type NumberedPayment = BankPayment & { readonly number: number; readonly amountMinor: bigint }

/** Returns the payments that the file names with their amounts, or the entry itself as one payment. */
function namedPayments(entry: BankEntry): readonly NumberedPayment[] {
  const { payments, amountMinor, text } = entry
  const [only] = payments
  if (payments.length === 1 && only) return [{ ...only, amountMinor: paidMinor(entry, only), number: 1 }]
  const named = payments.flatMap((payment, n) =>
    payment.amountMinor !== null && payment.amountMinor > 0n
      ? [{ ...payment, amountMinor: payment.amountMinor, number: n + 1 }]
      : [],
  )
  if (named.length > 0 && named.length === payments.length) return named
  const unknown = { endToEndId: null, bankReference: null, name: null, account: null, creditorReference: null }
  const nothing = { instructed: null, chargesMinor: null, returned: null }
  return [{ number: 0, amountMinor, ...unknown, ...nothing, remittance: text === null ? [] : [text] }]
}

/** Returns the payments that are not recorded. The entry itself is recorded only if no payment is known. */
function missingPayments(entry: BankEntry, found: KnownEntry | undefined): readonly NumberedPayment[] {
  const payments = namedPayments(entry)
  if (!found) return payments
  // Its money is used or explained as one amount.
  if (
    found.payments.some(
      ({ payment, uses, explained }) => payment.paymentId === payment.entryId && (uses.length > 0 || explained),
    )
  )
    return []
  const recorded = new Set(found.payments.map(({ payment }) => payment.paymentId))
  return payments.filter(({ number }) => {
    const isNew = !recorded.has(paymentIdOf(found.entryId, number))
    return isNew && (number > 0 || recorded.size === 0)
  })
}

const paymentIdOf = (entryId: string, number: number) => (number === 0 ? entryId : `${entryId}.${number}`)

/** A bank can book its charges together with the payment that they are for. */
function paidMinor(entry: BankEntry, { amountMinor, instructed, chargesMinor }: BankPayment): bigint {
  const isOwn = instructed?.currency === entry.currency && chargesMinor !== null
  if (entry.direction === 'debit' && isOwn && instructed.amountMinor + chargesMinor === entry.amountMinor)
    return instructed.amountMinor
  return amountMinor !== null && amountMinor > 0n && amountMinor < entry.amountMinor ? amountMinor : entry.amountMinor
}

function paymentData(payment: NumberedPayment, entryId: string, entry: BankEntry) {
  const { endToEndId, bankReference, name, account, remittance, creditorReference, returned } = payment
  return {
    paymentId: paymentIdOf(entryId, payment.number),
    paidAmountMinor: payment.amountMinor,
    bankReference: bankReference ?? entry.bankReference,
    endToEndId,
    name: shortened(name),
    accountNumber: account,
    remittance: shortened(remittance.join('\n')),
    creditorReference,
    isReturn: returned !== null,
    returnReasonCode: returned?.reasonCode ?? null,
    returnReasonText: shortened(returned?.reasonText ?? null),
    originalEndToEndId: returned?.originalEndToEndId ?? null,
  }
}

const maxText = 2_000
const shortened = (text: string | null): string | null => (text === null || text === '' ? null : text.slice(0, maxText))

/** Digests stay comparable after the counterparty was erased. */
function comparable(payment: NumberedPayment, source: EntrySource, mac: Mac): Compared {
  const { endToEndId, account, remittance, creditorReference } = payment
  const digest = (purpose: string, text: string) =>
    text === '' ? null : mac(`bank ${purpose}`, JSON.stringify([source.accountId, text]))
  const plain = (text: string) => folded(text).replaceAll(/[^\p{L}\p{N}]/gu, '')
  const accountNumber = account === null ? '' : plainAccountNumber(account)
  const text = plain([...remittance, creditorReference ?? ''].join(''))
  return {
    // With the digest of the text, because some formats state the id there.
    endToEndMac: digest('text', plain(endToEndId ?? '')),
    accountMac: digest('account', accountNumber),
    textMac: digest('text', text),
  }
}

/**
 * Returns the id of the counterparty: the person with this account and name. Many people share the account of a payment service, and many a name,
 * so without an account each payment has its own counterparty.
 */
function personIdOf({ account, name }: NumberedPayment, accountId: string, paymentId: string, mac: Mac): string {
  const person = account === null ? [paymentId] : [plainAccountNumber(account), folded(name ?? '')]
  return mac('bank counterparty', JSON.stringify([accountId, ...person]))
}
