import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { DateField } from '../../components/DateField'
import { isTime, localSecond, momentOf } from './point-in-time'

interface MomentFieldProps {
  readonly at: string | undefined
  readonly onChange: (at: string | undefined) => void
}

/** A time, or the position that was picked in a story. */
export function PointInTimeField({ at, onChange }: MomentFieldProps) {
  const text = useText()
  return (
    <div className="Audit-moment">
      <DateField
        label={text('audit.at')}
        precision="second"
        value={localSecond(at)}
        onChange={(local) => onChange(momentOf(local))}
      />
      {at !== undefined && !isTime(at) && (
        <span>
          {text('audit.afterPosition')} <code>{at}</code>
        </span>
      )}
      {at !== undefined && (
        <Button look="quiet" onPress={() => onChange(undefined)}>
          {text('audit.now')}
        </Button>
      )}
    </div>
  )
}
