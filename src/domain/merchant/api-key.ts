/** The scopes of a key. Each route of src/http states which scope it requires. */
export const scopes = ['read', 'deposits', 'withdrawals', 'settlement'] as const
/** The default scopes. They do not include settlement: the holder of a key that creates withdrawals must not mark them as paid. */
export const usualScopes: readonly Scope[] = ['read', 'deposits', 'withdrawals']
export type Scope = (typeof scopes)[number]

export interface ApiKey {
  /** The SHA-256 of the key, hexadecimal. */
  readonly sha256: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** The end of its validity; null if it is valid until it is revoked. */
  readonly validUntil: string | null
  readonly createdAt: string
}

/** The name of the key that a merchant is registered with, and of its successors. No other key has it. */
export const mainKeyName = 'main'
export const keyNameForm = /^[A-Za-z0-9._-]{1,64}$/
/** The largest number of valid keys: each request is compared with all of them. */
export const maxApiKeys = 20

/** Returns the id of a key, which can be shown unlike the key: 48 bits of the digest of 256 random bits. */
export const apiKeyId = ({ sha256 }: Pick<ApiKey, 'sha256'>): string => sha256.slice(0, 12)
export const isApiKeyValid = ({ validUntil }: ApiKey, at: string): boolean => validUntil === null || at < validUntil

export function mainKey(sha256: string, createdAt: string): ApiKey {
  return { sha256, name: mainKeyName, scopes: usualScopes, validUntil: null, createdAt }
}

/** Replaces the main key. The previous one stays valid until `previousValidUntil`; older ones end. */
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
