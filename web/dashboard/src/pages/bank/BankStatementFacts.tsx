import { TriangleAlert } from 'lucide-react'
import { useIntl } from 'react-intl'
import type { BankStatement } from '../../../../../src/http/dashboard/bank/bank-api'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { amountsIn } from '../../components/amount-format'
import { Facts } from '../../components/Facts'
import { BankAmount } from './BankAmount'
import { usePeriod } from './use-period'

/** Shows the period, the balances and the sums of a statement, and their problems. */
export function BankStatementFacts({ statement }: { readonly statement: BankStatement }) {
  const text = useText()
  const period = usePeriod()
  const { accountId, format, number, statementId, currency, opening, closing, creditMinor, debitMinor } = statement
  const { entries, newEntries, pendingEntries, firstDate, lastDate } = statement
  const amount = (minor: number | undefined) =>
    minor === undefined ? undefined : <BankAmount minor={minor} currency={currency} />
  return (
    <section className="BankStatement" aria-label={text('bank.statementOf', { account: accountId })}>
      <p className="BankStatement-head">
        <strong>
          <AccountNumber account={accountId} />
        </strong>
        <span className="muted">{[format, number ?? statementId].filter((each) => each !== null).join(' · ')}</span>
      </p>
      <StatementProblems statement={statement} />
      <Facts
        items={[
          { label: text('common.dateRange'), value: period(firstDate, lastDate) },
          { label: text('bank.opening'), value: amount(opening?.balanceMinor) },
          { label: text('bank.credits'), value: amount(creditMinor) },
          { label: text('bank.debits'), value: amount(debitMinor) },
          { label: text('bank.closing'), value: amount(closing?.balanceMinor) },
          {
            label: text('bank.entries'),
            value: text('bank.entriesCount', { count: entries, fresh: newEntries, pending: pendingEntries }),
          },
        ]}
      />
    </section>
  )
}

/** States in words which statement is missing, or that the sums are wrong. */
export function StatementProblems({ statement }: { readonly statement: BankStatement }) {
  const text = useText()
  const intl = useIntl()
  const { problems, currency } = statement
  const { format } = amountsIn(intl.locale, { code: currency, digits: 2 })
  return problems.map(({ problem, after, differenceMinor }) => (
    <p key={problem} className="BankStatement-problem">
      <TriangleAlert className="icon-14" />
      <span>
        {problem === 'gap' && after !== null
          ? text('bank.problem.gap', {
              after: intl.formatDate(after, { timeZone: 'UTC', dateStyle: 'medium' }),
              amount: format(differenceMinor),
            })
          : text('bank.problem.sum', { amount: format(differenceMinor) })}
      </span>
    </p>
  ))
}
