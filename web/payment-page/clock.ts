import { announce, data, duration, element, locale, text } from './page-data.js'

/** Screen readers announce the remaining time only here, because announcing every second would drown out everything else. */
const announcedAtSeconds = [600, 300, 120, 60]
const warningSeconds = 120
const daySeconds = 86_400

let deadlineMs = 0
let announcedAt = Number.POSITIVE_INFINITY
let timer: number | undefined

/** Counts down by the service's clock. Once the time is up, calls `onExpired` every second until the clock is stopped. */
export function startClock(onExpired: () => void): void {
  const day = data.state.secondsLeft > daySeconds ? ({ day: 'numeric', month: 'long' } as const) : {}
  const until = new Intl.DateTimeFormat(locale(), { ...day, hour: '2-digit', minute: '2-digit' })
  element('until').textContent = text('payUntil', { time: until.format(new Date(data.expiresAt)) })
  timer = setInterval(() => tick(onExpired), 1000)
}

export function setSecondsLeft(seconds: number): void {
  deadlineMs = Date.now() + seconds * 1000
  announcedAt = Math.min(announcedAt, seconds)
  show(seconds)
}

export function stopClock(): void {
  clearInterval(timer)
  element('time').hidden = true
}

function tick(onExpired: () => void): void {
  const seconds = Math.max(0, Math.ceil((deadlineMs - Date.now()) / 1000))
  show(seconds)
  const passed = announcedAtSeconds.find((mark) => seconds <= mark && announcedAt > mark)
  if (passed !== undefined) {
    announcedAt = seconds
    announce(text('minutesLeft', { time: duration(seconds) }))
  }
  if (seconds === 0) onExpired()
}

function show(seconds: number): void {
  if (seconds > daySeconds) {
    const days = new Intl.NumberFormat(data.language, { style: 'unit', unit: 'day', unitDisplay: 'long' })
    element('clock').textContent = days.format(Math.ceil(seconds / daySeconds))
    return
  }
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const shown = parts[0] === 0 ? parts.slice(1) : parts
  const clock = element('clock')
  clock.textContent = shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
  clock.classList.toggle('soon', seconds <= warningSeconds)
}
