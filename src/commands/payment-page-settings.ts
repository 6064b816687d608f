import type { PaymentInstructions } from '../domain/merchant/events.js'
import { isManual, type PaymentMethod } from '../domain/payment-method.js'
import { hiddenCharacters, isVisible } from '../domain/text.js'

const maxUrlLength = 2048
/** At most this many origins: they are all in one header. */
export const maxFrameAncestors = 20
const maxInstructions = 50
const maxInstructionsLength = 2_000
const originPattern = /^https?:\/\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?$/

/** What is wrong with a merchant's `returnUrl`, as a sentence; undefined when it will do. */
export function returnUrlProblem(text: string, sandbox: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || text.length > maxUrlLength) return 'The return URL is not a URL.'
  if (url.username || url.password) return 'The return URL must not carry a user name or password.'
  return schemeProblem('The return URL', url, sandbox)
}

/**
 * What is wrong with an origin that may frame the payment page. Stricter than the URL standard, which lets a host hold a
 * semicolon: in a Content-Security-Policy that would begin another directive.
 */
export function frameAncestorProblem(text: string, sandbox: boolean): string | undefined {
  if (!originPattern.test(text) || !URL.canParse(text) || new URL(text).origin !== text) {
    return 'A frame ancestor must be an origin such as https://shop.example.com, in small letters and without a path.'
  }
  return schemeProblem('A frame ancestor', new URL(text), sandbox)
}

/** What is wrong with what the payment page tells customers of manual payment methods, as a sentence. */
export function paymentInstructionsProblem(
  instructions: readonly PaymentInstructions[],
  methods: readonly PaymentMethod[],
): string | undefined {
  if (instructions.length > maxInstructions) return `There can be instructions for ${maxInstructions} payment methods.`
  const codes = instructions.map(({ paymentMethod }) => paymentMethod)
  if (new Set(codes).size < codes.length) return 'There are instructions for one payment method twice.'
  const wrong = codes.find((code) => !isManual(methods, code))
  if (wrong !== undefined) return `${wrong} is no manual payment method of the catalogue (PAYMENT_METHODS).`
  for (const { paymentMethod, text } of instructions) {
    if (text.trim() === '' || text.length > maxInstructionsLength) {
      return `The instructions for ${paymentMethod} must be 1 to ${maxInstructionsLength} characters.`
    }
    // Another account could be shown than the one that is written.
    if (!text.split('\n').every(isVisible)) return `The instructions for ${paymentMethod} ${hiddenCharacters}.`
  }
  return undefined
}

function schemeProblem(what: string, { protocol }: URL, sandbox: boolean): string | undefined {
  if (protocol === 'https:' || (sandbox && protocol === 'http:')) return undefined
  return `${what} must start with https://${sandbox ? ' or http://' : ''}.`
}
