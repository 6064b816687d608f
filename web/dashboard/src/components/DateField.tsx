import { CalendarDate, type DateValue, parseDate, parseDateTime, toCalendarDateTime } from '@internationalized/date'
import { useState } from 'react'
import {
  Button,
  Calendar,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  DateInput,
  DatePicker,
  DateSegment,
  Dialog,
  Group,
  Heading,
  Popover,
} from 'react-aria-components'
import { useText } from '../app/texts'
import { FieldHelp, FieldLabel, type FieldWords } from './Field'
import './DateField.css'

interface DateFieldProps extends FieldWords {
  readonly name?: string
  /** 2026-11-21, or 2026-11-21T14:05 where it is more precise than a day; '' for none. */
  readonly value?: string
  readonly defaultValue?: string
  /** Never a year that is still being typed. */
  readonly onChange?: (value: string) => void
  readonly min?: string | undefined
  readonly max?: string | undefined
  readonly precision?: 'day' | 'minute' | 'second'
}

const firstYear = 2000

/** Null for what is no date: the address may say anything. */
function read(value: string | undefined, precision = 'day'): DateValue | null {
  if (!value) return null
  try {
    return precision === 'day' ? parseDate(value) : parseDateTime(value)
  } catch {
    return null
  }
}

/** Written as the chosen language writes dates; a browser's own field follows the browser's. */
export function DateField(props: DateFieldProps) {
  const { name, value, defaultValue = '', onChange, min, max, precision = 'day', ...words } = props
  const { required = false, description } = words
  const [typed, setTyped] = useState(() => read(value ?? defaultValue, precision))
  const [seen, setSeen] = useState(value)
  if (value !== seen) {
    setSeen(value)
    setTyped(read(value, precision))
  }
  const change = (next: DateValue | null) => {
    setTyped(next)
    if (next && next.year < firstYear) return
    const written = next?.toString() ?? ''
    setSeen(value === undefined ? undefined : written)
    onChange?.(written)
  }
  return (
    <DatePicker
      className="Field DateField"
      value={typed}
      onChange={change}
      granularity={precision}
      hourCycle={24}
      shouldForceLeadingZeros
      placeholderValue={typed ?? today(precision)}
      isRequired={required}
      {...(name !== undefined && { name })}
      minValue={read(min)}
      maxValue={read(max)}
    >
      <FieldLabel {...words} required={required} />
      <Picked />
      <FieldHelp description={description} />
      <Popover className="Popover DateField-popover">
        <Days />
      </Popover>
    </DatePicker>
  )
}

/** What an empty field begins with; for a time of day, midnight. */
function today(precision: string): DateValue {
  const now = new Date()
  const day = new CalendarDate(now.getFullYear(), now.getMonth() + 1, now.getDate())
  return precision === 'day' ? day : toCalendarDateTime(day)
}

function Picked() {
  return (
    <Group className="Field-input DateField-box">
      <DateInput className="DateField-input">
        {(segment) => <DateSegment segment={segment} className="DateField-segment" />}
      </DateInput>
      <Button className="DateField-button">
        <span aria-hidden="true">▾</span>
      </Button>
    </Group>
  )
}

function Days() {
  const text = useText()
  return (
    <Dialog className="DateField-dialog">
      <Calendar>
        <div className="spread">
          <Button slot="previous" className="Button Button-quiet" aria-label={text('common.previousMonth')}>
            <span aria-hidden="true">‹</span>
          </Button>
          <Heading className="DateField-month" />
          <Button slot="next" className="Button Button-quiet" aria-label={text('common.nextMonth')}>
            <span aria-hidden="true">›</span>
          </Button>
        </div>
        <CalendarGrid>
          <CalendarGridHeader>{(day) => <CalendarHeaderCell>{day}</CalendarHeaderCell>}</CalendarGridHeader>
          <CalendarGridBody>{(date) => <CalendarCell date={date} className="DateField-day" />}</CalendarGridBody>
        </CalendarGrid>
      </Calendar>
    </Dialog>
  )
}
