import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Returns `tk_<merchant id without dashes>_<256 random bits>`. The id finds the merchant, and the bits make the key secret. */
export function generateApiKey(merchantId: string): string {
  return `tk_${merchantId.replaceAll('-', '')}_${randomBytes(32).toString('base64url')}`
}

const apiKeyPattern = /^tk_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/

/** Returns the id of the merchant that an API key names, or `undefined` if the text is not in the form of a key. */
export function merchantIdOfApiKey(apiKey: string): string | undefined {
  const match = apiKeyPattern.exec(apiKey)
  return match ? `${match[1]}-${match[2]}-${match[3]}-${match[4]}-${match[5]}` : undefined
}

/** Returns the digest of a key. A plain digest is enough, because 256 random bits cannot be guessed. */
export const digestApiKey = (apiKey: string): string => hash('sha256', apiKey)

/** Returns the matching entry. Compares every entry, so that the time does not depend on which one matches. */
export function findByApiKey<Known extends { readonly sha256: string }>(
  apiKey: string,
  known: readonly Known[],
): Known | undefined {
  const digest = Buffer.from(digestApiKey(apiKey))
  let found: Known | undefined
  for (const candidate of known) if (timingSafeEqual(digest, Buffer.from(candidate.sha256))) found = candidate
  return found
}

export const generateSecretKey = (): string => `sk_${randomBytes(32).toString('base64url')}`

/** Returns a Standard Webhooks secret: `whsec_` and 32 random bytes in base64. */
export const generateWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** Returns the hash code of the specification (Resources), the md5 in uppercase. `100` and `100.00` have different hashes. */
export function hashCode(secretKey: string, amountText: string, referenceId: string): string {
  return hash('md5', `${secretKey}${amountText}${referenceId}`).toUpperCase()
}

const hashCodeText = /^[0-9a-f]{32}$/i

/** Compares in constant time, ignoring case. Checks the form first, because `timingSafeEqual` throws on different lengths. */
export function matchesHashCode(supplied: string, expected: string): boolean {
  return hashCodeText.test(supplied) && timingSafeEqual(Buffer.from(supplied.toUpperCase()), Buffer.from(expected))
}
