import { Link } from '@tanstack/react-router'
import { CircleAlert } from 'lucide-react'
import { FormattedDate } from 'react-intl'
import type { BankDay } from '../../../../../src/http/dashboard/bank/bank-api'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { amounts, type DayAmount, sumsOf } from './reconciliation-days'
import '../statement/StatementTable.css'
import './ReconciliationTable.css'

interface ReconciliationTableProps {
  readonly accountId: string
  readonly days: readonly BankDay[]
  /** Whether the days are all of the period. */
  readonly isComplete: boolean
}

/** Shows the days of an account. A day leads to its payments, and open money to those that are open. */
export function ReconciliationTable({ accountId, days, isComplete }: ReconciliationTableProps) {
  const text = useText()
  const sums = sumsOf(days)
  const label = text('bank.daysOf', { account: accountId })
  return (
    // The keyboard can scroll a table that is wider than the window.
    <section className="Statement-scroll" aria-label={label} tabIndex={0}>
      <table className="Statement Reconciliation" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{text('statement.day')}</th>
            {amounts.map((name) => (
              <th key={name} scope="col" className="number">
                {text(`bank.day.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.map((day) => (
            <tr key={day.date}>
              <th scope="row">
                <Link to="/bank-statements" search={{ show: 'all', account: accountId, from: day.date, to: day.date }}>
                  <FormattedDate value={day.date} timeZone="UTC" dateStyle="medium" />
                </Link>
              </th>
              {amounts.map((name) => (
                <AmountCell key={name} name={name} minor={BigInt(day[name])} accountId={accountId} date={day.date} />
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{text(isComplete ? 'statement.total' : 'bank.totalShown')}</th>
            {amounts.map((name) => (
              <AmountCell key={name} name={name} minor={sums[name]} accountId={accountId} />
            ))}
          </tr>
        </tfoot>
      </table>
    </section>
  )
}

interface AmountCellProps {
  readonly name: DayAmount
  readonly minor: bigint
  readonly accountId: string
  /** Omitted for a sum. */
  readonly date?: string
}

function AmountCell({ name, minor, accountId, date }: AmountCellProps) {
  const text = useText()
  const isOpen = minor !== 0n && (name === 'debitOpenMinor' || name === 'creditOpenMinor')
  return (
    // In a narrow window the label replaces the heading of the column.
    <td
      className={minor === 0n ? 'number faint' : 'number'}
      data-open={isOpen || undefined}
      data-label={text(`bank.day.${name}`)}
    >
      {isOpen && date !== undefined ? (
        <Link to="/bank-statements" search={{ account: accountId, from: date, to: date }}>
          <CircleAlert className="icon-12" />
          <Amount minor={minor} plain />
        </Link>
      ) : (
        <Amount minor={minor} plain />
      )}
    </td>
  )
}
