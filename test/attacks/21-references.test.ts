import { hash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { escapeHidden, isVisible } from '../../src/kernel/text.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app } = service
const { webApiKey: key, secretKey } = await service.merchant()
const kinds = ['native', 'withdrawal'] as const
type Kind = (typeof kinds)[number]

const create = (kind: Kind, referenceId: string, amount = '100.50') =>
  post(app, paths[kind], createBody(kind, secretKey, { referenceId }, amount), { key })

async function found(referenceId: string) {
  const url = `/v1/transfers?referenceId=${encodeURIComponent(referenceId)}`
  const response = await app.inject({ url, headers: { webapikey: key } })
  return response.json<{ items: readonly { readonly referenceId: string; readonly kind: string }[] }>().items
}

/** Any text whose length is counted in characters, of which some have two UTF-16 units. */
const printable = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((text) => isVisible(text) && text.trim() !== '' && Array.from(text).length <= 128)

t.test('any printable text is a referenceId of either kind, is found by it, and identifies one transfer', async () => {
  await fc.assert(
    fc.asyncProperty(printable, fc.constantFrom(...kinds), async (referenceId, kind) => {
      const created = await create(kind, referenceId, kind === 'native' ? '100.50' : '70')
      const repeated = await create(kind, referenceId, kind === 'native' ? '100.50' : '70')
      const items = await found(referenceId)
      const kindOf = kind === 'native' ? 'deposit' : 'withdrawal'
      if (created.statusCode !== 200) throw new Error(created.body)
      if (created.json().result.referenceId !== referenceId) throw new Error('changed in the response')
      if (repeated.body !== created.body) throw new Error('a repeat got a different response')
      if (items.filter((each) => each.kind === kindOf && each.referenceId === referenceId).length !== 1)
        throw new Error(`not found by ${referenceId}`)
    }),
    { numRuns: 150 },
  )
})

t.test('accepts characters that other formats escape', async (t) => {
  const texts = [
    'a b',
    'Sipariş 12/7',
    '../..',
    '=1+1',
    '"; --',
    'a,b;c',
    '<b>&amp;',
    '%2e%2e',
    'ödeme №5',
    '支付-1',
    '😀',
  ]
  for (const referenceId of [...texts, '.5', '1.5', 'x'.repeat(128), '😀'.repeat(128)]) {
    const response = await create('native', referenceId)
    t.equal(response.statusCode, 200, referenceId)
    t.match(await found(referenceId), [{ referenceId }])
  }
})

t.test('rejects hidden characters, halves of characters and texts of more than 128 characters', async (t) => {
  const hidden = ['\u202e', '\u200b', '\u2066', '\ufeff', '\u00ad', '\ud800', '\udc00', '\u0000', '\n', '\u2028']
  for (const referenceId of [...hidden.map((each) => `a${each}b`), 'x'.repeat(129), '😀'.repeat(129), ' ', '']) {
    for (const kind of kinds) {
      const response = await create(kind, referenceId)
      t.equal(response.statusCode, 400, escapeHidden(referenceId))
      t.match(response.json(), { error: { validationErrors: [{ members: ['referenceId'] }] } })
    }
  }
})

t.test('no two accepted requests share a preimage, although a referenceId may begin like an amount', async (t) => {
  const merchant = await service.merchant()
  const owners = new Map<string, string>()
  const amount = fc.constantFrom('1', '12', '1.2', '1.23', '12.3', '123', '1.0', '1.00', '12.30')
  const reference = fc.stringMatching(/^[.0123é]{1,4}$/)
  await fc.assert(
    fc.asyncProperty(amount, reference, fc.constantFrom(...kinds), async (amountText, referenceId, kind) => {
      const body = createBody(kind, merchant.secretKey, { referenceId }, amountText)
      const response = await post(app, paths[kind], body, { key: merchant.webApiKey })
      if (response.statusCode === 409) return
      if (response.statusCode !== 200) throw new Error(response.body)
      const preimage = hash('md5', merchant.secretKey + amountText + referenceId)
      const request = `${kind} ${Number(amountText)} ${referenceId}`
      if ((owners.get(preimage) ?? request) !== request) throw new Error(`${request} has the hash of another request`)
      owners.set(preimage, request)
    }),
    { numRuns: 400 },
  )
  t.ok(owners.size > 20)
})

t.test('the hash of an accepted repeat in another form of the amount creates no other transfer', async (t) => {
  const merchant = await service.merchant()
  const create = (kind: (typeof kinds)[number], amountText: string, referenceId: string) =>
    post(app, paths[kind], createBody(kind, merchant.secretKey, { referenceId }, amountText), {
      key: merchant.webApiKey,
    })
  t.equal((await create('withdrawal', '1', '00')).statusCode, 200)
  t.equal((await create('withdrawal', '1.0', '00')).statusCode, 200)
  const other = await create('native', '1.00', '0')
  t.equal(other.statusCode, 409)
  t.match(other.json(), { error: { code: 40902 } })
})
