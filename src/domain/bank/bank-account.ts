import { plainAccountNumber } from '../../kernel/account-number.js'
import { parseIban } from '../../kernel/iban.js'
import { Type } from '../../kernel/typebox.js'
import { accept, type Decider } from '../decider.js'
import { Data, type DataOf, type EventsOf, NotPersonal, Nullable, OneOf } from '../event.js'
import { Actor, Currency, Day, Id, Index, Minor, SignedMinor, Text, Time } from '../fields.js'

import type { CsvMapping } from './bank-records.js'

const account = { accountId: Id, at: Time }
const Balance = { balanceMinor: SignedMinor, date: Day }

const columns = {
  ...{ date: Text, amount: Type.Optional(Text), credit: Type.Optional(Text), debit: Type.Optional(Text) },
  ...{ sign: Type.Optional(Text), currency: Type.Optional(Text), name: Type.Optional(Text) },
  ...{ account: Type.Optional(Text), remittance: Type.Optional(Text), endToEndId: Type.Optional(Text) },
  ...{ bankReference: Type.Optional(Text), balance: Type.Optional(Text) },
}
/** {@link CsvMapping} */
export const CsvMappingData = Data({
  separator: OneOf(',', ';', '\t', '|'),
  decimalMark: OneOf('.', ','),
  dateFormat: Text,
  columns: Data(columns),
  debitValues: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  currency: Type.Optional(Currency),
  skipLines: Type.Optional(Index),
})

/** An account at a bank, in `bankaccount-<account>`. */
export const bankAccountEvents = {
  /** The merchants whose transfers the account pays and receives; null for all merchants. */
  BankAccountAssigned: Data({ ...account, by: Actor, merchantIds: Nullable(Type.Array(Id, { maxItems: 1_000 })) }),
  /** How the columns of the bank's CSV files are read from now on. */
  BankCsvMapped: Data({ ...account, by: Actor, csv: NotPersonal(CsvMappingData) }),
  /** Every booked entry of a statement is recorded. */
  StatementImported: Data({
    ...account,
    by: Actor,
    /** The SHA-256 of the file and the place of the statement in it. */
    importId: Id,
    format: OneOf('camt.052', 'camt.053', 'camt.054', 'MT940', 'MT942', 'csv'),
    statementId: Nullable(Text),
    number: Nullable(Text),
    currency: Currency,
    firstDate: Nullable(Day),
    lastDate: Nullable(Day),
    opening: Nullable(Data(Balance)),
    closing: Nullable(Data(Balance)),
    creditMinor: Minor,
    debitMinor: Minor,
    entries: Index,
    /** The number of entries that no earlier statement had. */
    newEntries: Index,
    pendingEntries: Index,
  }),
}
export type BankAccountEvent = EventsOf<typeof bankAccountEvents>
export type ImportedStatement = DataOf<BankAccountEvent, 'StatementImported'>

export interface BankAccount {
  /** Null for all merchants; `undefined` before the first import. */
  readonly merchantIds: readonly string[] | null | undefined
  readonly csv: CsvMapping | undefined
  readonly statements: readonly ImportedStatement[]
}

type BankAccountCommand =
  | ({ readonly type: 'MapCsv' } & DataOf<BankAccountEvent, 'BankCsvMapped'>)
  | ({ readonly type: 'Assign' } & DataOf<BankAccountEvent, 'BankAccountAssigned'>)
  | ({ readonly type: 'Import' } & ImportedStatement)

export const bankAccountDecider: Decider<BankAccount, BankAccountCommand, BankAccountEvent> = {
  initialState: { merchantIds: undefined, csv: undefined, statements: [] },
  decide({ type, ...data }, state) {
    if (type === 'Assign') {
      const assigned = data as DataOf<BankAccountEvent, 'BankAccountAssigned'>
      const isSame = JSON.stringify(assigned.merchantIds) === JSON.stringify(state.merchantIds)
      return isSame ? accept() : accept({ type: 'BankAccountAssigned', data: assigned })
    }
    if (type === 'MapCsv') {
      const mapped = data as DataOf<BankAccountEvent, 'BankCsvMapped'>
      const isSame = JSON.stringify(mapped.csv) === JSON.stringify(state.csv)
      return isSame ? accept() : accept({ type: 'BankCsvMapped', data: mapped })
    }
    const imported = data as ImportedStatement
    if (state.statements.some(({ importId }) => importId === imported.importId)) return accept()
    return accept({ type: 'StatementImported', data: imported })
  },
  evolve(state, { type, data }) {
    if (type === 'BankAccountAssigned') return { ...state, merchantIds: data.merchantIds }
    if (type === 'BankCsvMapped') return { ...state, csv: data.csv }
    return { ...state, statements: [...state.statements, data] }
  },
}

export type StatementProblem =
  /** The balances and the entries do not agree. */
  | { readonly problem: 'sum-differs'; readonly differenceMinor: bigint }
  /** The statement before ends with another balance, so a statement between them is missing. */
  | { readonly problem: 'gap'; readonly differenceMinor: bigint; readonly after: string }

/** Returns the problems of the balances of each statement. Reports of the same day contain one another, so only statements are compared. */
export function statementProblems(statements: readonly ImportedStatement[]): ReadonlyMap<string, StatementProblem[]> {
  const problems = new Map<string, StatementProblem[]>()
  const complete = statements.flatMap(({ opening, closing, ...statement }) =>
    opening && closing ? [{ ...statement, opening, closing }] : [],
  )
  const inOrder = complete.toSorted((a, b) => compare(a.closing.date, b.closing.date) || compare(a.at, b.at))
  /** The statements of each currency and closing balance, in the same order. */
  const byBalance = new Map<string, typeof inOrder>()
  for (const statement of inOrder) {
    const key = `${statement.currency} ${statement.closing.balanceMinor}`
    byBalance.set(key, [...(byBalance.get(key) ?? []), statement])
  }
  /** The last statement of an earlier day and of the present one, by currency. */
  const latest = new Map<string, { before: (typeof inOrder)[number] | undefined; now: (typeof inOrder)[number] }>()
  for (const statement of inOrder) {
    const { importId, opening, closing, creditMinor, debitMinor, currency } = statement
    const known = latest.get(currency)
    const before = known?.now.closing.date === closing.date ? known.before : known?.now
    latest.set(currency, { before, now: statement })
    const found: StatementProblem[] = []
    const differenceMinor = closing.balanceMinor - (opening.balanceMinor + creditMinor - debitMinor)
    if (differenceMinor !== 0n) found.push({ problem: 'sum-differs', differenceMinor })
    const follows = byBalance
      .get(`${currency} ${opening.balanceMinor}`)
      ?.some((each) => each.importId !== importId && each.closing.date <= closing.date)
    if (before && !follows) {
      const difference = opening.balanceMinor - before.closing.balanceMinor
      found.push({ problem: 'gap', differenceMinor: difference, after: before.closing.date })
    }
    if (found.length > 0) problems.set(importId, found)
  }
  return problems
}

/**
 * Returns the id of an account, the same for every form in which formats state it: the IBAN, with or without its currency, or the German
 * bank code and account number. Another number is its own id.
 */
export function bankAccountId(text: string): string | undefined {
  const german = /^(\d{8})\/(\d{1,10})$/.exec(text.replaceAll(/\s/g, '').replace(/[A-Z]{3}$/, ''))
  const plain = german ? germanIban(german[1]!, german[2]!) : plainAccountNumber(text)
  const iban = parseIban(plain) ?? parseIban(plain.replace(/[A-Z]{3}$/, ''))
  const id = iban ?? plain.replaceAll(/[^A-Z0-9]/g, '')
  return id === '' || id.length > 40 ? undefined : id
}

function germanIban(bankCode: string, account: string): string {
  const number = `${bankCode}${account.padStart(10, '0')}`
  // ISO 7064, with D as 13, E as 14 and the check digits as 00.
  const check = 98n - (BigInt(`${number}131400`) % 97n)
  return `DE${String(check).padStart(2, '0')}${number}`
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
