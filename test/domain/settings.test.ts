import t from 'tap'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import {
  givenSettingsProblem,
  paymentInstructionsProblem,
  settingsProblem,
} from '../../src/domain/merchant/merchant-settings.js'
import type { PaymentMethod } from '../../src/domain/payment-method.js'
import { settings } from './merchant-samples.js'

const problem = (changes: Partial<MerchantSettings>) =>
  settingsProblem({ ...settings, sandbox: false, ...changes })?.message

t.test('a return URL is https without credentials; in the sandbox it can be http', async (t) => {
  t.equal(problem({ returnUrl: 'https://shop.example/thanks?a=b' }), undefined)
  t.equal(problem({ returnUrl: 'http://shop.example/', sandbox: true }), undefined)
  t.match(problem({ returnUrl: 'http://shop.example/' }), /must start with https/)
  t.match(problem({ returnUrl: 'javascript:alert(1)', sandbox: true }), /must start with https:\/\/ or http/)
  t.match(problem({ returnUrl: 'https://user:secret@shop.example/' }), /must not carry a user name or password/)
  t.match(problem({ returnUrl: 'no url' }), /is not a URL/)
  t.match(problem({ returnUrl: `https://shop.example/${'x'.repeat(2048)}` }), /is not a URL/)
})

t.test('a frame ancestor is an origin that cannot start another directive; there are at most twenty', async (t) => {
  t.equal(problem({ frameAncestors: ['https://shop.example', 'https://www.shop.example:8443'] }), undefined)
  const wrong = ['https://shop.example/', 'https://SHOP.example', 'https://a;b.example', "'self'", '*', 'https://']
  for (const origin of wrong) t.match(problem({ frameAncestors: [origin] }), /must be an origin/, origin)
  t.match(problem({ frameAncestors: ['http://shop.example'] }), /must start with https/)
  const origins = Array.from({ length: 21 }, (_, n) => `https://shop-${n}.example`)
  t.equal(problem({ frameAncestors: origins.slice(1) }), undefined)
  t.match(problem({ frameAncestors: origins }), /At most 20 origins/)
})

t.test('the smallest amount must not exceed the largest', async (t) => {
  t.equal(problem({ minAmountMinor: 500n, maxAmountMinor: 500n }), undefined)
  t.match(problem({ minAmountMinor: 500n, maxAmountMinor: 499n }), /must not be above/)
})

t.test('instructions are for manual methods of the catalogue, one each, without hidden characters', async (t) => {
  const method = (code: number, paidBy: PaymentMethod['paidBy']): PaymentMethod => ({
    ...{ code, paidBy, name: `Method ${code}`, kinds: ['deposit'] },
    ...{ minAmountMinor: 1n, maxAmountMinor: 100n },
  })
  const methods = [method(1, 'wallet'), method(2, 'manual')]
  const instructed = (...texts: [paymentMethod: number, text: string][]) =>
    paymentInstructionsProblem(
      texts.map(([paymentMethod, text]) => ({ paymentMethod, text })),
      methods,
    )
  t.equal(instructed(), undefined)
  t.equal(instructed([2, 'IBAN TR33\nName: Shop']), undefined)
  t.match(instructed([1, 'by wallet']), /1 is no manual payment method/)
  t.match(instructed([3, 'unknown']), /3 is no manual payment method/)
  t.match(instructed([2, 'a'], [2, 'b']), /twice/)
  t.match(instructed([2, ' \n ']), /must be 1 to 2000 characters/)
  t.match(instructed([2, 'x'.repeat(2_001)]), /must be 1 to 2000 characters/)
  t.match(instructed([2, 'IBAN \u202eTR33']), /direction-changing/)
})

t.test('rejects a new setting outside its bounds, and names it', async (t) => {
  t.equal(givenSettingsProblem({}), undefined)
  const fine = { name: 'Shop', rateLimitPerSecond: 1, depositExpiryMinutes: 1440, mismatchToleranceMinor: 0n }
  t.equal(givenSettingsProblem({ ...fine, manualControlAboveMinor: null, minAmountMinor: 1n }), undefined)
  const wrong: readonly [Partial<MerchantSettings>, RegExp][] = [
    [{ name: ' ' }, /1 to 128 characters/],
    [{ name: 'x'.repeat(129) }, /1 to 128 characters/],
    [{ name: 'Shop\u202e' }, /direction-changing/],
    [{ returnUrl: 'https://shop.example/\u200b' }, /invisible/],
    [{ rateLimitPerSecond: 0 }, /from 1 to 100000/],
    [{ rateLimitPerSecond: 1.5 }, /whole number/],
    [{ depositExpiryMinutes: 14 }, /from 15 to 1440/],
    [{ mismatchToleranceMinor: -1n }, /not be below 0/],
    [{ manualControlAboveMinor: 0n }, /above 0/],
    [{ maxAmountMinor: 100_000_000_000_000n }, /at most 999999999999.99/],
  ]
  for (const [given, message] of wrong) {
    t.match(givenSettingsProblem(given), { setting: Object.keys(given)[0], message }, `${message}`)
  }
})
