import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { DateField } from '../../components/DateField'
import { type Days, isDay, lastDays, lastMonth, thisMonth } from './statement-days'

interface PeriodProps {
  readonly days: Days
  readonly nowMs: number
  readonly onChange: (days: Days) => void
}

/** Days in UTC, as the statement has them: in the viewer's zone its first and last day would be cut. */
export function StatementPeriod({ days, nowMs, onChange }: PeriodProps) {
  const text = useText()
  const { from, to } = days
  const presets = [
    { label: text('statement.thisMonth'), days: thisMonth(nowMs) },
    { label: text('statement.lastMonth'), days: lastMonth(nowMs) },
    { label: text('statement.last7Days'), days: lastDays(7, nowMs) },
  ]
  return (
    <div className="StatementPeriod row screen-only">
      <DateField
        required
        label={text('statement.from')}
        value={from}
        onChange={(next) => isDay(next) && onChange({ from: next, to: next > to ? next : to })}
      />
      <DateField
        required
        label={text('statement.to')}
        value={to}
        onChange={(next) => isDay(next) && onChange({ from: next < from ? next : from, to: next })}
      />
      {presets.map((preset) => (
        <Button key={preset.label} look="quiet" onPress={() => onChange(preset.days)}>
          {preset.label}
        </Button>
      ))}
    </div>
  )
}
