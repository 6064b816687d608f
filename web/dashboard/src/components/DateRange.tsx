import { useText } from '../app/texts'
import { DateField } from './DateField'
import { dayOf, type Period, startOf } from './local-days'
import { Menu } from './Menu'
import { namedPeriods } from './period-names'
import './DateRange.css'

interface DateRangeProps {
  /** ISO 8601, UTC. */
  readonly from?: string | undefined
  /** Exclusive, so the field shows the day before. */
  readonly to?: string | undefined
  readonly onChange: (period: Partial<Period>) => void
}

export function DateRange({ from, to, onChange }: DateRangeProps) {
  const text = useText()
  const lastDay = to === undefined ? '' : dayOf(new Date(Date.parse(to) - 1))
  const change = (next: { from?: string | undefined; to?: string | undefined }) => {
    const { from: start, to: end } = { from, to, ...next }
    onChange({ ...(start === undefined ? {} : { from: start }), ...(end === undefined ? {} : { to: end }) })
  }
  return (
    <fieldset className="DateRange">
      <legend className="visually-hidden">{text('common.dateRange')}</legend>
      <DateField
        label={text('common.from')}
        required
        max={lastDay || undefined}
        value={from === undefined ? '' : dayOf(new Date(from))}
        onChange={(day) => change({ from: startOf(day) })}
      />
      <DateField
        label={text('common.to')}
        required
        min={from === undefined ? undefined : dayOf(new Date(from))}
        value={lastDay}
        onChange={(day) => change({ to: startOf(day, 1) })}
      />
      <Menu
        label={text('common.dateRange')}
        items={namedPeriods.map(([id, period]) => ({ id, label: text(id), onAction: () => onChange(period()) }))}
      />
    </fieldset>
  )
}
