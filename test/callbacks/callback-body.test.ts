import { createHash, createHmac } from 'node:crypto'
import t from 'tap'
import { webhookSignature } from '../../src/callbacks/deliver/callback-signing.js'
import { callbackBody } from '../../src/domain/callback.js'
import { hashCode } from '../../src/security/api-keys.js'

const hashed = (amount: string, referenceId: string) => hashCode('sk_test', amount, referenceId)

const payload = {
  status: 2,
  referenceId: '42',
  message: null,
  amountMinor: 100_00n,
  transactionAmountMinor: 0n,
  hasAmountMismatch: false,
  receiptUrl: null,
}
const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'

t.test('the body has the ten fields of the specification, in the specified order and spelling', async (t) => {
  t.equal(
    callbackBody(payload, trackingId, hashed),
    '{"Status":2,"StatusDescription":"Completed","TrackingId":"0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10",' +
      '"RefereneceId":"42","HashCode":"E8B0A90C919CBB8B332FDEBDF6ACADE6","Message":null,"Amount":100,"TransactionAmount":0,' +
      '"HasAmountMismatch":false,"ReceiptUrl":""}',
  )
})

t.test('HashCode is the upper-case MD5 of the SecretKey, the Amount as sent and the RefereneceId', async (t) => {
  const vectors = [
    [100_00n, '42', '100', 'E8B0A90C919CBB8B332FDEBDF6ACADE6'],
    [100_50n, '42', '100.5', 'EFB19669D7DF7ADE89DCDF4C887A5359'],
    [1n, 'a-b_C', '0.01', '833BC56B2B960AF55AF498B4E2E38CA4'],
    [999_999_99n, 'ref', '999999.99', 'BADCFDD5980FC77F866E6935F232F5FA'],
  ] as const
  for (const [amountMinor, referenceId, printed, hash] of vectors) {
    const text = callbackBody({ ...payload, amountMinor, referenceId }, trackingId, hashed)
    t.match(text, `"Amount":${printed},`)
    t.equal(JSON.parse(text).HashCode, hash)
  }
})

t.test('an Amount that a receiver parses and prints gives the same hash, for any number of cents', async (t) => {
  for (let amountMinor = 1n; amountMinor < 100_000_000n; amountMinor = amountMinor * 3n + 7n) {
    const body = JSON.parse(callbackBody({ ...payload, amountMinor }, trackingId, hashed))
    const hash = createHash('md5').update(`sk_test${body.Amount}${body.RefereneceId}`).digest('hex').toUpperCase()
    t.equal(body.HashCode, hash, String(amountMinor))
    t.equal(body.Amount, Number(amountMinor) / 100)
  }
})

t.test('uses the specification’s names for all five statuses', async (t) => {
  const names = [1, 2, 3, 4, 5].map(
    (status) => JSON.parse(callbackBody({ ...payload, status }, trackingId, hashed)).StatusDescription,
  )
  t.strictSame(names, ['Pending', 'Completed', 'ManualControl', 'Cancelled', 'Failed'])
  t.throws(() => callbackBody({ ...payload, status: 6 }, trackingId, hashed))
})

t.test('escapes text that would end the JSON string', async (t) => {
  const message = '","Status":2,"x":"\u2028\\\n'
  const body = JSON.parse(callbackBody({ ...payload, status: 5, message }, trackingId, hashed))
  t.equal(body.Message, message)
  t.equal(body.Status, 5)
})

t.test('computes the signature of the example in the Standard Webhooks specification', async (t) => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const body = '{"test": 2432232314}'
  t.equal(
    webhookSignature([secret], 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, body),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

t.test('signs with both secrets during a rotation, the current one first', async (t) => {
  const [current, previous] = ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBB']
  const expected = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update('id.7.body')
      .digest('base64')
  t.equal(webhookSignature([current, previous], 'id', 7, 'body'), `v1,${expected(current)} v1,${expected(previous)}`)
})
