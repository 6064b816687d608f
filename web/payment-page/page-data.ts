export type Phase = 'open' | 'paid' | 'checking' | 'cancelled' | 'failed' | 'expired' | 'ended'

/** As `/pay/:link/state` answers. */
export interface PageState {
  readonly phase: Phase
  readonly status: string
  readonly secondsLeft: number
  readonly paid: string | null
  readonly paidAt: string | null
  readonly accountDigits: string | null
  readonly hasAmountMismatch: boolean
  readonly receiptUrl: string | null
}

/** What the server put into the page. */
export interface PageData {
  readonly link: string
  readonly language: string
  readonly trackingId: string
  readonly referenceId: string
  /** Nothing to be done on the page: the merchant's instructions are shown, and the result when there is one. */
  readonly isManual: boolean
  /** ISO 8601. */
  readonly expiresAt: string
  /** Origins that may frame this page; `http://localhost:*` stands for any port. */
  readonly framing: readonly string[]
  readonly state: PageState
  readonly texts: { readonly [key: string]: string }
}

export const data = JSON.parse(element('page-data').textContent ?? '') as PageData

/** @throws Error when the page has no such element */
export function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no ${id}`)
  return found
}

export function text(key: string, values: { readonly [name: string]: string } = {}): string {
  const found = data.texts[key] ?? data.texts.trouble ?? ''
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** For screen readers: said when they have nothing else to say. */
export function announce(what: string): void {
  element('announcer').textContent = what
}

/** The customer's own habits, where they are of this language: 14:05 or 2:05 PM. */
export function locale(): string {
  return navigator.languages.find((each) => each.split('-')[0] === data.language) ?? data.language
}

/** Such as `5 minutes`, in the page's language. */
export function duration(seconds: number): string {
  const unit = seconds < 60 ? 'second' : 'minute'
  const format = new Intl.NumberFormat(data.language, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(unit === 'second' ? seconds : Math.ceil(seconds / 60))
}
