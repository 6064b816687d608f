import fc from 'fast-check'
import t from 'tap'
import {
  callbackSecretKey,
  type Merchant,
  merchantDecider,
  validSecretKeys,
} from '../../src/domain/merchant/merchant.js'
import type { MerchantEvent } from '../../src/domain/merchant/merchant-events.js'
import { specification } from '../support/given-when-then.js'
import { merchantId, registered } from './merchant-samples.js'

const { given, fold } = specification(merchantDecider)
const startMs = Date.parse('2026-03-01T10:00:00.000Z')
const minute = (n: number) => new Date(startMs + n * 60_000).toISOString()
const sealed = (n: number) => `v1.secret.${n + 1}`

const rotated = (n: number, at: number, until: number): MerchantEvent => ({
  type: 'SecretKeyRotated',
  data: { merchantId, secretKey: sealed(n), previousValidUntil: minute(until), at: minute(at) },
})
const takenUp = (number: number, at: number): MerchantEvent => ({
  type: 'SecretKeyTakenUp',
  data: { merchantId, number, at: minute(at) },
})
const keys = (...events: MerchantEvent[]) => (fold([registered, ...events]) as Merchant).secretKeys
const valid = (at: number, ...events: MerchantEvent[]) =>
  validSecretKeys(keys(...events), minute(at)).map((key) => key.sealed)
const callback = (at: number, ...events: MerchantEvent[]) => callbackSecretKey(keys(...events), minute(at)).sealed

t.test('during a rotation both SecretKeys are valid, and callbacks use the old one until its end', async (t) => {
  given(registered)
    .when({ type: 'RotateSecretKey', secretKey: sealed(1), previousValidUntil: minute(60), at: minute(0) })
    .then([rotated(1, 0, 60)])
  t.strictSame(valid(59, rotated(1, 0, 60)), [sealed(1), sealed(0)])
  t.strictSame(valid(60, rotated(1, 0, 60)), [sealed(1)])
  t.equal(callback(0, rotated(1, 0, 60)), sealed(0))
  t.equal(callback(59, rotated(1, 0, 60)), sealed(0))
  t.equal(callback(60, rotated(1, 0, 60)), sealed(1))
})

t.test('callbacks use the new SecretKey once the merchant has used it, which is recorded once', async (t) => {
  const resendWanted = (number: number, at: number) => ({ type: 'TakeUpSecretKey', number, at: minute(at) }) as const
  given(registered, rotated(1, 0, 60))
    .when(resendWanted(1, 5))
    .then([takenUp(1, 5)])
  given(registered, rotated(1, 0, 60), takenUp(1, 5))
    .when(resendWanted(1, 6))
    .then([], 'a repeat')
  given(registered, rotated(1, 0, 60))
    .when(resendWanted(0, 5))
    .then([], 'the previous SecretKey')
  given(registered, rotated(1, 0, 60))
    .when(resendWanted(1, 60))
    .then([], 'a use after the overlap')
  given(registered).when(resendWanted(0, 5)).then([], 'no rotation is in progress')
  t.equal(callback(5, rotated(1, 0, 60), takenUp(1, 5)), sealed(1))
  t.strictSame(
    valid(5, rotated(1, 0, 60), takenUp(1, 5)),
    [sealed(1), sealed(0)],
    'requests with either key are still valid',
  )
})

t.test(
  'a rotation without overlap ends every previous SecretKey immediately, for requests and callbacks',
  async (t) => {
    t.strictSame(valid(0, rotated(1, 0, 0)), [sealed(1)])
    t.strictSame(valid(-5, rotated(1, 0, 0)), [sealed(1)], 'the previous SecretKey ends even if the clock lags')
    t.equal(callback(0, rotated(1, 0, 0)), sealed(1))
    t.strictSame(valid(5, rotated(1, 0, 60), rotated(2, 5, 5)), [sealed(2)])
    t.equal(callback(5, rotated(1, 0, 60), rotated(2, 5, 5)), sealed(2))
  },
)

t.test('a second rotation within the overlap keeps each SecretKey valid for its full time', async (t) => {
  const twice = [rotated(1, 0, 60), rotated(2, 10, 30)]
  t.strictSame(valid(10, ...twice), [sealed(2), sealed(1), sealed(0)])
  t.strictSame(valid(30, ...twice), [sealed(2), sealed(0)])
  t.strictSame(valid(60, ...twice), [sealed(2)])
  t.equal(callback(10, ...twice), sealed(0), 'the merchant has used no new key')
  t.equal(
    callback(10, rotated(1, 0, 60), takenUp(1, 5), rotated(2, 10, 30)),
    sealed(1),
    'the merchant used the first new key before the second rotation',
  )
  t.equal(
    callback(10, ...twice, takenUp(1, 20)),
    sealed(1),
    'the merchant used the first new key after the second rotation',
  )
  t.equal(callback(10, ...twice, takenUp(2, 20)), sealed(2))
  const many = [1, 2, 3, 4, 5].map((n) => rotated(n, n, 60))
  t.strictSame(valid(6, ...many), [sealed(5), sealed(4), sealed(3), sealed(2)], 'the oldest of many keys ends early')
})

t.test('a receiver that knows only the SecretKey in use by the merchant never receives a wrong hash', async () => {
  const step = fc.oneof(
    fc.record({ what: fc.constant('rotate' as const), overlap: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ what: fc.constant('use' as const), newest: fc.nat(3) }),
    fc.record({ what: fc.constant('callback' as const) }),
    fc.record({ what: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 15 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let state = fold([registered]) as Merchant
      let now = 0
      /** The number of the SecretKey that the merchant uses for requests and callbacks. */
      let inUse = 0
      const record = (command: Parameters<typeof merchantDecider.decide>[0]) => {
        const decision = merchantDecider.decide(command, state)
        if (!decision.accepted) throw new Error(decision.refusal.rule)
        state = decision.events.reduce(merchantDecider.evolve, state) as Merchant
        return decision.events.length
      }
      const validNumbers = () => validSecretKeys(state.secretKeys, minute(now)).map(({ number }) => number)
      for (const each of steps) {
        if (each.what === 'wait') now += each.minutes
        if (each.what === 'rotate') {
          const { number } = state.secretKeys.all[0]
          const at = minute(now)
          const next = { secretKey: sealed(number + 1), previousValidUntil: minute(now + each.overlap), at }
          record({ type: 'RotateSecretKey', ...next })
        }
        const known = validNumbers()
        // A merchant that still uses an expired key must change to the newest.
        if (!known.includes(inUse)) {
          inUse = known[0]!
          record({ type: 'TakeUpSecretKey', number: inUse, at: minute(now) })
        }
        if (each.what === 'use') {
          inUse = Math.max(inUse, known[Math.min(each.newest, known.length - 1)]!)
          record({ type: 'TakeUpSecretKey', number: inUse, at: minute(now) })
          if (record({ type: 'TakeUpSecretKey', number: inUse, at: minute(now) }) > 0)
            throw new Error('the use was recorded twice')
        }
        const { number } = callbackSecretKey(state.secretKeys, minute(now))
        if (number !== inUse) throw new Error(`the callback uses key ${number}, but the merchant uses key ${inUse}`)
      }
    }),
  )
})
