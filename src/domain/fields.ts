import { Type } from '../kernel/typebox.js'

/** An amount is stored as decimal digits, because JSON has no 64-bit integers. The codec converts the fields with this mark. */
const amount = { isAmount: true }
export const Minor = Type.Unsafe<bigint>(Type.String({ pattern: '^(0|[1-9]\\d{0,14})$', ...amount }))
/** An amount above 0: the last guard against a transfer of nothing. */
export const PositiveMinor = Type.Unsafe<bigint>(Type.String({ pattern: '^[1-9]\\d{0,14}$', ...amount }))
/** A difference of amounts. */
export const SignedMinor = Type.Unsafe<bigint>(Type.String({ pattern: '^(0|-?[1-9]\\d{0,14})$', ...amount }))
export const Id = Type.String({ minLength: 1, maxLength: 64 })
/** The largest number of characters in a referenceId. */
export const maxReferenceIdLength = 128
/** A merchant's id of a transfer: any printable text. The schema counts UTF-16 units, of which a character has at most two. */
export const ReferenceId = Type.String({ minLength: 1, maxLength: 2 * maxReferenceIdLength })
export const Text = Type.String({ maxLength: 2048 })
/** The actor of the metadata, such as `user:<id>`. */
export const Actor = Type.String({ minLength: 1, maxLength: 256 })
/** A time in exactly the form of `Date.toISOString`, because expiry and rotation compare times as text. */
export const Time = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' })
/** A day such as `2026-03-02`. */
export const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })
export const Currency = Type.String({ pattern: '^[A-Z]{3}$' })
/** A payment of a bank's statement: the account, the day, the direction, the amount and the place among equal entries, which name its stream. */
export const BankPaymentId = Type.String({ minLength: 1, maxLength: 128 })
export const Count = Type.Integer({ minimum: 1 })
export const Index = Type.Integer({ minimum: 0 })
/** A secret that XChaCha20-Poly1305 encrypts: `v1.<key id>.<nonce, ciphertext, tag>`, base64url. */
export const Sealed = Type.String({ pattern: '^v1\\.' })
export const StreamName = Type.String({ minLength: 1, maxLength: 2048 })
export const AccountNumber = Type.Integer({ minimum: 1, maximum: 999_999_999_999 })
/** argon2id over a keyed digest, which is worthless without the key. The key is not in the log. */
export const PasswordHash = Type.String({ pattern: '^\\$argon2id\\$' })
