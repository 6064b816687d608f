import { useText } from '../app/texts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Shows a duration in at most two units, such as "3 min 20 s", or a dash if it is unknown. */
export function Duration({ ms }: { readonly ms: number | null }) {
  return <span className="nowrap">{useDuration()(ms)}</span>
}

export function useDuration(): (ms: number | null) => string {
  const text = useText()
  return (ms) => {
    if (ms === null) return '–'
    if (ms < second) return text('common.durationMs', { value: Math.round(ms) })
    if (ms < minute) return text('common.durationSeconds', { value: Math.round(ms / 100) / 10 })
    const whole = Math.round(ms / second) * second
    if (whole < hour) {
      return text('common.durationMinutes', { minutes: Math.floor(whole / minute), seconds: (whole % minute) / second })
    }
    if (whole < day) {
      return text('common.durationHours', {
        hours: Math.floor(whole / hour),
        minutes: Math.floor((whole % hour) / minute),
      })
    }
    return text('common.durationDays', { days: Math.floor(whole / day), hours: Math.floor((whole % day) / hour) })
  }
}

/** Returns a function that writes the time between two events. Below a second, that is "immediately". */
export function useDurationText(): (ms: number) => string {
  const text = useText()
  const duration = useDuration()
  return (ms) => (ms < second ? text('common.immediately') : duration(Math.round(ms / second) * second))
}
