import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** `tk_<merchant id without dashes>_<256 random bits>`: the id makes it findable, the bits make it a secret. */
export function generateApiKey(merchantId: string): string {
  return `tk_${merchantId.replaceAll('-', '')}_${randomBytes(32).toString('base64url')}`
}

const apiKeyPattern = /^tk_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/

/** The merchant an API key claims to be of; undefined when it has not the form of a key. */
export function merchantIdOfApiKey(apiKey: string): string | undefined {
  const match = apiKeyPattern.exec(apiKey)
  return match ? `${match[1]}-${match[2]}-${match[3]}-${match[4]}-${match[5]}` : undefined
}

/** A plain digest is enough: the key carries 256 random bits, there is nothing to guess. */
export function digestApiKey(apiKey: string): string {
  return hash('sha256', apiKey)
}

/** The one of these whose key it is. As long as it takes for all of them, whichever matches. */
export function findByApiKey<Known extends { readonly sha256: string }>(
  apiKey: string,
  known: readonly Known[],
): Known | undefined {
  const digest = Buffer.from(digestApiKey(apiKey))
  let found: Known | undefined
  for (const candidate of known) if (timingSafeEqual(digest, Buffer.from(candidate.sha256))) found = candidate
  return found
}

export function generateSecretKey(): string {
  return `sk_${randomBytes(32).toString('base64url')}`
}

/** Standard Webhooks secret: `whsec_` and base64 of 32 random bytes. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
