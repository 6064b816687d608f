import { ArrowDown, ArrowUp } from 'lucide-react'
import { type MouseEvent, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react'
import { lazyPart } from '../app/lazy-page'
import { useText } from '../app/texts'
import { Button, buttonClasses } from './Button'
import { useColumnChoice } from './column-choice'
import { useRowKeys } from './use-row-keys'
import './DataTable.css'

export interface Column<Row> {
  readonly id: string
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'end'
  /** Hidden until the user chooses it. */
  readonly optional?: boolean
  /** The values of `sort` for this column: `up` is lowest or oldest first. */
  readonly sort?: { readonly up: string; readonly down: string }
  /** May wrap. Other columns stay on one line. */
  readonly wide?: boolean
  /** Shown from this width of the window: `room` is 78rem, `wide` is 110rem. */
  readonly from?: 'room' | 'wide'
  /** The place in the card that a row is on a phone. If any column has one, the others are not shown there. */
  readonly card?: 'title' | 'status' | 'name' | 'under' | 'end'
}

interface DataTableProps<Row> {
  /** The name of the table, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowId: (row: Row) => string
  /** Called on Enter and on a click. */
  readonly onOpen?: (row: Row) => void
  readonly selection?: { readonly ids: ReadonlySet<string>; readonly onChange: (ids: ReadonlySet<string>) => void }
  readonly sort?: string | undefined
  readonly onSort?: (sort: string) => void
  /** Loads the next page; omitted after the last page. */
  readonly more?: { readonly onMore: () => void; readonly pending: boolean } | undefined
  /** The key under which this browser stores the choice of columns. Without it, columns cannot be chosen. */
  readonly columnsKey?: string
  /** Shown instead when there are no rows. */
  readonly empty: ReactNode
}

const ColumnChoice = lazyPart(async () => (await import('./ColumnChoice')).ColumnChoice)

const interactive = 'a, button, input, label, select, textarea, [role="checkbox"]'

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowId, onOpen, selection, sort, onSort, more, columnsKey, empty } = props
  const text = useText()
  const [visible, setVisible] = useColumnChoice(columns, columnsKey)
  const visibleColumns = columns.filter(({ id }) => visible[id])
  const ids = useMemo(() => rows.map(rowId), [rows, rowId])
  const keys = useRowKeys({
    ids,
    open: onOpen && ((index) => onOpen(rows[index]!)),
    selection,
  })
  const [frame, setFrame] = useState<HTMLDivElement | null>(null)
  const fits = useFits(frame)
  if (rows.length === 0) return empty
  const openClicked = (event: MouseEvent<HTMLElement>, row: Row) => {
    const { target } = event
    const isInteractive = target instanceof Element && target.closest(interactive) !== null
    if (!isInteractive && !window.getSelection()?.toString()) onOpen?.(row)
  }
  // The role announces to screen readers that the keyboard moves through rows.
  const grid = { role: 'grid', 'aria-label': label, 'aria-multiselectable': selection ? true : undefined }
  const allSelected = selection !== undefined && ids.every((id) => selection.ids.has(id))
  return (
    <div
      className={columns.some(({ card }) => card) ? 'DataTable DataTable-cards' : 'DataTable'}
      data-fits={fits || undefined}
    >
      <div ref={setFrame} className="DataTable-frame">
        <table {...grid}>
          <thead>
            <tr>
              {selection && (
                <th scope="col" className="DataTable-check">
                  <input
                    type="checkbox"
                    aria-label={text('common.selectAll')}
                    checked={allSelected}
                    onChange={() => selection.onChange(new Set(allSelected ? [] : ids))}
                  />
                </th>
              )}
              {visibleColumns.map((column) => (
                <HeaderCell key={column.id} column={column} sort={sort} onSort={onSort} />
              ))}
              {columnsKey !== undefined && (
                <td className="DataTable-choice">
                  <Suspense fallback={<span className={buttonClasses({ look: 'quiet', small: true, icon: true })} />}>
                    <ColumnChoice columns={columns} visible={visible} onChange={setVisible} />
                  </Suspense>
                </td>
              )}
            </tr>
          </thead>
          <tbody ref={keys.ref} onKeyDown={keys.onKeyDown}>
            {rows.map((row, index) => {
              const id = ids[index]!
              const isSelected = selection?.ids.has(id)
              return (
                <tr
                  key={id}
                  tabIndex={index === keys.active ? 0 : -1}
                  aria-selected={isSelected}
                  className={onOpen ? 'DataTable-row DataTable-opens' : 'DataTable-row'}
                  onFocus={() => keys.activate(index)}
                  onClick={(event) => openClicked(event, row)}
                >
                  {selection && (
                    <td className="DataTable-check">
                      <input
                        type="checkbox"
                        tabIndex={-1}
                        aria-label={text('common.selectRow')}
                        checked={isSelected === true}
                        onChange={() => keys.toggle(index)}
                      />
                    </td>
                  )}
                  {visibleColumns.map((column) => (
                    <td key={column.id} className={classOf(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                  {columnsKey !== undefined && <td className="DataTable-choice" />}
                </tr>
              )
            })}
          </tbody>
        </table>
        {(more || selection) && (
          <div className="DataTable-foot">
            <output>
              {selection && selection.ids.size > 0
                ? text('common.selected', { count: selection.ids.size })
                : text('common.rowsShown', { count: rows.length })}
            </output>
            {more && (
              <Button small onPress={more.onMore} pending={more.pending}>
                {text('common.loadMore')}
              </Button>
            )}
          </div>
        )}
      </div>
    </div>
  )
}

/** Returns whether the table is no wider than its frame. */
function useFits(frame: HTMLDivElement | null): boolean {
  const [fits, setFits] = useState(true)
  useEffect(() => {
    const table = frame?.firstElementChild
    if (!frame || !table) return
    const observer = new ResizeObserver(() => setFits(table.clientWidth <= frame.clientWidth))
    observer.observe(frame)
    observer.observe(table)
    return () => observer.disconnect()
  }, [frame])
  return fits
}

function classOf({ align, wide, from, card }: Pick<Column<never>, 'align' | 'wide' | 'from' | 'card'>): string {
  const classes = [
    align === 'end' && 'DataTable-end',
    wide && 'DataTable-wide',
    from && `DataTable-from-${from}`,
    card && `DataTable-card-${card}`,
  ]
  return classes.filter(Boolean).join(' ')
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>
  readonly sort: string | undefined
  readonly onSort: ((sort: string) => void) | undefined
}

function HeaderCell<Row>({ column, sort, onSort }: HeaderCellProps<Row>) {
  const text = useText()
  const { header, sort: values } = column
  if (!values || !onSort) {
    return (
      <th scope="col" className={classOf(column)}>
        {header}
      </th>
    )
  }
  const direction = sort === values.up ? 'ascending' : sort === values.down ? 'descending' : 'none'
  const next = direction === 'descending' ? values.up : values.down
  const label = text(next === values.up ? 'common.sortUp' : 'common.sortDown', { column: header })
  return (
    <th scope="col" className={classOf(column)} aria-sort={direction}>
      <button type="button" className="DataTable-sort" title={label} onClick={() => onSort(next)}>
        {header}
        {(direction === 'none' ? next === values.up : direction === 'ascending') ? <ArrowUp /> : <ArrowDown />}
      </button>
    </th>
  )
}
