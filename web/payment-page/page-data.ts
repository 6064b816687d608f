export type Phase = 'open' | 'paid' | 'checking' | 'cancelled' | 'failed' | 'expired' | 'ended'

/** The response of `/pay/:link/state`. */
export interface PageState {
  readonly phase: Phase
  readonly status: string
  readonly secondsLeft: number
  readonly received: string | null
  readonly paid: string | null
  readonly paidAt: string | null
  readonly accountDigits: string | null
  readonly hasAmountMismatch: boolean
  readonly receiptUrl: string | null
}

/** The data that the server embeds in the page. */
export interface PageData {
  readonly link: string
  readonly language: string
  readonly installationName: string
  readonly trackingId: string
  readonly referenceId: string
  /** The deposit is paid outside the page, which shows the merchant's instructions and later the result. */
  readonly isManual: boolean
  /** ISO 8601. */
  readonly expiresAt: string
  /** The origins that are allowed to frame this page. `http://localhost:*` stands for any port. */
  readonly framing: readonly string[]
  readonly state: PageState
  readonly texts: { readonly [key: string]: string }
}

export const data = JSON.parse(element('page-data').textContent ?? '') as PageData

/** Returns an element of the page. Throws if it is missing. */
export function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no ${id}`)
  return found
}

export function text(key: string, values: { readonly [name: string]: string } = {}): string {
  const found = data.texts[key] ?? data.texts.failure ?? ''
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** Announces a message politely to screen readers. */
export function announce(message: string): void {
  element('announcer').textContent = message
}

/** Returns the customer's locale for the page's language, which decides between 14:05 and 2:05 PM. */
export function locale(): string {
  return navigator.languages.find((each) => each.split('-')[0] === data.language) ?? data.language
}

/** Formats a duration such as `5 minutes` in the page's language. */
export function duration(seconds: number): string {
  const unit = seconds < 60 ? 'second' : 'minute'
  const format = new Intl.NumberFormat(data.language, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(unit === 'second' ? seconds : Math.ceil(seconds / 60))
}
