import { useText } from '../app/texts'
import { DateField } from './DateField'
import { dayOf, lastDays, type Period, startOf, thisMonth } from './local-days'
import { Menu } from './Menu'
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
  const choices = [
    ['today', text('common.today'), () => lastDays(1)],
    ['yesterday', text('common.yesterday'), () => lastDays(1, 1)],
    ['7', text('common.last7Days'), () => lastDays(7)],
    ['30', text('common.last30Days'), () => lastDays(30)],
    ['month', text('common.thisMonth'), thisMonth],
  ] as const
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
        items={choices.map(([key, label, period]) => ({ id: key, label, onAction: () => onChange(period()) }))}
      />
    </fieldset>
  )
}
