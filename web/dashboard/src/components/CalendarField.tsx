import { CalendarDate, type DateValue, parseDate, parseDateTime, toCalendarDateTime } from '@internationalized/date'
import { Calendar as CalendarIcon, ChevronLeft, ChevronRight } from 'lucide-react'
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
import { FieldHelp, FieldLabel, type FieldTexts } from './Field'

interface CalendarFieldProps extends FieldTexts {
  readonly name?: string
  /** Such as 2026-11-21, or 2026-11-21T14:05 if the precision is finer than a day; '' if empty. */
  readonly value?: string
  readonly defaultValue?: string
  /** Not called while the year is still being typed. */
  readonly onChange?: (value: string) => void
  readonly min?: string | undefined
  readonly max?: string | undefined
  readonly precision?: 'day' | 'minute' | 'second'
}

const firstYear = 2000

/** Returns null if the text is not a date, because values from the address can be anything. */
function parseValue(value: string | undefined, precision = 'day'): DateValue | null {
  if (!value) return null
  try {
    return precision === 'day' ? parseDate(value) : parseDateTime(value)
  } catch {
    return null
  }
}

/** The loaded part of a DateField. A native field would follow the language of the browser. */
export function CalendarField(props: CalendarFieldProps) {
  const { name, value, defaultValue = '', onChange, min, max, precision = 'day', ...texts } = props
  const { required = false, description } = texts
  const [typed, setTyped] = useState(() => parseValue(value ?? defaultValue, precision))
  const [seen, setSeen] = useState(value)
  if (value !== seen) {
    setSeen(value)
    setTyped(parseValue(value, precision))
  }
  const change = (next: DateValue | null) => {
    setTyped(next)
    if (next && next.year < firstYear) return
    const nextValue = next?.toString() ?? ''
    setSeen(value === undefined ? undefined : nextValue)
    onChange?.(nextValue)
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
      minValue={parseValue(min)}
      maxValue={parseValue(max)}
    >
      <FieldLabel {...texts} required={required} />
      <DateInputBox />
      <FieldHelp description={description} />
      <Popover className="Popover DateField-popover">
        <CalendarDialog />
      </Popover>
    </DatePicker>
  )
}

/** Returns the value that an empty field starts with. For a time, that is midnight. */
function today(precision: string): DateValue {
  const now = new Date()
  const day = new CalendarDate(now.getFullYear(), now.getMonth() + 1, now.getDate())
  return precision === 'day' ? day : toCalendarDateTime(day)
}

function DateInputBox() {
  return (
    <Group className="Field-input DateField-box">
      <DateInput className="DateField-input">
        {(segment) => <DateSegment segment={segment} className="DateField-segment" />}
      </DateInput>
      <Button className="DateField-button">
        <CalendarIcon className="icon-14" />
      </Button>
    </Group>
  )
}

function CalendarDialog() {
  const text = useText()
  return (
    <Dialog className="DateField-dialog">
      <Calendar>
        <div className="spread">
          <Button slot="previous" className="Button Button-quiet Button-icon" aria-label={text('common.previousMonth')}>
            <ChevronLeft />
          </Button>
          <Heading className="DateField-month" />
          <Button slot="next" className="Button Button-quiet Button-icon" aria-label={text('common.nextMonth')}>
            <ChevronRight />
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
