import { type Currency, isPayable } from '../../domain/currency.js'
import { type Violation, violate } from '../../kernel/rules.js'
import { isVisible } from '../../kernel/text.js'

// The rules for the input of everyone who settles transfers: merchants' programs, users of the dashboard and the command line.

/** Returns the rule that a message or a reason violates. Merchants and customers read these texts. */
export function settlementTextProblem(text: string): Violation | undefined {
  if (text.trim() === '') return violate('blank')
  return text.split('\n').every(isVisible) ? undefined : violate('hidden-characters')
}

export function receiptUrlProblem(text: string): Violation | undefined {
  const isWebAddress = isVisible(text) && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  return isWebAddress ? undefined : violate('url-not-http')
}

/** Returns the rule that an amount violates which the currency cannot represent. */
export function settlementAmountProblem(currency: Currency, amountMinor: bigint): Violation | undefined {
  return isPayable(currency, amountMinor) ? undefined : violate('whole-amount', { currency: currency.code })
}
