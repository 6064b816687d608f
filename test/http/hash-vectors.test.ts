import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { parseAmount } from '../../src/domain/money.js'
import { hashedAmountText } from '../../src/http/merchant-api/create-request.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

interface Vector {
  readonly amount: string
  readonly hashed: string
  readonly referenceId: string
  readonly hashCode: string
}
interface Vectors {
  readonly secretKey: string
  readonly accepted: readonly Vector[]
  readonly refused: readonly Vector[]
}

const vectors: Vectors = JSON.parse(await readFile('test/fixtures/hash-vectors.json', 'utf8'))

function check({ amount, referenceId, hashCode }: Vector, secrets = [vectors.secretKey]) {
  const amountMinor = parseAmount(amount)
  if (amountMinor === undefined) throw new Error(`invalid amount: ${amount}`)
  return hashedAmountText({ hashCode, referenceId, amountMinor, amountText: amount }, secrets)
}

t.test('accepts every published vector, in upper and lower case, and returns the hashed text', async (t) => {
  for (const vector of vectors.accepted) {
    t.equal(check(vector), vector.hashed, `${vector.amount} hashed as ${vector.hashed}`)
    t.equal(check({ ...vector, hashCode: vector.hashCode.toLowerCase() }), vector.hashed)
    t.equal(check(vector, ['another', vectors.secretKey]), vector.hashed, 'the previous secret is accepted too')
    t.equal(check(vector, ['another']), undefined)
  }
})

t.test('rejects other forms of the number', async (t) => {
  for (const vector of vectors.refused) t.equal(check(vector), undefined, `${vector.amount} hashed as ${vector.hashed}`)
})

t.test('lists the vectors in the documentation', async (t) => {
  const text = await readFile('docs/merchants/hash-code.md', 'utf8')
  for (const { amount, hashed, referenceId, hashCode } of vectors.accepted) {
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
  for (const { amount, hashed, referenceId } of vectors.accepted.filter(({ referenceId }) =>
    /\P{ASCII}/u.test(referenceId),
  )) {
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
