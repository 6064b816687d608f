import t from 'tap'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import {
  givenSettingsProblem,
  paymentInstructionsProblem,
  settingsProblem,
} from '../../src/domain/merchant/merchant-settings.js'
import type { PaymentMethod } from '../../src/domain/payment-method.js'
import type { RuleValues } from '../../src/domain/rule-values.js'
import type { RuleName } from '../../src/domain/rules.js'
import { settings } from './merchant-samples.js'

const problem = (changes: Partial<MerchantSettings>) =>
  settingsProblem({ ...settings, sandbox: false, ...changes })?.rule

t.test('a return URL must be https without credentials, and can be http in the sandbox', async (t) => {
  t.equal(problem({ returnUrl: 'https://shop.example/thanks?a=b' }), undefined)
  t.equal(problem({ returnUrl: 'http://shop.example/', sandbox: true }), undefined)
  t.match(problem({ returnUrl: 'http://shop.example/' }), 'url-not-https')
  t.match(problem({ returnUrl: 'javascript:alert(1)', sandbox: true }), 'url-not-http')
  t.match(problem({ returnUrl: 'https://user:secret@shop.example/' }), 'url-with-credentials')
  t.match(problem({ returnUrl: 'not a url' }), 'url-invalid')
  t.match(problem({ returnUrl: `https://shop.example/${'x'.repeat(2048)}` }), 'url-invalid')
})

t.test('a frame ancestor must be an origin without further directives, and there can be at most twenty', async (t) => {
  t.equal(problem({ frameAncestors: ['https://shop.example', 'https://www.shop.example:8443'] }), undefined)
  const wrong = ['https://shop.example/', 'https://SHOP.example', 'https://a;b.example', "'self'", '*', 'https://']
  for (const origin of wrong) t.match(problem({ frameAncestors: [origin] }), 'origin-invalid', origin)
  t.match(problem({ frameAncestors: ['http://shop.example'] }), 'url-not-https')
  const origins = Array.from({ length: 21 }, (_, n) => `https://shop-${n}.example`)
  t.equal(problem({ frameAncestors: origins.slice(1) }), undefined)
  t.match(problem({ frameAncestors: origins }), 'too-many-items')
})

t.test('the smallest amount must not exceed the largest', async (t) => {
  t.equal(problem({ minAmountMinor: 500n, maxAmountMinor: 500n }), undefined)
  t.match(problem({ minAmountMinor: 500n, maxAmountMinor: 499n }), 'min-above-max')
})

t.test('accepts one instruction without hidden characters for each manual method of the catalogue', async (t) => {
  const method = (code: number, paidBy: PaymentMethod['paidBy']): PaymentMethod => ({
    ...{ code, paidBy, name: `Method ${code}`, kinds: ['deposit'] },
    ...{ minAmountMinor: 1n, maxAmountMinor: 100n },
  })
  const methods = [method(1, 'wallet'), method(2, 'manual')]
  const instructionsProblem = (...texts: [paymentMethod: number, text: string][]) =>
    paymentInstructionsProblem(
      texts.map(([paymentMethod, text]) => ({ paymentMethod, text })),
      methods,
    )
  t.equal(instructionsProblem(), undefined)
  t.equal(instructionsProblem([2, 'IBAN TR33\nName: Shop']), undefined)
  t.match(instructionsProblem([1, 'by wallet']), { rule: 'method-not-manual', values: { method: 1 } })
  t.match(instructionsProblem([3, 'unknown']), { rule: 'method-not-manual', values: { method: 3 } })
  t.match(instructionsProblem([2, 'a'], [2, 'b']), { rule: 'instructions-repeated' })
  t.match(instructionsProblem([2, ' \n ']), { rule: 'instructions-length', values: { method: 2, most: 2000 } })
  t.match(instructionsProblem([2, 'x'.repeat(2_001)]), {
    rule: 'instructions-length',
    values: { method: 2, most: 2000 },
  })
  t.match(instructionsProblem([2, 'IBAN \u202eTR33']), {
    rule: 'instructions-hidden-characters',
    values: { method: 2 },
  })
})

t.test('rejects a setting outside its bounds and names it', async (t) => {
  t.equal(givenSettingsProblem({}), undefined)
  const valid = { name: 'Shop', rateLimitPerSecond: 1, depositExpiryMinutes: 20_160, mismatchToleranceMinor: 0n }
  t.equal(givenSettingsProblem({ ...valid, manualControlAboveMinor: null, minAmountMinor: 1n }), undefined)
  const wrong: readonly [Partial<MerchantSettings>, RuleName, RuleValues?][] = [
    [{ name: ' ' }, 'text-length', { most: 128 }],
    [{ name: 'x'.repeat(129) }, 'text-length', { most: 128 }],
    [{ name: 'Shop\u202e' }, 'hidden-characters'],
    [{ returnUrl: 'https://shop.example/\u200b' }, 'hidden-characters'],
    [{ rateLimitPerSecond: 0 }, 'whole-number', { least: 1, most: 100_000 }],
    [{ rateLimitPerSecond: 1.5 }, 'whole-number'],
    [{ depositExpiryMinutes: 14 }, 'whole-number', { least: 15, most: 20_160 }],
    [{ mismatchToleranceMinor: -1n }, 'too-small', { least: 0 }],
    [{ manualControlAboveMinor: 0n }, 'above', { limit: 0 }],
    [{ maxAmountMinor: 100_000_000_000_000n }, 'amount-too-large', { largest: 99_999_999_999_999n }],
  ]
  for (const [given, rule, values = {}] of wrong) {
    t.match(givenSettingsProblem(given), { field: Object.keys(given)[0], rule, values }, rule)
  }
})
