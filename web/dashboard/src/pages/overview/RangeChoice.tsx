import { CalendarDays } from 'lucide-react'
import { Suspense, useRef, useState } from 'react'
import { useIntl } from 'react-intl'
import { lazyPart } from '../../app/lazy-page'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { lastDays } from '../../components/local-days'
import { namedPeriods, periodName } from '../../components/period-names'
import { Segments } from '../../components/Segments'
import type { Range } from './overview-range'

interface RangeChoiceProps {
  readonly range: Range
  /** Receives nothing for today, which the address does not need to state. */
  readonly onChange: (range: Partial<Range>) => void
}

const RangePopover = lazyPart(async () => (await import('./RangePopover')).RangePopover)

const offered = namedPeriods.slice(0, 4)

export function RangeChoice({ range: { from, to }, onChange }: RangeChoiceProps) {
  const text = useText()
  const intl = useIntl()
  const last = new Date(Date.parse(to) - 1)
  const shown = intl.formatDateTimeRange(new Date(from), last, { dateStyle: 'medium' })
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  const choose = (next: Partial<Range>) => onChange(next.from === lastDays(1).from && next.to === to ? {} : next)
  return (
    <div className="row screen-only">
      <Segments
        label={text('common.dateRange')}
        options={offered.map(([id]) => ({ value: id, label: text(id) }))}
        value={periodName(from, to) ?? ''}
        onChange={(id) => choose(offered.find(([each]) => each === id)?.[1]() ?? {})}
      />
      <Button ref={button} aria-haspopup="dialog" aria-expanded={isOpen} onPress={() => setOpen(true)}>
        <CalendarDays />
        {shown}
      </Button>
      {isOpen && (
        <Suspense>
          <RangePopover button={button} from={from} to={to} onChange={choose} close={() => setOpen(false)} />
        </Suspense>
      )}
    </div>
  )
}
