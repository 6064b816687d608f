import { Secret, TOTP } from 'otpauth'

// The second factor (RFC 6238) with the parameters that every authenticator supports: SHA-1, six digits, 30 seconds.

const periodMs = 30_000
/** The clocks may differ by one period in either direction. */
const window = 1
const secretBytes = 20
const parameters = { algorithm: 'SHA1', digits: 6, period: periodMs / 1000 }
const keyOf = (secret: string) => Secret.fromBase32(secret)
export const newTotpSecret = (): string => new Secret({ size: secretBytes }).base32

/** Returns the `otpauth:` URI that an authenticator reads from a link or a QR code. It shows the issuer and the account as the entry's name. */
export function totpUri(secret: string, issuer: string, account: string): string {
  // In the label, a colon separates the two, also if it is encoded.
  return new TOTP({
    ...parameters,
    issuer: issuer.replaceAll(':', '-'),
    label: account,
    secret: keyOf(secret),
  }).toString()
}

/** Returns the number of the period that a code belongs to, or `undefined` for a wrong code. */
export function codeCounter(secret: string, code: string, nowMs: number): number | undefined {
  const delta = new TOTP({ ...parameters, secret: keyOf(secret) }).validate({ token: code, timestamp: nowMs, window })
  return delta === null ? undefined : Math.floor(nowMs / periodMs) + delta
}
