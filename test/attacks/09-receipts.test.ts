import { createHash, randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { eraseCustomer } from '../../src/privacy/customer-erasure.js'
import { collections } from '../../src/read-models/documents.js'
import { receiptName } from '../../src/security/receipt-names.js'
import { signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'user:clerk', $correlationId: 'test', $causationId: 'test' }
const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app, readModels, transfers, secretBox } = service
const merchant = await service.merchant()
const operator = await signInAs(service, 'operator', [merchant.id])
const stored = readModels.collection(collections.receipts)

const newFile = () => Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(64)])
const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

async function upload(payload: Buffer): Promise<string> {
  const headers = {
    ...{ cookie: operator.cookie, origin: 'https://pay.example', 'x-csrf-token': operator.csrfToken },
    'content-type': 'application/pdf',
  }
  const response = await app.inject({ method: 'POST', url: '/dashboard/api/receipts', headers, payload })
  t.equal(response.statusCode, 200, response.body)
  return response.json<{ receiptUrl: string }>().receiptUrl
}

async function newDeposit(userId: string): Promise<string> {
  const body = createBody('hosted', merchant.secretKey, { userId })
  const response = await post(app, paths.hosted, body, { key: merchant.webApiKey })
  return response.json<{ trackingId: string }>().trackingId
}

async function completed(userId: string, receiptUrl: string): Promise<string> {
  const trackingId = await newDeposit(userId)
  t.match(await transfers.act(trackingId, { type: 'Complete', receiptUrl }, context), { accepted: true })
  return trackingId
}

const erase = (userId: string) =>
  eraseCustomer(service.http.privacy, { merchantId: merchant.id, userId }, 'requested', context)

t.test(
  'never sends bytes that are not those of the digest, nor a stored type, and no cache keeps a receipt',
  async (t) => {
    const bytes = newFile()
    const url = new URL(await upload(bytes)).pathname
    const _id = digestOf(bytes)
    const forge = (changes: object) =>
      stored.bulkWrite([{ updateOne: { filter: { _id }, update: { $set: { ...changes } } } }])
    await forge({ type: 'text/html' })
    const genuine = await app.inject(url)
    t.ok(genuine.rawPayload.equals(bytes))
    t.match(genuine.headers, { 'content-type': 'application/pdf', 'cache-control': 'private, no-store' })

    const other = newFile()
    for (const base64 of [other.toString('base64'), '', `${bytes.toString('base64').slice(4)}AAAA`]) {
      await forge({ base64 })
      const response = await app.inject(url)
      t.equal(response.json<{ error: { code: number } }>().error.code, 50002)
      t.notOk(response.rawPayload.includes(other))
    }
    t.match(service.logLines.at(-1) ?? '', /damaged/)
    await upload(bytes)
    t.ok((await app.inject(url)).rawPayload.equals(bytes), 'an upload repairs the stored file')
  },
)

t.test('accepts the address of a stored receipt exactly as it was issued, and any address elsewhere', async (t) => {
  const url = await upload(newFile())
  const unstored = receiptName(secretBox, digestOf(newFile()))
  const { pathname } = new URL(url)
  const bad = [
    `https://pay.example/receipts/${unstored}`,
    `${url.slice(0, -1)}${url.endsWith('a') ? 'b' : 'a'}`,
    `https://elsewhere.example${pathname}`,
    `http://pay.example${pathname}`,
    `https://pay.example${pathname.replace('/receipts/', '/%72eceipts/')}`,
    `${url}?page=1`,
    'https://pay.example/receipts/1',
  ]
  for (const receiptUrl of bad) {
    const trackingId = await newDeposit('u')
    const response = await operator.post(`/transfers/${trackingId}/complete`, { revision: 0, receiptUrl })
    t.equal(response.statusCode, 400, receiptUrl)
    t.match(response.json(), { error: { validationErrors: [{ rule: 'receipt-unknown' }] } }, receiptUrl)
  }
  for (const receiptUrl of [url, 'https://elsewhere.example/receipts/1', 'https://pay.example/other']) {
    const trackingId = await newDeposit('u')
    const response = await operator.post(`/transfers/${trackingId}/complete`, { revision: 0, receiptUrl })
    t.equal(response.statusCode, 200, response.body)
  }
})

t.test('an erasure deletes a file when, and only when, no other transfer names it', async (t) => {
  // Customers 0 to 2, and the file of each of their transfers.
  const uses = fc.array(fc.tuple(fc.nat(2), fc.nat(2)), { minLength: 1, maxLength: 5 })
  const order = fc.shuffledSubarray([0, 1, 2], { minLength: 3 })
  await fc.assert(
    fc.asyncProperty(uses, order, async (uses, order) => {
      const files = [newFile(), newFile(), newFile()]
      const urls = await Promise.all(files.map(upload))
      const users = order.map(() => randomUUID())
      for (const [user, file] of uses) await completed(users[user]!, urls[file]!)
      const erased = new Set<number>()
      for (const user of order) {
        await erase(users[user]!)
        erased.add(user)
        for (const [index, file] of files.entries()) {
          const named = uses.filter((use) => use[1] === index)
          const isKept = named.length === 0 || named.some(([user]) => !erased.has(user))
          if (((await stored.findOne({ _id: digestOf(file) })) !== null) !== isKept) return false
        }
      }
      return true
    }),
    { numRuns: 8 },
  )
  t.pass('for random uses and orders')
})

t.test('an erasure deletes a file that a later receipt replaced, and none that is only imitated', async (t) => {
  const [first, second, foreign] = [newFile(), newFile(), newFile()]
  const [firstUrl, secondUrl] = [await upload(first), await upload(second)]
  await upload(foreign)
  const userId = randomUUID()
  const trackingId = await newDeposit(userId)
  for (const [index, receiptUrl] of [firstUrl, secondUrl].entries()) {
    const received = { receivedAmountMinor: 100_50n, receiptUrl }
    t.match(await transfers.receiveFunds(trackingId, index + 1, received, context), { accepted: true })
  }
  t.match((await transfers.find(trackingId))!.transfer, { receiptUrl: secondUrl })
  // Recorded without the checks of HTTP.
  await completed(userId, `https://pay.example/receipts/${digestOf(foreign)}-${'a'.repeat(32)}`)
  t.match(await erase(userId), { accepted: true, transfers: 2, receipts: 2 })
  t.equal(await stored.findOne({ _id: digestOf(first) }), null)
  t.not(await stored.findOne({ _id: digestOf(foreign) }), null)
})
