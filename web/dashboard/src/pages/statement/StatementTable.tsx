import type { ReactNode } from 'react'
import { FormattedDate } from 'react-intl'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { columns, type Line, type StatementRow, totalsOf } from './statement-totals'
import './StatementTable.css'

export function StatementTable({ items }: { readonly items: readonly StatementRow[] }) {
  const text = useText()
  return (
    // The keyboard can scroll a table that is wider than the window.
    <section className="Statement-scroll" aria-label={text('statement.title')} tabIndex={0}>
      <table className="Statement" aria-label={text('statement.title')}>
        <thead>
          <tr>
            <th scope="col">{text('statement.day')}</th>
            <th scope="col">{text('fields.kind')}</th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="number">
                {text(`statement.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((row) => (
            <TableRow key={`${row.day} ${row.kind}`} line={row}>
              <FormattedDate value={row.day} timeZone="UTC" dateStyle="medium" />
            </TableRow>
          ))}
        </tbody>
        <tfoot>
          {totalsOf(items).map((total) => (
            <TableRow key={total.kind} line={total}>
              {text('statement.total')}
            </TableRow>
          ))}
        </tfoot>
      </table>
    </section>
  )
}

function TableRow({ line, children }: { readonly line: Line; readonly children: ReactNode }) {
  const text = useText()
  return (
    <tr>
      <th scope="row">{children}</th>
      <td>{text(`common.kind.${line.kind}`)}</td>
      {columns.map((column) => {
        const minor = BigInt(line[column.minor])
        return (
          // In a narrow window the label replaces the heading of the column.
          <td
            key={column.name}
            className={minor === 0n ? 'number faint' : 'number'}
            data-label={text(`statement.${column.name}`)}
          >
            <Amount minor={minor} plain />
            {'count' in column && line[column.count] > 0 && (
              <span className="Statement-count">{text('common.count', { count: line[column.count] })}</span>
            )}
          </td>
        )
      })}
    </tr>
  )
}
