/** What a key may be used for. Each route of src/http says which of them it asks for. */
export const scopes = ['read', 'deposits', 'withdrawals', 'settlement'] as const
/**
 * Those that a key has which nobody gave others. Settlement is not among them: whoever holds the key that creates withdrawals must not be
 * able to say that they were paid.
 */
export const usualScopes: readonly Scope[] = ['read', 'deposits', 'withdrawals']

export type Scope = (typeof scopes)[number]

export interface ApiKey {
  /** SHA-256, hexadecimal. */
  readonly sha256: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** ISO 8601, valid before it; null: until it is revoked. */
  readonly validUntil: string | null
  readonly createdAt: string
}

/** Of the key that a merchant is registered with, and of those that rotation puts in its place; no other has it. */
export const mainKeyName = 'main'
export const keyNameForm = /^[A-Za-z0-9._-]{1,64}$/
/** Valid at once: each request with a key is compared with all of them. */
export const maxApiKeys = 20

/** Tells keys apart where none may be shown: 48 bits of the digest of 256 random bits. */
export function apiKeyId({ sha256 }: Pick<ApiKey, 'sha256'>): string {
  return sha256.slice(0, 12)
}

export function isApiKeyValid({ validUntil }: ApiKey, at: string): boolean {
  return validUntil === null || at < validUntil
}

export function mainKey(sha256: string, createdAt: string): ApiKey {
  return { sha256, name: mainKeyName, scopes: usualScopes, validUntil: null, createdAt }
}

/** The main key before stays valid until `previousValidUntil`, the ones before that no longer. */
export function rotateMainKey(
  keys: readonly ApiKey[],
  next: { readonly apiKeySha256: string; readonly previousValidUntil: string; readonly at: string },
): readonly ApiKey[] {
  const { apiKeySha256, previousValidUntil, at } = next
  const others = keys.filter(({ name }) => name !== mainKeyName)
  const previous = keys.find(({ name, validUntil }) => name === mainKeyName && validUntil === null)
  const overlapping = previous && at < previousValidUntil ? [{ ...previous, validUntil: previousValidUntil }] : []
  return [mainKey(apiKeySha256, at), ...overlapping, ...others]
}
