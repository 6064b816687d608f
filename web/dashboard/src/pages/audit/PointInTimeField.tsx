import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { DateField } from '../../components/DateField'
import { localTime } from '../../components/local-days'
import { isTime, utcOf } from './point-in-time'

interface PointInTimeFieldProps {
  readonly at: string | undefined
  readonly onChange: (at: string | undefined) => void
}

/** Chooses a time. Also shows a log position that was selected in a timeline. */
export function PointInTimeField({ at, onChange }: PointInTimeFieldProps) {
  const text = useText()
  return (
    <div className="Audit-moment">
      <DateField
        label={text('audit.at')}
        precision="second"
        value={at !== undefined && isTime(at) ? localTime(at) : ''}
        onChange={(local) => onChange(utcOf(local))}
      />
      {at !== undefined && !isTime(at) && (
        <span>
          {text('audit.afterPosition')} <code>{at}</code>
        </span>
      )}
      {at !== undefined && (
        <Button look="quiet" onPress={() => onChange(undefined)}>
          {text('audit.showCurrent')}
        </Button>
      )}
    </div>
  )
}
