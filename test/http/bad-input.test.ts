import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { maxReferenceIdLength } from '../../src/domain/fields.js'
import { metadataLimits } from '../../src/domain/transfer/requested-fields.js'
import { hashCode } from '../../src/security/api-keys.js'
import { long } from '../support/long.js'
import { type CreateKind, createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app } = service
const { webApiKey: key, secretKey } = await service.merchant()
const contentTypes = ['application/json', 'application/json-patch+json']
const kinds = Object.keys(paths) as CreateKind[]

interface Refused {
  readonly error: { readonly code: number; readonly validationErrors: { members: string[] }[] | null }
}

async function refuses(t: Test, kind: CreateKind, body: string | Buffer, field: string, what = String(body)) {
  for (const contentType of contentTypes) {
    const response = await post(app, paths[kind], body, { key, contentType })
    const shown = what.slice(0, 80)
    t.equal(response.statusCode, 400, `${kind} ${contentType} ${shown}`)
    const { error } = response.json<Refused>()
    const members = error.validationErrors?.flatMap((each) => each.members) ?? []
    t.ok(members.includes(field), `${field} among ${members.join()} for ${shown}`)
  }
}

t.test('explains a rejected text in words instead of a pattern', async (t) => {
  const response = await post(app, paths.native, createBody('native', secretKey, { name: ' ' }), { key })
  t.match(response.json(), {
    error: {
      validationErrors: [{ message: 'name must not be blank or contain control characters.', members: ['name'] }],
    },
  })
})

t.test('reports each error in one message', async (t) => {
  const wrong: [string, unknown, string][] = [
    ['transactionType', '1', 'transactionType must be of type integer.'],
    ['transactionType', 1.5, 'transactionType must be of type integer.'],
    ['transactionType', 3, 'transactionType must be 1.'],
    ['paymentMethod', '1', 'paymentMethod must be of type integer.'],
    ['name', '', 'name must have at least 1 characters.'],
    ['name', null, 'name must be of type string.'],
    ['name', undefined, 'name is required.'],
    ['amount', '100', 'amount must be of type number.'],
    ['hashCode', 5, 'hashCode must be of type string.'],
  ]
  for (const [field, value, message] of wrong) {
    const response = await post(app, paths.native, createBody('native', secretKey, { [field]: value }), { key })
    t.same(response.json().error.validationErrors, [{ message, members: [field] }], message)
  }
  const identity = await post(app, paths.withdrawal, createBody('withdrawal', secretKey, { identityNumber: 7 }), {
    key,
  })
  t.match(identity.json(), {
    error: { validationErrors: [{ message: 'identityNumber must be of type string | null.' }] },
  })
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...Object.keys(invalidValues)), fc.jsonValue()), async (fields) => {
      const response = await post(app, paths.withdrawal, JSON.stringify({ amount: '1', ...fields }), { key })
      const members = response.json<Refused>().error.validationErrors?.flatMap((each) => each.members) ?? []
      return new Set(members).size === members.length
    }),
  )
})

t.test('rejects invisible characters in human-readable texts and names the field', async (t) => {
  const hidden = [
    '\u202e',
    '\u2066',
    '\u200e',
    '\u061c',
    '\u200b',
    '\u200d',
    '\u2060',
    '\ufeff',
    '\u00ad',
    '\u3164',
    '\u2028',
  ]
  for (const field of ['referenceId', 'userId', 'name', 'username', 'accountNumber', 'identityNumber']) {
    for (const character of hidden) {
      const body = createBody('withdrawal', secretKey, { [field]: `TR33${character}0006` })
      const response = await post(app, paths.withdrawal, body, { key })
      const message = `${field} must not contain characters that are not displayed as they are stored, such as control, invisible or direction-changing ones.`
      t.match(response.json(), { error: { code: 40001, validationErrors: [{ message, members: [field] }] } })
    }
  }
  for (const kind of ['hosted', 'native'] as const)
    await refuses(t, kind, createBody(kind, secretKey, { name: 'a\u202eb' }), 'name')
  await nothingWritten(t)
})

async function nothingWritten(t: Test) {
  t.same(await service.log(), [], 'no event is written')
}

t.test('names the amount if it is not a plain positive number with at most two decimals', async (t) => {
  const amounts = ['"100"', '1e2', '1E2', '100.0e0', '-1', '-0', '0', '0.0', '0.00', '0.001', '1e999', '1.005', 'null']
  for (const kind of kinds) {
    for (const amount of [
      ...amounts,
      'true',
      '[7]',
      '{}',
      '""',
      '01',
      '+1',
      '.5',
      '1.',
      'NaN',
      'Infinity',
      '1_0',
      '',
    ]) {
      const body = createBody(kind, secretKey).replace('"amount":100.50', `"amount":${amount}`)
      await refuses(t, kind, body, 'amount', `amount ${amount}`)
    }
    await refuses(t, kind, createBody(kind, secretKey).replace('"amount":100.50,', ''), 'amount', 'a missing amount')
    await refuses(t, kind, createBody(kind, secretKey, {}, '1000000'), 'amount', 'an amount above the bounds')
    await refuses(
      t,
      kind,
      createBody(kind, secretKey, {}, '9999999999999999999999'),
      'amount',
      'an amount far above the bounds',
    )
  }
  await nothingWritten(t)
})

const invalidValues: { readonly [field: string]: readonly unknown[] } = {
  userId: [undefined, null, 5, true, '', ' ', 'x'.repeat(129), [], {}, 'a\u0000b', 'a\nb', '\u0085', '\ud800', ['x']],
  name: [undefined, null, 5, '', '   ', '\u00a0\u2003', 'x'.repeat(129), {}, 'tab\t', '\udfff', { $ne: '' }],
  username: [undefined, null, 5, '', '  ', 'x'.repeat(129), [], '\u007f'],
  referenceId: [undefined, null, 5, '', ' ', 'x'.repeat(129), 'a\n', '\ud800', 'a\u0085', { $gt: '' }, ['x']],
  transactionType: [undefined, null, '1', 0, 3, 1.5, true, [1]],
  paymentMethod: [undefined, null, '1', 0, 99, -1, 1.5, true, [1], 1e300],
  hashCode: [null, 5, '', 'x'.repeat(32), 'a'.repeat(31), 'a'.repeat(33), 'a'.repeat(32), {}, ['a']],
  accountNumber: [undefined, null, 5, '', ' ', 'x'.repeat(65), {}, 'a\u0001'],
  identityNumber: [5, true, 'x'.repeat(65), {}, [], 'a\u0001'],
}

for (const kind of kinds) {
  t.test(`names each field of a ${kind} create that has a wrong or missing value`, async (t) => {
    for (const [field, values] of Object.entries(invalidValues)) {
      if (kind !== 'withdrawal' && (field === 'accountNumber' || field === 'identityNumber')) continue
      for (const value of values) {
        // The hash of a native create is optional, and null means absent.
        if (kind === 'native' && field === 'hashCode' && value === null) continue
        await refuses(
          t,
          kind,
          createBody(kind, secretKey, { [field]: value }),
          field,
          `${field} ${JSON.stringify(value)}`,
        )
      }
    }
    const otherType = kind === 'withdrawal' ? 1 : 2
    await refuses(t, kind, createBody(kind, secretKey, { transactionType: otherType }), 'transactionType')
    await nothingWritten(t)
  })
}

t.test('rejects a payment method of the other kind, and applies the limits of a payment method', async (t) => {
  await refuses(t, 'native', createBody('native', secretKey, { paymentMethod: 2 }), 'paymentMethod')
  await refuses(t, 'withdrawal', createBody('withdrawal', secretKey, { paymentMethod: 2 }, '0.99'), 'amount')
  await nothingWritten(t)
})

t.test('requires a hashCode for hosted deposits and withdrawals', async (t) => {
  for (const kind of ['hosted', 'withdrawal'] as const) {
    await refuses(t, kind, createBody(kind, secretKey, { hashCode: undefined }), 'hashCode')
  }
  await nothingWritten(t)
})

t.test('reports all errors in one response', async (t) => {
  const body = JSON.stringify({ amount: 0.001, userId: 7, referenceId: 'a\nb', transactionType: 2, paymentMethod: 99 })
  const response = await post(app, paths.withdrawal, body, { key })
  const members = response.json<Refused>().error.validationErrors?.flatMap((each) => each.members)
  const expected = ['accountNumber', 'amount', 'hashCode', 'name', 'paymentMethod', 'referenceId', 'userId', 'username']
  t.same(members?.sort(), expected)
})

t.test('rejects malformed bodies and names the nearest field', async (t) => {
  const body = createBody('native', secretKey)
  const duplicate = (field: string, value: string) => `${body.slice(0, -1)},"${field}":${value}}`
  await refuses(t, 'native', duplicate('amount', '7'), 'amount')
  await refuses(t, 'native', duplicate('userId', '"8412"'), 'userId')
  await refuses(t, 'native', duplicate('\\u0061mount', '7'), 'amount')
  await refuses(t, 'native', duplicate('extra', '{"a":1,"b":[{"c":1,"c":1}]}'), 'extra.b[0].c')
  await refuses(t, 'native', duplicate('__proto__', '{"admin":true}'), '__proto__')
  await refuses(t, 'native', duplicate('extra', '{"__proto__":1}'), 'extra.__proto__')
  await refuses(t, 'native', duplicate('\\u005f_proto__', '{}'), '__proto__')
  await refuses(t, 'native', duplicate('constructor', '{"prototype":{"admin":true}}'), 'constructor')
  await refuses(t, 'native', duplicate('deep', '['.repeat(25) + ']'.repeat(25)), 'deep')
  await refuses(t, 'native', duplicate('deep', '{"a":'.repeat(2000)), 'deep')
  await refuses(t, 'native', '['.repeat(8000), 'body')
  for (const broken of [
    '{',
    '{]',
    '{"amount":100',
    '[',
    'nonsense',
    "{'a':1}",
    '\u0000',
    '{"a":1}}',
    '{}{}',
    '"',
    '{"a',
  ]) {
    await refuses(t, 'native', broken, broken.includes('"amount') ? 'amount' : 'body')
  }
  for (const notAnObject of ['null', '5', '"x"', '[]', '[{}]', 'true', '']) {
    await refuses(t, 'native', notAnObject, 'body')
  }
  await refuses(t, 'native', Buffer.from([0x7b, 0xff, 0x7d]), 'body', 'invalid UTF-8')
  await refuses(t, 'native', Buffer.from(`\ufeff${body}`), 'body', 'a byte order mark')
  await nothingWritten(t)
})

t.test('names a nested field by its path', async (t) => {
  const id = randomUUID()
  const body = { callbacks: [{ trackingId: id, webhookId: id }, { trackingId: 7 }, { trackingId: '7', webhookId: id }] }
  const response = await post(app, '/v1/callbacks/resend', JSON.stringify(body), { key })
  t.match(
    [response.statusCode, response.json().error.validationErrors],
    [
      400,
      [
        { message: 'callbacks[1].webhookId is required.', members: ['callbacks[1].webhookId'] },
        { message: 'callbacks[1].trackingId must be of type string.', members: ['callbacks[1].trackingId'] },
        { message: /^callbacks\[2\]\.trackingId must match the pattern/, members: ['callbacks[2].trackingId'] },
      ],
    ],
  )
})

t.test('reads a create of 64 KiB, another body of 16 KiB, and rejects a larger one with 413', async (t) => {
  const padded = (body: string, bytes: number) => `${body.slice(0, -1)},"pad":"${'x'.repeat(bytes - body.length - 9)}"}`
  const [create, logIn] = [createBody('native', 'wrong secret'), JSON.stringify({ trackingId: randomUUID() })]
  for (const { path, body, kibibytes, code } of [
    { path: paths.native, body: create, kibibytes: 64, code: 40003 },
    { path: walletPaths.logIn, body: logIn, kibibytes: 16, code: 40001 },
  ]) {
    const largest = padded(body, kibibytes * 1024)
    t.equal(largest.length, kibibytes * 1024)
    t.equal((await post(app, path, largest, { key })).json().error.code, code)
    for (const bytes of [kibibytes * 1024 + 1, 1_000_000]) {
      const response = await post(app, path, padded(body, bytes), { key })
      t.equal(response.statusCode, 413)
      const message = `The request is larger than ${kibibytes} KiB.`
      const validationErrors = [{ message, members: ['body'] }]
      t.match(response.json(), { success: false, error: { code: 41301, details: message, validationErrors } })
    }
  }
  await nothingWritten(t)
})

t.test('reads the largest valid create, with every character as two escaped UTF-16 units', async (t) => {
  const text = (length: number) => '😀'.repeat(length)
  const { keys, keyLength, valueLength } = metadataLimits
  const metadata = Object.fromEntries(
    Array.from({ length: keys }, (_, n) => [
      `${text(keyLength - 1)}${String.fromCodePoint(0x1f600 + n)}`,
      text(valueLength),
    ]),
  )
  for (const kind of ['hosted', 'native', 'withdrawal'] as const) {
    const common = { userId: text(128), name: text(128), username: text(128), metadata }
    const payee = { accountNumber: text(64), identityNumber: text(64), name: 'Ada Lovelace' }
    const fields = { ...common, ...(kind === 'withdrawal' && payee), referenceId: text(maxReferenceIdLength) }
    const body = createBody(kind, 'wrong secret', fields).replace(
      /[\ud800-\udfff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
    )
    t.ok(body.length > 60_000, `${body.length} bytes`)
    t.equal((await post(app, paths[kind], body, { key })).json().error.code, 40003)
  }
  await nothingWritten(t)
})

t.test('rejects other content types with 415 in the envelope', async (t) => {
  for (const contentType of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'json',
    'multipart/form-data',
  ]) {
    const response = await post(app, paths.native, createBody('native', secretKey), { key, contentType })
    t.equal(response.statusCode, 415, contentType)
    t.match(response.json(), { result: null, success: false, error: { code: 41501 }, __abp: true })
  }
  await nothingWritten(t)
})

t.test('accepts any value of a field or names the field in a 400', async (t) => {
  const fields = ['userId', 'name', 'username', 'referenceId', 'transactionType', 'paymentMethod', 'accountNumber']
  const accepted = await startTestService()
  t.teardown(() => destroyTestService(accepted))
  const merchant = await accepted.merchant()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...kinds),
      fc.constantFrom(...fields, 'hashCode', 'identityNumber', 'amount'),
      fc.constantFrom(...contentTypes),
      fc.oneof(fc.jsonValue(), fc.string(), fc.double(), fc.constantFrom({ $ne: null }, { $gt: '' }, [7], '1e2')),
      async (kind, field, contentType, value) => {
        const body = createBody(kind, merchant.secretKey, { [field]: value })
        const response = await post(accepted.app, paths[kind], body, { key: merchant.webApiKey, contentType })
        if (response.statusCode === 200 || response.statusCode === 409) return
        const { error } = response.json<Refused>()
        const members = error.validationErrors?.flatMap((each) => each.members) ?? []
        // The hash does not match if the amount or referenceId differs from the hashed one.
        if (error.code === 40003) return members.includes('hashCode')
        // The JSON of the value can itself contain a rejected key.
        return response.statusCode === 400 && (members.includes(field) || error.code === 40002)
      },
    ),
    { numRuns: long ? 300 : 100 },
  )
})

t.test('never accepts two requests with the same hashCode preimage', async (t) => {
  const fresh = await startTestService()
  t.teardown(() => destroyTestService(fresh))
  const merchant = await fresh.merchant()
  const seen = new Map<string, string>()
  const amount = fc.constantFrom('1', '12', '1.2', '1.23', '123', '11', '112', '1.00', '12.00', '1.0')
  const reference = fc.stringMatching(/^[.0123]{1,4}$/)
  await fc.assert(
    fc.asyncProperty(amount, reference, fc.constantFrom(...kinds), async (amountText, referenceId, kind) => {
      const body = createBody(kind, merchant.secretKey, { referenceId }, amountText)
      const response = await post(fresh.app, paths[kind], body, { key: merchant.webApiKey })
      if (response.statusCode === 409) return
      const preimage = amountText + referenceId
      const pair = `${amountText} ${referenceId}`
      if (response.statusCode !== 200 || (seen.get(preimage) ?? pair) !== pair)
        throw new Error(`${pair} has the preimage of another accepted request`)
      seen.set(preimage, pair)
    }),
    { numRuns: long ? 400 : 150 },
  )
  t.ok(seen.size > 20, 'some requests are accepted')
  t.equal(hashCode('k', '1', '23'), hashCode('k', '12', '3'), 'different requests can have the same hash')
})
