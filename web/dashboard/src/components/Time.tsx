import { useSyncExternalStore } from 'react'
import { type IntlShape, useIntl } from 'react-intl'
import { useDuration } from './Duration'
import { dueOrNow } from './due-time'

const tickMs = 10_000
const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const
const minuteMs = 60_000
const lateMs = 30 * minuteMs
const relativeForMs = 30 * 86_400_000

let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void) {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Returns the time in milliseconds, updated every ten seconds by one timer for all components. */
function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

interface TimeProps {
  /** ISO 8601. */
  readonly at: string
  /** Shows the date and time instead of "5 minutes ago". */
  readonly exact?: boolean
}

/** Shows a time in the viewer's zone. The tooltip shows it in the other form, relative or exact. */
export function Time({ at, exact = false }: TimeProps) {
  const intl = useIntl()
  const clock = useNow()
  const full = exactTime(intl, at)
  const relative = relativeTime(intl, Date.parse(at), Math.max(clock, Date.now()))
  return (
    <time className="nowrap" dateTime={at} title={exact ? relative : full}>
      {exact ? full : relative}
    </time>
  )
}

/** Shows for how long something has waited, such as "54 min". From half an hour on, it is marked as late. */
export function Age({ at }: Pick<TimeProps, 'at'>) {
  const intl = useIntl()
  const duration = useDuration()
  const clock = useNow()
  const ms = Math.max(0, Math.max(clock, Date.now()) - Date.parse(at))
  const whole = ms < minuteMs ? minuteMs : Math.floor(ms / minuteMs) * minuteMs
  return (
    <time className="nowrap" dateTime={at} title={exactTime(intl, at)} data-late={ms >= lateMs || undefined}>
      {duration(whole)}
    </time>
  )
}

/** Shows the time of day. The tooltip has the date. */
export function Clock({ at }: Pick<TimeProps, 'at'>) {
  const intl = useIntl()
  return (
    <time className="nowrap" dateTime={at} title={exactTime(intl, at)}>
      {intl.formatDate(at, { timeStyle: 'medium' })}
    </time>
  )
}

/** Shows a time to come, or "now" once it has come. */
export function DueTime({ at }: Pick<TimeProps, 'at'>) {
  const clock = useNow()
  return <Time at={dueOrNow(at, Math.max(clock, Date.now()))} />
}

/** Shows the day, without the year if it is the current one. */
export function Day({ at }: Pick<TimeProps, 'at'>) {
  const intl = useIntl()
  const isThisYear = new Date(at).getFullYear() === new Date().getFullYear()
  return (
    <time className="nowrap" dateTime={at} title={exactTime(intl, at)}>
      {intl.formatDate(at, { day: 'numeric', month: 'short', ...(!isThisYear && { year: 'numeric' }) })}
    </time>
  )
}

export function exactTime(intl: IntlShape, at: string): string {
  return intl.formatDate(at, { dateStyle: 'medium', timeStyle: 'medium' })
}

function relativeTime(intl: IntlShape, atMs: number, nowMs: number): string {
  const ms = atMs - nowMs
  if (Math.abs(ms) > relativeForMs) return intl.formatDate(atMs, { dateStyle: 'medium' })
  for (const [unit, length] of units) {
    if (Math.abs(ms) >= length) return intl.formatRelativeTime(Math.trunc(ms / length), unit, { numeric: 'auto' })
  }
  return intl.formatRelativeTime(Math.trunc(ms / 1000), 'second', { numeric: 'auto' })
}
