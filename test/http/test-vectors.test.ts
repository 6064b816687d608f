import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { webhookSignature } from '../../src/callbacks/deliver/callback-signing.js'
import { callbackBody } from '../../src/domain/callback.js'
import { formatTwoDecimals, parseAmount } from '../../src/domain/money.js'
import { hashedAmountText } from '../../src/http/merchant-api/create-request.js'
import { isSignatureValid } from '../../src/http/server/request-signature.js'
import { hashCode } from '../../src/security/api-keys.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

interface Vector {
  readonly amount: string
  readonly hashed: string
  readonly referenceId: string
  readonly hashCode: string
}
/** The public vectors, which the clients of merchants in every language are tested with, too. */
interface Vectors {
  readonly secretKey: string
  readonly webhookSecret: string
  readonly amounts: {
    readonly accepted: readonly { readonly minorUnits: string; readonly amount: string }[]
    readonly rejected: readonly string[]
  }
  readonly hashCodes: { readonly accepted: readonly Vector[]; readonly rejected: readonly Vector[] }
  readonly signatures: readonly {
    readonly name: string
    readonly method: string
    readonly path: string
    readonly timestampSeconds: number
    readonly body: string
    readonly signature: string
  }[]
  readonly callbacks: readonly {
    readonly name: string
    readonly headers: { readonly [name: string]: string }
    readonly body: string
    readonly result: string
  }[]
}

const vectors: Vectors = JSON.parse(await readFile('sdks/test-vectors.json', 'utf8'))
const { accepted, rejected } = vectors.hashCodes

function check({ amount, referenceId, hashCode }: Vector, secrets = [vectors.secretKey]) {
  const amountMinor = parseAmount(amount)
  if (amountMinor === undefined) throw new Error(`invalid amount: ${amount}`)
  return hashedAmountText({ hashCode, referenceId, amountMinor, amountText: amount }, secrets)
}

t.test('accepts every published vector, in upper and lower case, and returns the hashed text', async (t) => {
  for (const vector of accepted) {
    t.equal(check(vector), vector.hashed, `${vector.amount} hashed as ${vector.hashed}`)
    t.equal(check({ ...vector, hashCode: vector.hashCode.toLowerCase() }), vector.hashed)
    t.equal(check(vector, ['another', vectors.secretKey]), vector.hashed, 'the previous secret is accepted too')
    t.equal(check(vector, ['another']), undefined)
  }
})

t.test('rejects other forms of the number', async (t) => {
  for (const vector of rejected) t.equal(check(vector), undefined, `${vector.amount} hashed as ${vector.hashed}`)
})

t.test('lists the vectors in the documentation', async (t) => {
  const text = await readFile('docs/merchants/hash-code.md', 'utf8')
  for (const { amount, hashed, referenceId, hashCode } of accepted) {
    t.ok(
      text.includes(`| \`${amount}\` | \`${hashed}\` | \`${referenceId}\` | \`${hashCode}\` |`),
      `${amount} ${hashed}`,
    )
  }
  t.ok(text.includes(vectors.secretKey))
})

t.test('uses the raw text of the amount over HTTP, although JSON.parse discards it', async (t) => {
  const service = await startTestService()
  t.teardown(() => destroyTestService(service))
  const { secretKey } = await service.merchant()
  for (const amountText of ['100', '100.0', '100.00', '100.5', '100.50', '0.01', '999999.99']) {
    for (const change of [(hash: string) => hash, (hash: string) => hash.toLowerCase()]) {
      const body = JSON.parse(createBody('hosted', secretKey, {}, amountText))
      const text = JSON.stringify({ ...body, amount: '?', hashCode: change(body.hashCode) })
      const response = await post(service.app, paths.hosted, text.replace('"?"', amountText))
      t.equal(response.statusCode, 200, amountText)
      t.equal(response.json().amount, Number(amountText))
    }
  }
  for (const { amount, hashed, referenceId } of accepted.filter(({ referenceId }) => /\P{ASCII}/u.test(referenceId))) {
    const body = { ...JSON.parse(createBody('hosted', secretKey, {}, amount)), referenceId }
    const [utf8, latin1] = (['utf8', 'latin1'] as const).map((encoding) =>
      createHash('md5').update(`${secretKey}${hashed}${referenceId}`, encoding).digest('hex'),
    )
    const create = (code?: string) => post(service.app, paths.hosted, JSON.stringify({ ...body, hashCode: code }))
    t.equal((await create(latin1)).json().success, false)
    const created = await create(utf8)
    t.match([created.statusCode, created.json().referenceId], [200, referenceId])
  }
})

t.test('accepts and rejects the amounts of the vectors', async (t) => {
  const largest = 12 + '.00'.length
  for (const { minorUnits, amount } of vectors.amounts.accepted) {
    t.equal(formatTwoDecimals(BigInt(minorUnits)), amount)
    // The clients are exact beyond the largest amount of a transfer.
    t.equal(parseAmount(amount), amount.length > largest ? undefined : BigInt(minorUnits), amount)
  }
  for (const amount of vectors.amounts.rejected) t.equal(parseAmount(amount), undefined, amount)
})

t.test('accepts the signatures of requests, and none of a different body, path, time or key', async (t) => {
  t.ok(vectors.signatures.length > 3)
  for (const { name, method, path, timestampSeconds, body, signature } of vectors.signatures) {
    const request = {
      method,
      url: path,
      rawBody: body,
      headers: { 'x-signature': signature },
      routeOptions: { url: path },
    }
    const isValid = (changes: object, keys = [vectors.secretKey], atSeconds = timestampSeconds) =>
      isSignatureValid({ ...request, ...changes } as unknown as FastifyRequest, keys, atSeconds * 1000)
    t.ok(isValid({}), name)
    t.notOk(isValid({ rawBody: `${body} ` }), name)
    t.equal(isValid({ url: `${path}/` }), !path.startsWith('/v1/'), name)
    t.notOk(isValid({}, ['another']), name)
    t.notOk(isValid({}, [vectors.secretKey], timestampSeconds + 301), name)
  }
})

t.test('sends callbacks exactly as in the vectors', async (t) => {
  const sent = vectors.callbacks.filter(({ name }) => /^(a genuine|an amount|characters|a different)/.test(name))
  t.ok(sent.length > 4)
  for (const { name, headers, body } of sent) {
    const callback = JSON.parse(body)
    const minor = (field: string) =>
      BigInt(
        new RegExp(`"${field}":([\\d.]+)`)
          .exec(body)![1]!
          .replace(/^(\d+)(?:\.(\d+))?$/, (_, whole, decimals = '') => whole + decimals.padEnd(2, '0')),
      )
    const payload = {
      status: callback.Status,
      referenceId: callback.RefereneceId,
      message: callback.Message,
      amountMinor: minor('Amount'),
      transactionAmountMinor: minor('TransactionAmount'),
      hasAmountMismatch: callback.HasAmountMismatch,
      receiptUrl: null,
    }
    const hashed = (amount: string, referenceId: string) => hashCode(vectors.secretKey, amount, referenceId)
    t.equal(callbackBody(payload, callback.TrackingId, hashed), body, name)
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
    t.equal(webhookSignature([vectors.webhookSecret], id!, Number(timestamp), body), signature, name)
  }
})
