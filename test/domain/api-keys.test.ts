import fc from 'fast-check'
import t from 'tap'
import { apiKeyId, isApiKeyValid, maxApiKeys, type Scope } from '../../src/domain/merchant/api-key.js'
import { type Merchant, merchantDecider } from '../../src/domain/merchant/merchant.js'
import type { MerchantEvent } from '../../src/domain/merchant/merchant-events.js'
import { specification } from '../support/given-when-then.js'
import { merchantId, registered, registeredAt } from './merchant-samples.js'

const { given, fold } = specification(merchantDecider)
const at = '2026-03-01T10:00:00.000Z'
const later = '2026-03-01T11:00:00.000Z'
const sha = (n: number) => n.toString(16).padStart(12, '0').padEnd(64, 'f')
const first = 'a'.repeat(64)

const create = (n: number, validUntil: string | null = null, own: readonly Scope[] = ['read'], time = at) =>
  ({ type: 'CreateApiKey', apiKeySha256: sha(n), name: `key-${n}`, scopes: own, validUntil, at: time }) as const
const created = (n: number, validUntil: string | null = null, own: readonly Scope[] = ['read'], time = at) =>
  ({
    type: 'ApiKeyCreated',
    data: { merchantId, name: `key-${n}`, apiKeySha256: sha(n), scopes: own, validUntil, at: time },
  }) as const
const revoked = (keyId: string) => ({ type: 'ApiKeyRevoked', data: { merchantId, keyId, at } }) as const
const rotated = (n: number, previousValidUntil: string, time = at) =>
  ({ type: 'ApiKeyRotated', data: { merchantId, apiKeySha256: sha(n), previousValidUntil, at: time } }) as const
const keys = (...events: MerchantEvent[]) => (fold([registered, ...events]) as Merchant).apiKeys
const valid = (time: string, ...events: MerchantEvent[]) =>
  keys(...events).flatMap((key) => (isApiKeyValid(key, time) ? [key.sha256] : []))

t.test('creates an additional key with its scopes and its expiry', async (t) => {
  given(registered)
    .when(create(1, later, ['deposits', 'read']))
    .then([created(1, later, ['deposits', 'read'])])
  t.strictSame(keys(created(1, later))[1], {
    sha256: sha(1),
    name: 'key-1',
    scopes: ['read'],
    validUntil: later,
    createdAt: at,
  })
  t.strictSame(valid('2026-03-01T10:59:59.999Z', created(1, later)), [first, sha(1)])
  t.strictSame(valid(later, created(1, later)), [first], 'the key is invalid from its expiry on')
})

t.test(
  'rejects a name in use, the name of the main key, an expiry in the past, and a key beyond the maximum',
  async () => {
    given(registered, created(1)).when(create(1)).then('conflict')
    given(registered)
      .when({ ...create(1), name: 'main' })
      .then('conflict')
    given(registered).when(create(1, at)).then('invalid')
    const full = Array.from({ length: maxApiKeys - 1 }, (_, n) => created(n, n === 0 ? later : null))
    given(registered, ...full)
      .when(create(99))
      .then('conflict')
    given(registered, ...full)
      .when(create(99, null, ['read'], later))
      .then([created(99, null, ['read'], later)], 'an expired key does not count')
    given(registered, ...full, revoked(apiKeyId({ sha256: sha(3) })))
      .when(create(3))
      .then([created(3)], 'a revoked key does not count, and its name is free')
  },
)

t.test('revokes any key, even the main key, and rejects an unknown key', async (t) => {
  const ids = [apiKeyId({ sha256: first }), apiKeyId({ sha256: sha(1) })] as const
  for (const keyId of ids) {
    given(registered, created(1))
      .when({ type: 'RevokeApiKey', keyId, at })
      .then([revoked(keyId)])
    given(registered, created(1), revoked(keyId)).when({ type: 'RevokeApiKey', keyId, at }).then('not-found')
  }
  t.strictSame(valid(at, created(1), revoked(ids[0])), [sha(1)])
  t.strictSame(valid(at, created(1), revoked(ids[1])), [first])
  t.strictSame(valid(at, revoked(ids[0]), rotated(2, later)), [sha(2)], 'a rotation does not restore a revoked key')
})

t.test('a rotation of the main key keeps both valid until the overlap ends, and the others unchanged', async (t) => {
  given(registered)
    .when({ type: 'RotateApiKey', apiKeySha256: sha(2), previousValidUntil: later, at })
    .then([rotated(2, later)])
  t.strictSame(valid(at, created(1), rotated(2, later)), [sha(2), first, sha(1)])
  t.strictSame(valid(later, created(1), rotated(2, later)), [sha(2), sha(1)])
  t.strictSame(valid(at, rotated(2, at)), [sha(2)], 'a rotation without overlap revokes the previous key immediately')
  t.strictSame(valid(registeredAt, rotated(2, at)), [sha(2)], 'the previous key is revoked even if the clock lags')
  const twice = [rotated(2, later), rotated(3, '2026-03-01T12:00:00.000Z', '2026-03-01T10:30:00.000Z')]
  t.strictSame(
    valid('2026-03-01T10:30:00.000Z', ...twice),
    [sha(3), sha(2)],
    'a second rotation revokes the oldest key',
  )
  for (const key of keys(...twice))
    t.strictSame(key.scopes, ['read', 'deposits', 'withdrawals'], 'no key has the scope to settle transfers')
})

t.test('bounds the number of keys and keeps their ids unique after any sequence of commands', async () => {
  const minute = (n: number) => new Date(Date.parse(at) + n * 60_000).toISOString()
  const step = fc.record({
    action: fc.constantFrom('create', 'create', 'create', 'revoke', 'rotate'),
    n: fc.nat(40),
    minutesValid: fc.option(fc.integer({ min: 1, max: 30 })),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      let state = fold([registered])
      steps.forEach(({ action, n, minutesValid }, index) => {
        const now = minute(index)
        const validUntil = minutesValid === null ? null : minute(index + minutesValid)
        const sha256 = sha(index + 1)
        const command =
          action === 'create'
            ? ({ ...create(n, validUntil, ['read'], now), apiKeySha256: sha256 } as const)
            : action === 'revoke'
              ? ({ type: 'RevokeApiKey', keyId: apiKeyId({ sha256: sha(n) }), at: now } as const)
              : ({
                  type: 'RotateApiKey',
                  apiKeySha256: sha256,
                  previousValidUntil: minute(index + n),
                  at: now,
                } as const)
        const decision = merchantDecider.decide(command, state)
        if (decision.accepted) state = decision.events.reduce(merchantDecider.evolve, state)
        const { apiKeys } = state as Merchant
        const validNow = apiKeys.filter((key) => isApiKeyValid(key, now))
        if (validNow.length > maxApiKeys + 1) throw new Error(`${validNow.length} keys are valid`)
        if (apiKeys.length > 2 * maxApiKeys) throw new Error(`${apiKeys.length} keys are kept`)
        if (new Set(apiKeys.map(apiKeyId)).size < apiKeys.length) throw new Error('two keys have the same id')
      })
    }),
  )
})
