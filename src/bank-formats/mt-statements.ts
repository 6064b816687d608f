import type { Balance, BankEntry, BankRecord, StatementEnd, StatementStart } from '../domain/bank/bank-records.js'
import { parseIban } from '../kernel/iban.js'
import { fail } from './bank-file-error.js'
import { mtDetails } from './mt-details.js'
import type { MtField } from './mt-fields.js'
import { amountOf, dateOf, referenceOrNull, textOrNull } from './values.js'

/** Returns the records of MT940 and MT942 messages (SWIFT Standards MT, category 9). */
export async function* mtRecords(fields: AsyncIterable<MtField>): AsyncGenerator<BankRecord> {
  let statement: Statement | undefined
  /** An entry is complete when a field other than `:86:` follows. */
  let entry: { readonly line: MtField; readonly details: string[] } | undefined
  let last: MtField | undefined
  for await (const field of fields) {
    const { tag, lines } = field
    if (entry !== undefined && tag !== '86') {
      yield statement!.entryOf(entry.line, entry.details)
      entry = undefined
    }
    if (tag === '-' || tag === '20') {
      if (statement !== undefined) yield* statement.end(field.place)
      statement = tag === '20' ? new Statement() : undefined
    }
    last = field
    if (tag === '-' || tag === '940' || tag === '942') continue
    if (statement === undefined) fail('bank-value-missing', { name: ':20:', place: field.place })
    // A text after the closing balance is about the statement.
    if (tag === '86') entry?.details.push(...lines)
    else if (tag === '61') {
      yield* statement.start(field.place)
      entry = { line: field, details: [] }
    } else statement.add(field)
  }
  if (entry !== undefined) yield statement!.entryOf(entry.line, entry.details)
  if (statement !== undefined) yield* statement.end(last!.place)
}

const statementLine =
  /^(\d{6})(\d{4})? ?(R?[CD]|E[CD])([A-Z])?(\d{1,16},\d{0,20})([A-Z][A-Z0-9]{3})((?:(?!\/\/).){0,35})(?:\/\/(.{0,35}))?$/
const balanceLine = /^([CD])(\d{6})([A-Z]{3})(\d{1,16},\d{0,20})$/
/** The words in the customer's reference that state where the reference is. */
const wordsOfReference = /^(EREF|KREF|PREF|MARF|MREF|CREF)\+?$/

class Statement {
  readonly #fields = new Map<string, MtField>()
  #isStarted = false
  #entries = 0
  #currency: string | null = null
  #opening: Balance | null = null
  #closing: Balance | null = null

  add(field: MtField): void {
    const { tag, place, lines } = field
    if (/^60/.test(tag)) this.#opening ??= balanceOf(field)
    else if (/^62/.test(tag)) this.#closing = balanceOf(field)
    else if (this.#fields.size < 20) this.#fields.set(tag, field)
    if (tag === '34F') this.#currency ??= /^[A-Z]{3}/.exec(lines[0]!)?.[0] ?? fail('bank-file-damaged', { place })
    this.#currency ??= (this.#opening ?? this.#closing)?.currency ?? null
  }

  /** MT942 states a limit (`:34F:`) or a time (`:13D:`) instead of balances. */
  #isInterim(): boolean {
    return this.#opening === null && ['34F', '13D', '13'].some((tag) => this.#fields.has(tag))
  }

  *start(place: string): Generator<StatementStart> {
    if (this.#isStarted) return
    this.#isStarted = true
    const text = (tag: string) => textOrNull(this.#fields.get(tag)?.lines[0])
    if (!this.#isInterim() && this.#opening === null) fail('bank-value-missing', { name: ':60F:', place })
    const account = text('25') ?? text('25P') ?? fail('bank-value-missing', { name: ':25:', place })
    // German banks write the same word into every statement, and some banks the number 0.
    const id = text('20')?.replace(/^START(?:UMS|DISP)E?$/, '')
    const number = (text('28C') ?? text('28') ?? '').replaceAll(/(?<!\d)0+(?=\d)/g, '')
    yield {
      ...{ type: 'statement', format: this.#isInterim() ? 'MT942' : 'MT940', account: accountOf(account) },
      ...{
        currency: this.#currency,
        statementId: referenceOrNull(id),
        number: /^0?(?:\/|$)/.test(number) ? null : number,
      },
    }
  }

  *end(place: string): Generator<StatementStart | StatementEnd> {
    yield* this.start(place)
    // Without its last balance, the file was cut off.
    if (!this.#isInterim() && this.#closing === null) fail('bank-value-missing', { name: ':62F:', place })
    yield { type: 'statement-end', opening: this.#opening, closing: this.#closing }
  }

  entryOf({ lines, place }: MtField, details: readonly string[]): BankEntry {
    const [line = '', ...supplementary] = lines
    const [, valueDay, entryDay, mark = '', , amount, type, ownReference, bankReference] =
      statementLine.exec(line.trimEnd()) ?? fail('bank-file-damaged', { place })
    const currency = this.#currency ?? fail('bank-value-missing', { name: ':34F:', place })
    const amountMinor = amountOf(amount!, 'swift', place)
    const valueDate = dayOf(valueDay!, place)
    const { kind, text, fileId, paymentCount, isBatch, charges, payment } = mtDetails(
      details,
      textOrNull(supplementary.join(' ')),
    )
    const reference = wordsOfReference.test(ownReference!.trim()) ? null : referenceOrNull(ownReference)
    const { instructed } = payment
    const isSame = instructed?.currency === currency && instructed.amountMinor === amountMinor
    this.#entries += 1
    return {
      ...{ type: 'entry', number: this.#entries },
      // An interim report also contains entries that the bank has not booked yet, and does not mark them.
      status: this.#isInterim() || mark.startsWith('E') ? 'pending' : 'booked',
      // RC is the reversal of a credit, so the balance falls.
      direction: mark === 'RD' || mark === 'C' || mark === 'EC' ? 'credit' : 'debit',
      ...{ isReversal: mark.startsWith('R'), amountMinor, currency },
      date: entryDay === undefined ? valueDate : entryDateOf(entryDay, valueDate, place),
      ...{ bankReference: referenceOrNull(bankReference), kind: kind ?? type!, text, fileId, paymentCount },
      payments:
        isBatch || (details.length === 0 && reference === null)
          ? []
          : [
              {
                ...{ ...payment, amountMinor, endToEndId: payment.endToEndId ?? reference },
                chargesMinor: charges?.currency === currency ? charges.amountMinor : null,
                instructed: isSame ? null : instructed,
              },
            ],
    }
  }
}

/** Returns the IBAN without a currency or a BIC next to it, or else the text without spaces. */
function accountOf(text: string): string {
  const plain = text.replaceAll(' ', '')
  const forms = [plain, plain.replace(/[A-Z]{3}$/, ''), plain.replace(/^.*\//, ''), germanIban(plain)]
  return forms.flatMap((form) => parseIban(form) ?? [])[0] ?? plain
}

/** Returns the IBAN of a German bank code and account number, so that MT940 and camt.053 name an account alike, or an empty text. */
function germanIban(text: string): string {
  const [, bank, account] = /^(\d{8})\/(\d{1,10})$/.exec(text) ?? []
  if (bank === undefined || account === undefined) return ''
  const number = bank + account.padStart(10, '0')
  // ISO 13616: D is 13, and E is 14.
  return `DE${String(98n - (BigInt(`${number}131400`) % 97n)).padStart(2, '0')}${number}`
}

function balanceOf({ lines, place }: MtField): Balance {
  const [, mark, day, currency, amount] = balanceLine.exec(lines[0]!.trim()) ?? fail('bank-file-damaged', { place })
  const amountMinor = amountOf(amount!, 'swift', place)
  return { amountMinor: mark === 'D' ? -amountMinor : amountMinor, currency: currency!, date: dayOf(day!, place) }
}

const dayOf = (day: string, place: string): string =>
  dateOf(`20${day.slice(0, 2)}-${day.slice(2, 4)}-${day.slice(4)}`, place)

/** Returns the day of the booking, which has no year: the one that is nearest to the day of the value. */
function entryDateOf(day: string, valueDate: string, place: string): string {
  const year = Number(valueDate.slice(0, 4))
  const months = Number(day.slice(0, 2)) - Number(valueDate.slice(5, 7))
  const nearest = months > 6 ? year - 1 : months < -6 ? year + 1 : year
  return dateOf(`${nearest}-${day.slice(0, 2)}-${day.slice(2)}`, place)
}
