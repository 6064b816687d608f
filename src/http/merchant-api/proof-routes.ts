import { createHmac, timingSafeEqual } from 'node:crypto'
import { formatShortest, formatTwoDecimals } from '../../domain/money.js'
import { hashCode, matchesHashCode } from '../../security/credentials.js'

const signatureWindowMs = 5 * 60_000
const signatureHeader = /^t=(\d{1,12}),v1=([0-9a-fA-F]{64})$/

interface HashedRequest {
  readonly hashCode: string
  readonly referenceId: string
  readonly amountMinor: bigint
  /** The amount's raw text in the body. */
  readonly amountText: string
}

/**
 * Returns the amount text that produces the hashCode with one of the secrets: the text in the body, the shortest form
 * (as most JSON libraries print it) or the two-decimal form (as most invoices print it), or `undefined`.
 */
export function hashedAmountText(request: HashedRequest, secrets: readonly string[]): string | undefined {
  const { hashCode: received, referenceId, amountMinor, amountText } = request
  for (const form of [() => amountText, () => formatShortest(amountMinor), () => formatTwoDecimals(amountMinor)]) {
    const text = form()
    if (secrets.some((secret) => matchesHashCode(received, hashCode(secret, text, referenceId)))) return text
  }
  return undefined
}

/**
 * `X-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">`, keyed with a SecretKey and at most five minutes
 * off. Unlike the hashCode, it covers the account, the customer and every other byte.
 */
export function isSignatureValid(
  signature: string,
  rawBody: Buffer,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  const [, seconds, hex] = signatureHeader.exec(signature) ?? []
  if (!seconds || !hex || Math.abs(Number(seconds) * 1000 - nowMs) > signatureWindowMs) return false
  const received = Buffer.from(hex, 'hex')
  let valid = false
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${seconds}.`).update(rawBody).digest()
    valid = timingSafeEqual(received, expected) || valid
  }
  return valid
}
