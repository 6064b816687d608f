import { type Algorithm, createSigner, createVerifier } from 'fast-jwt'
import type { SecretBox } from './secret-box.js'

/** `code`: from the login to the code (specification, Endpoint 5). `device`: from the code to the device (Endpoint 6). */
export type WalletStep = 'code' | 'device'
export const tokenLifetimeSeconds: { readonly [step in WalletStep]: number } = { code: 5 * 60, device: 10 * 60 }

/** The deposit and the merchant that a token is bound to. */
type TokenBearer = { readonly trackingId: string; readonly merchantId: string }

type VerifiedToken =
  | { readonly valid: true; readonly challengeId: string }
  /** `expired` only if everything else is valid, so that the response reveals nothing about a token of another issuer. */
  | { readonly valid: false; readonly reason: 'bad' | 'expired' }

export type WalletTokens = ReturnType<typeof createWalletTokens>
const algorithm: Algorithm = 'HS256'
const issuer = 'transferd'
const audiences: { readonly [step in WalletStep]: string } = {
  code: 'transferd:wallet-code',
  device: 'transferd:wallet-device',
}
const requiredClaims = ['iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'merchant'] as const
const maxTokenLength = 1024
type Claims = { readonly [claim in (typeof requiredClaims)[number]]: unknown }

/** Creates JWTs under a derived key. Verifies what fast-jwt omits: the algorithm, one audience per step, and `exp` by the service's clock. */
export function createWalletTokens(box: Pick<SecretBox, 'mac'>, nowMs: () => number) {
  const key = box.mac('wallet tokens', 'key v1')
  const sign = createSigner({ key, algorithm, iss: issuer })
  const verifiers = {
    code: createVerifier({ ...pinned, key, allowedAud: audiences.code }),
    device: createVerifier({ ...pinned, key, allowedAud: audiences.device }),
  }

  return {
    issue(step: WalletStep, { trackingId, merchantId }: TokenBearer, challengeId: string): string {
      const iat = Math.floor(nowMs() / 1000)
      const exp = iat + tokenLifetimeSeconds[step]
      return sign({ aud: audiences[step], sub: trackingId, merchant: merchantId, jti: challengeId, iat, exp })
    },
    verify(step: WalletStep, bearer: TokenBearer, token: string): VerifiedToken {
      const claims = token.length <= maxTokenLength ? claimsOf(verifiers[step], token) : undefined
      if (!claims) return { valid: false, reason: 'bad' }
      const { aud, sub, jti, iat, exp, merchant } = claims
      // The verifier also accepts a list of audiences that contains the expected one.
      const isOurs = aud === audiences[step] && sub === bearer.trackingId && merchant === bearer.merchantId
      const isTimed = typeof iat === 'number' && typeof exp === 'number'
      if (!isOurs || !isTimed || typeof jti !== 'string') return { valid: false, reason: 'bad' }
      return nowMs() < exp * 1000 ? { valid: true, challengeId: jti } : { valid: false, reason: 'expired' }
    },
  }
}

/** The verifier ignores the expiry, because its clock cannot be set for each token. */
const pinned = {
  algorithms: [algorithm],
  allowedIss: issuer,
  requiredClaims: [...requiredClaims],
  ignoreExpiration: true,
}

function claimsOf(verify: (token: string) => unknown, token: string): Claims | undefined {
  try {
    return verify(token) as Claims
  } catch {
    return undefined
  }
}
