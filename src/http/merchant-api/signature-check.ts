import { createHmac, timingSafeEqual } from 'node:crypto'

const windowMs = 5 * 60_000
const header = /^t=(\d{1,12}),v1=([0-9a-fA-F]{64})$/

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
  const match = header.exec(signature)
  if (!match?.[1] || !match[2]) return false
  if (Math.abs(Number(match[1]) * 1000 - nowMs) > windowMs) return false
  const supplied = Buffer.from(match[2], 'hex')
  let valid = false
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${match[1]}.`).update(rawBody).digest()
    valid = timingSafeEqual(supplied, expected) || valid
  }
  return valid
}
