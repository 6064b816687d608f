import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { addMs, dayMs, minuteMs } from '../../src/kernel/time.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

let now = '2026-11-21T10:00:00.000Z'
const service = await startTestService({ clock: () => now })
t.teardown(() => destroyTestService(service))
const { app, transfers } = service
const { secretKey, webApiKey } = await service.merchant()
const lira = { code: 'TRY', decimals: 2 } as const
const [ada, bob, root] = ['user:ada', 'user:bob', 'cli:root'].map((actor) => ({
  ...{ actor, $correlationId: 'c', $causationId: 'c' },
}))
type Context = NonNullable<typeof ada>

async function withdrawal(...claimants: (Context | undefined)[]): Promise<string> {
  const created = await post(app, paths.withdrawal, createBody('withdrawal', secretKey), { key: webApiKey })
  const { trackingId } = created.json().result
  for (const each of claimants) await transfers.act(trackingId, { type: 'Claim' }, each!)
  return trackingId
}

/** With a reason, names the files in which the withdrawals are now. */
async function produce(context: Context, trackingIds: readonly string[], reason?: string, underClaim = true) {
  const records = (await Promise.all(trackingIds.map(filesOf))).flat()
  const repeat = reason === undefined ? undefined : { reason, files: records.map(({ messageId }) => messageId) }
  return transfers.produceBankFile({ format: 'csv', trackingIds, timeZone: 'UTC', repeat, underClaim }, lira, context)
}

const filesOf = async (trackingId: string) =>
  (await transfers.history(trackingId)).flatMap(({ event }) =>
    event.type === 'WithdrawalAddedToBankFile' ? [event.data] : [],
  )

t.test('a file is recorded on each of its withdrawals with its id and the digest of its bytes', async (t) => {
  const ids = [await withdrawal(ada), await withdrawal(ada)]
  const file = await produce(ada!, ids)
  if (!file.accepted) throw new Error('the file was refused')
  const sha256 = createHash('sha256').update(file.text).digest('hex')
  for (const id of ids)
    t.match(await filesOf(id), [{ by: ada!.actor, messageId: file.messageId, format: 'csv', sha256, reason: null }])
})

t.test('a second file needs a reason, and the refusal shows the first', async (t) => {
  const [one, two] = [await withdrawal(ada), await withdrawal(ada)]
  const first = await produce(ada!, [one])
  if (!first.accepted) throw new Error('the file was refused')
  const values = { by: ada!.actor, file: first.messageId, done: now }
  t.match(await produce(ada!, [one, two]), {
    problems: [{ rule: 'in-bank-file', values, transfer: { trackingId: one } }],
  })
  t.same(await filesOf(two), [], 'a refused file is recorded on none of its withdrawals')
  const second = await produce(ada!, [one, two], 'the bank rejected the first file')
  if (!second.accepted) throw new Error('the file was refused')
  t.not(second.messageId, first.messageId)
  t.match(await filesOf(one), [
    { reason: null },
    { messageId: second.messageId, reason: 'the bank rejected the first file' },
  ])
  t.match(await filesOf(two), [{ messageId: second.messageId, reason: null }])
})

t.test('of two files produced at the same time, only one contains the withdrawal', async (t) => {
  for (let n = 0; n < 10; n++) {
    const ids = [await withdrawal(), await withdrawal(), await withdrawal()]
    const files = await Promise.all(
      [ada, bob, root].map((each, at) => produce(each!, [ids[at]!, ids[2]!], undefined, false)),
    )
    t.equal(files.filter(({ accepted }) => accepted).length, 1)
    t.equal((await filesOf(ids[2]!)).length, 1)
    const others = await Promise.all(ids.map(async (id) => (await filesOf(id)).length))
    t.equal(
      others.reduce((sum, length) => sum + length, 0),
      2,
      'a refused file leaves no record',
    )
  }
})

t.test('the claim lasts until the withdrawal has ended or is released, and the file stays visible', async (t) => {
  const id = await withdrawal(ada)
  const file = await produce(ada!, [id])
  if (!file.accepted) throw new Error('the file was refused')
  now = addMs(now, 3 * dayMs)
  const held = { refusal: { rule: 'held-in-bank-file', values: { by: ada!.actor, file: file.messageId } } }
  t.match(await transfers.act(id, { type: 'Claim' }, bob!), held)
  t.match(await transfers.act(id, { type: 'Complete' }, root!), held)
  t.match(await transfers.act(id, { type: 'Release' }, bob!, { underClaim: true }), held)
  t.match(await transfers.act(id, { type: 'Release' }, ada!, { underClaim: true }), { changed: true })
  const shown = { transfer: { payout: { files: [{ messageId: file.messageId, by: ada!.actor }] } } }
  t.match(await transfers.find(id), shown)
  t.match(await transfers.act(id, { type: 'Claim' }, bob!), { changed: true, ...shown })
  const body = await app.inject({ url: `/v1/transfers/${id}`, headers: { webapikey: webApiKey } })
  t.match(body.json(), { claimedBy: bob!.actor, claimedUntil: null, bankFile: file.messageId })
  t.match(await produce(bob!, [id]), { problems: [{ rule: 'in-bank-file' }] })
  now = addMs(now, dayMs)
  t.match(await transfers.act(id, { type: 'Claim' }, ada!), { accepted: false })
  t.match(await transfers.act(id, { type: 'Release' }, root!), { changed: true }, 'the command line ends any claim')
  t.match(await transfers.act(id, { type: 'Claim' }, ada!), { changed: true })
  t.match(await transfers.act(id, { type: 'Complete' }, ada!, { underClaim: true }), { changed: true })
})

t.test('in any sequence, no withdrawal is in two files unless the second has a reason', async () => {
  const step = fc.record({
    by: fc.constantFrom(ada!, bob!, root!),
    does: fc.constantFrom('file', 'file', 'file repeat', 'Claim', 'Release', 'wait'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const id = await withdrawal()
      for (const { by, does } of steps) {
        if (does === 'wait') now = addMs(now, 20 * minuteMs)
        else if (does === 'Claim' || does === 'Release') await transfers.act(id, { type: does }, by)
        else await produce(by, [id], does === 'file' ? undefined : 'repeat', by !== root)
      }
      const [, ...later] = await filesOf(id)
      return later.every(({ reason }) => reason !== null)
    }),
    { numRuns: 40 },
  )
})
