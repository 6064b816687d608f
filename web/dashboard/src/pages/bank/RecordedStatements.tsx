import { useQuery } from '@tanstack/react-query'
import type { BankStatement, BankStatementsResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { api } from '../../api/api-client'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { BankAmount } from './BankAmount'
import { StatementProblems } from './BankStatementFacts'
import { usePeriod } from './use-period'

const idOf = ({ importId }: BankStatement) => importId

/** Lists the imported statements of an account, with the gaps between them. */
export function RecordedStatements({ accountId }: { readonly accountId: string }) {
  const text = useText()
  const columns = useColumns()
  const query = useQuery({
    queryKey: ['bank-recorded', accountId],
    queryFn: ({ signal }) =>
      api.get<BankStatementsResponse>(`/bank/accounts/${encodeURIComponent(accountId)}/statements`, {}, signal),
  })
  return (
    <Loaded query={query}>
      {({ items }) => (
        <section className="stack">
          <h2>
            <AccountNumber account={accountId} />
          </h2>
          <DataTable
            label={text('bank.show.statements')}
            columns={columns}
            rows={items}
            rowId={idOf}
            empty={<Empty title={text('bank.noStatements')} />}
          />
        </section>
      )}
    </Loaded>
  )
}

const nameOf = ({ format, number, statementId }: BankStatement) =>
  [format, number ?? statementId].filter((each) => each !== null).join(' · ')

function useColumns(): readonly Column<BankStatement>[] {
  const text = useText()
  const period = usePeriod()
  const amount = (minor: number | undefined, currency: string) =>
    minor === undefined ? null : <BankAmount minor={minor} currency={currency} />
  return [
    {
      id: 'period',
      header: text('common.dateRange'),
      cell: ({ firstDate, lastDate }) => period(firstDate, lastDate),
      card: 'title',
    },
    {
      id: 'format',
      header: text('bank.format'),
      cell: (statement) => (
        <>
          <bdi>{nameOf(statement)}</bdi>
          <StatementProblems statement={statement} />
        </>
      ),
      wide: true,
      card: 'name',
    },
    {
      id: 'opening',
      header: text('bank.opening'),
      align: 'end',
      cell: ({ opening, currency }) => amount(opening?.balanceMinor, currency),
    },
    {
      id: 'credits',
      header: text('bank.credits'),
      align: 'end',
      cell: ({ creditMinor, currency }) => amount(creditMinor, currency),
    },
    {
      id: 'debits',
      header: text('bank.debits'),
      align: 'end',
      cell: ({ debitMinor, currency }) => amount(debitMinor, currency),
    },
    {
      id: 'closing',
      header: text('bank.closing'),
      align: 'end',
      cell: ({ closing, currency }) => amount(closing?.balanceMinor, currency),
      card: 'status',
    },
    {
      id: 'entries',
      header: text('bank.entries'),
      cell: ({ entries, newEntries, pendingEntries }) =>
        text('bank.entriesCount', { count: entries, fresh: newEntries, pending: pendingEntries }),
      card: 'under',
    },
  ]
}
