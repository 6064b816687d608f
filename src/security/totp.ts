import { Secret, TOTP } from 'otpauth'

/** The second factor (RFC 6238) as every authenticator knows it: SHA-1, six digits, half a minute. */

const issuer = 'transferd'
const periodMs = 30_000
/** A clock may be half a minute off, in either direction. */
const window = 1
const secretBytes = 20

/** Base32. */
export function newTotpSecret(): string {
  return new Secret({ size: secretBytes }).base32
}

/** What an authenticator takes, as a link or a QR code. */
export function totpUri(secret: string, label: string): string {
  return totp(secret, label).toString()
}

/** The number of the half minute that a code belongs to; undefined for a wrong one. */
export function codeCounter(secret: string, code: string, nowMs: number): number | undefined {
  const delta = totp(secret, '').validate({ token: code, timestamp: nowMs, window })
  return delta === null ? undefined : Math.floor(nowMs / periodMs) + delta
}

function totp(secret: string, label: string): TOTP {
  return new TOTP({
    issuer,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: periodMs / 1000,
    secret: Secret.fromBase32(secret),
  })
}
