import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { DateField } from '../../components/DateField'
import { type Days, isDay, lastDays, lastMonth, thisMonth } from './statement-days'
import './StatementPeriod.css'

interface StatementPeriodProps {
  readonly days: Days
  readonly nowMs: number
  readonly onChange: (days: Days) => void
}

export function StatementPeriod({ days, nowMs, onChange }: StatementPeriodProps) {
  const text = useText()
  const { from, to } = days
  const presets = [
    { label: text('common.thisMonth'), days: thisMonth(nowMs) },
    { label: text('common.lastMonth'), days: lastMonth(nowMs) },
    { label: text('common.last7Days'), days: lastDays(7, nowMs) },
  ]
  return (
    <div className="StatementPeriod row screen-only">
      <DateField
        required
        label={text('common.from')}
        value={from}
        onChange={(next) => isDay(next) && onChange({ from: next, to: next > to ? next : to })}
      />
      <DateField
        required
        label={text('common.to')}
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
