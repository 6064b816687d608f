import { createHmac, timingSafeEqual } from 'node:crypto'
import { formatShortest, formatTwoDecimals } from '../../domain/money.js'
import { hashCode, matchesHashCode } from '../../security/hash-code.js'

const signatureWindowMs = 5 * 60_000
const signatureHeader = /^t=(\d{1,12}),v1=([0-9a-fA-F]{64})$/

interface HashedRequest {
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
  const { hashCode: received, referenceId, amountMinor, amountText } = request
  for (const form of [() => amountText, () => formatShortest(amountMinor), () => formatTwoDecimals(amountMinor)]) {
    const text = form()
    if (secrets.some((secret) => matchesHashCode(received, hashCode(secret, text, referenceId)))) return text
  }
  return undefined
}

/**
 * `X-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">`, keyed with a SecretKey and at most five minutes
 * old or ahead: the hashCode covers neither account nor customer, this covers every byte.
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
