import t from 'tap'
import {
  type BankAccountEvent,
  bankAccountDecider,
  bankAccountId,
  type ImportedStatement,
  statementProblems,
} from '../../../src/domain/bank/bank-account.js'

t.test('every form in which formats state an account has the same id', async (t) => {
  const id = 'DE89370400440532013000'
  for (const text of [
    'DE89 3704 0044 0532 0130 00',
    'de89370400440532013000',
    `${id}EUR`,
    '37040044/0532013000',
    '37040044/532013000',
    '37040044/532013000EUR',
  ])
    t.equal(bankAccountId(text), id, text)
  t.equal(bankAccountId('NL91ABNA0417164300EUR'), 'NL91ABNA0417164300')
  t.equal(bankAccountId('1234.56.78903'), '12345678903')
  t.equal(bankAccountId(' - '), undefined)
  t.equal(bankAccountId('X'.repeat(60)), undefined)
})

const at = (n: number) => `2026-03-0${n}T10:00:00.000Z`
function statement(
  day: number,
  opening: bigint | null,
  closing: bigint,
  changes: Partial<ImportedStatement> = {},
): ImportedStatement {
  const date = `2026-03-0${day}`
  return {
    ...{
      accountId: 'DE',
      at: at(day),
      by: 'user:ada',
      importId: `s${day}`,
      format: 'camt.053',
      statementId: null,
      number: null,
    },
    ...{ currency: 'EUR', firstDate: date, lastDate: date, entries: 1, newEntries: 1, pendingEntries: 0 },
    opening: opening === null ? null : { balanceMinor: opening, date },
    closing: { balanceMinor: closing, date },
    ...{ creditMinor: closing - (opening ?? 0n), debitMinor: 0n },
    ...changes,
  }
}
const problems = (...all: readonly ImportedStatement[]) => [...statementProblems(all)]

t.test('statements in any order follow one another, and a missing one is named with its amount', async (t) => {
  const days = [statement(1, 0n, 10n), statement(2, 10n, 25n), statement(3, 25n, 30n)] as const
  t.same(problems(...days), [])
  t.same(problems(days[2], days[0], days[1]), [])
  const gap = { problem: 'gap', differenceMinor: 15n, after: '2026-03-01' }
  t.same(problems(days[0], days[2]), [['s3', [gap]]])
  t.same(problems(statement(1, 0n, 10n, { creditMinor: 9n })), [
    ['s1', [{ problem: 'sum-differs', differenceMinor: 1n }]],
  ])
})

t.test('statements without balances, of another currency, or imported twice have no problem', async (t) => {
  t.same(problems(statement(1, 0n, 10n), statement(2, null, 99n)), [])
  t.same(problems(statement(1, 0n, 10n), statement(2, 500n, 510n, { currency: 'USD' })), [])
  t.same(problems(statement(1, 0n, 10n), statement(1, 0n, 10n, { importId: 'again' }), statement(2, 10n, 20n)), [])
})

t.test('a statement is recorded once, and settings only if they change', async (t) => {
  const decide = (
    command: Parameters<typeof bankAccountDecider.decide>[0],
    events: readonly BankAccountEvent[] = [],
  ) => {
    const state = events.reduce(bankAccountDecider.evolve, bankAccountDecider.initialState)
    const decision = bankAccountDecider.decide(command, state)
    return decision.accepted ? decision.events : []
  }
  const imported = { type: 'Import', ...statement(1, 0n, 10n) } as const
  const assigned = { type: 'Assign', accountId: 'DE', merchantIds: ['m'], by: 'user:ada', at: at(1) } as const
  for (const command of [imported, assigned]) {
    const events = decide(command)
    t.equal(events.length, 1)
    t.same(decide(command, events), [])
  }
})
