import { formatShortest, formatTwoDecimals } from '../../domain/money.js'
import { hashCode, matchesHashCode } from '../../security/hash-code.js'

export interface HashedRequest {
  readonly hashCode: string
  readonly referenceId: string
  readonly amountMinor: bigint
  /** The raw text of the body. */
  readonly amountText: string
}

/**
 * The amount text a hashCode was made of, with any of the secrets: the body's own text, the shortest form (what most JSON
 * libraries print) or the two-decimal form (what most invoices print). Undefined when it is none of them.
 */
export function hashedAmountText(request: HashedRequest, secrets: readonly string[]): string | undefined {
  for (const secret of secrets) {
    if (matches(request, secret, request.amountText)) return request.amountText
    const shortest = formatShortest(request.amountMinor)
    if (shortest !== request.amountText && matches(request, secret, shortest)) return shortest
    const twoDecimals = formatTwoDecimals(request.amountMinor)
    if (twoDecimals !== request.amountText && matches(request, secret, twoDecimals)) return twoDecimals
  }
  return undefined
}

function matches(request: HashedRequest, secret: string, amountText: string): boolean {
  return matchesHashCode(request.hashCode, hashCode(secret, amountText, request.referenceId))
}
