import { Secret, TOTP } from 'otpauth'

// The second factor (RFC 6238) with the parameters that every authenticator supports: SHA-1, six digits, 30 seconds.

const issuer = 'transferd'
const periodMs = 30_000
/** The clocks may differ by one period in either direction. */
const window = 1
const secretBytes = 20
export const newTotpSecret = (): string => new Secret({ size: secretBytes }).base32

/** Returns the `otpauth:` URI that an authenticator reads from a link or a QR code. */
export const totpUri = (secret: string, label: string): string => totp(secret, label).toString()

/** Returns the number of the period that a code belongs to, or `undefined` for a wrong code. */
export function codeCounter(secret: string, code: string, nowMs: number): number | undefined {
  const delta = totp(secret, '').validate({ token: code, timestamp: nowMs, window })
  return delta === null ? undefined : Math.floor(nowMs / periodMs) + delta
}

function totp(secret: string, label: string): TOTP {
  const key = Secret.fromBase32(secret)
  return new TOTP({ issuer, label, algorithm: 'SHA1', digits: 6, period: periodMs / 1000, secret: key })
}
