import { createHmac } from 'node:crypto'
import { createSigner } from 'fast-jwt'
import t from 'tap'
import { createSecretBox } from '../../src/security/secret-box.js'
import { createWalletTokens, tokenLifetimeSeconds, type WalletStep } from '../../src/security/wallet-tokens.js'

const box = createSecretBox(Buffer.alloc(32, 7))
const key = box.mac('wallet tokens', 'key v1')
const startMs = Date.parse('2026-03-01T10:00:00.500Z')
let nowMs = startMs
const tokens = createWalletTokens(box, () => nowMs)
const bearer = {
  trackingId: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10',
  merchantId: '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11',
}
const challengeId = '6e0b5e1c-6f0d-4d9e-8c55-0d6a3b1f7a21'
const bad = { valid: false, reason: 'bad' }
const steps: readonly WalletStep[] = ['code', 'device']

const seconds = Math.floor(startMs / 1000)
const claims = {
  iss: 'transferd',
  aud: 'transferd:wallet-code',
  sub: bearer.trackingId,
  merchant: bearer.merchantId,
  jti: challengeId,
  iat: seconds,
  exp: seconds + 300,
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** Signs any payload with the correct key. */
function signed(changes: { readonly [claim: string]: unknown } = {}, header: object = {}): string {
  const body = `${encoded({ alg: 'HS256', typ: 'JWT', ...header })}.${encoded({ ...claims, ...changes })}`
  return `${body}.${createHmac('sha256', key).update(body).digest('base64url')}`
}

t.beforeEach(() => {
  nowMs = startMs
})

t.test('accepts a token for its step, transfer and merchant until it expires', async (t) => {
  for (const step of steps) {
    nowMs = startMs
    const token = tokens.issue(step, bearer, challengeId)
    t.strictSame(tokens.verify(step, bearer, token), { valid: true, challengeId })
    nowMs = (seconds + tokenLifetimeSeconds[step]) * 1000 - 1
    t.strictSame(tokens.verify(step, bearer, token), { valid: true, challengeId })
    nowMs++
    t.strictSame(tokens.verify(step, bearer, token), { valid: false, reason: 'expired' })
    for (const wrong of [{ trackingId: 'other' }, { merchantId: 'other' }]) {
      t.strictSame(tokens.verify(step, { ...bearer, ...wrong }, token), bad, 'also after its expiry')
    }
  }
  t.same(tokenLifetimeSeconds, { code: 300, device: 600 })
})

t.test('the tokens of this test have the form of issued tokens', async (t) => {
  t.strictSame(tokens.verify('code', bearer, signed()), { valid: true, challengeId })
  const [, payload = ''] = tokens.issue('code', bearer, challengeId).split('.')
  t.strictSame(JSON.parse(Buffer.from(payload, 'base64url').toString()), claims)
})

t.test('rejects a token of the other step', async (t) => {
  t.strictSame(tokens.verify('device', bearer, tokens.issue('code', bearer, challengeId)), bad)
  t.strictSame(tokens.verify('code', bearer, tokens.issue('device', bearer, challengeId)), bad)
})

t.test('rejects a missing algorithm, another algorithm and another key', async (t) => {
  const unsigned = `${encoded({ alg: 'none', typ: 'JWT' })}.${encoded(claims)}.`
  t.strictSame(tokens.verify('code', bearer, unsigned), bad)
  t.strictSame(tokens.verify('code', bearer, signed({}, { alg: 'none' })), bad)
  for (const algorithm of ['HS384', 'HS512'] as const) {
    t.strictSame(tokens.verify('code', bearer, createSigner({ key, algorithm })(claims)), bad, algorithm)
  }
  const foreign = createSigner({ key: 'x'.repeat(43), algorithm: 'HS256' })(claims)
  t.strictSame(tokens.verify('code', bearer, foreign), bad)
  const others = createWalletTokens(createSecretBox(Buffer.alloc(32, 8)), () => nowMs)
  t.strictSame(tokens.verify('code', bearer, others.issue('code', bearer, challengeId)), bad)
})

t.test('rejects a missing, foreign or malformed claim', async (t) => {
  for (const claim of Object.keys(claims)) {
    t.strictSame(tokens.verify('code', bearer, signed({ [claim]: undefined })), bad, `without ${claim}`)
    t.strictSame(tokens.verify('code', bearer, signed({ [claim]: null })), bad, `${claim} null`)
  }
  const wrong = [
    { aud: [claims.aud] },
    { aud: [claims.aud, 'transferd:wallet-device'] },
    { aud: 'another audience' },
    { aud: '' },
    { iss: 'another issuer' },
    { iss: ['transferd', 'x'] },
    { sub: [bearer.trackingId] },
    { merchant: [bearer.merchantId] },
    { jti: 7 },
    { jti: [challengeId] },
    { exp: '9999999999' },
    { exp: [seconds + 300] },
  ]
  for (const changes of wrong)
    t.strictSame(tokens.verify('code', bearer, signed(changes)), bad, JSON.stringify(changes))
})

t.test('rejects text that is not a token, of any length', async (t) => {
  const token = tokens.issue('code', bearer, challengeId)
  const [header, payload, signature] = token.split('.')
  const altered = token.slice(0, -2) + (token.at(-2) === 'A' ? 'B' : 'A') + token.at(-1)
  for (const text of ['', '.', '..', 'a.b.c', token.slice(0, -1), `${token}.`, `${header}.${payload}`, altered]) {
    t.strictSame(tokens.verify('code', bearer, text), bad, text.slice(0, 20))
  }
  t.strictSame(tokens.verify('code', bearer, `${header}.${encoded({ ...claims, sub: 'x' })}.${signature}`), bad)
  t.strictSame(tokens.verify('code', bearer, 'x'.repeat(100_000)), bad)
})
