import { CalendarDays } from 'lucide-react'
import { Dialog, DialogTrigger, Popover } from 'react-aria-components'
import { useIntl } from 'react-intl'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { DateRangeLater } from '../../components/DateRangeLater'
import { lastDays } from '../../components/local-days'
import { namedPeriods, periodName } from '../../components/period-names'
import { Segments } from '../../components/Segments'
import type { Range } from './overview-range'
import '../../components/Select.css'

interface RangeChoiceProps {
  readonly range: Range
  /** Receives nothing for today, which the address does not need to state. */
  readonly onChange: (range: Partial<Range>) => void
}

const offered = namedPeriods.slice(0, 4)

export function RangeChoice({ range: { from, to }, onChange }: RangeChoiceProps) {
  const text = useText()
  const intl = useIntl()
  const last = new Date(Date.parse(to) - 1)
  const shown = intl.formatDateTimeRange(new Date(from), last, { dateStyle: 'medium' })
  const choose = (next: Partial<Range>) => onChange(next.from === lastDays(1).from && next.to === to ? {} : next)
  return (
    <div className="row screen-only">
      <Segments
        label={text('common.dateRange')}
        options={offered.map(([id]) => ({ value: id, label: text(id) }))}
        value={periodName(from, to) ?? ''}
        onChange={(id) => choose(offered.find(([each]) => each === id)?.[1]() ?? {})}
      />
      <DialogTrigger>
        <Button>
          <CalendarDays />
          {shown}
        </Button>
        <Popover className="Popover">
          <Dialog className="OverviewPage-range" aria-label={text('common.dateRange')}>
            <DateRangeLater from={from} to={to} onChange={choose} />
          </Dialog>
        </Popover>
      </DialogTrigger>
    </div>
  )
}
