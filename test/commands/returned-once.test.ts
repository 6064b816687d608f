import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import type { TransferAction } from '../../src/commands/transfer/transfer-requests.js'
import { keptMinor, returnedMinor } from '../../src/domain/transfer/transfer.js'
import { withdrawalRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
const store = await openTestEventStore(tempDirectory(t))
t.teardown(() => store.close())
let settings = merchantSettings
const transfers = transferCommands(
  store,
  () => new Date().toISOString(),
  async () => settings,
)

async function paid(referenceId: string): Promise<string> {
  const created = await transfers.create({ ...withdrawalRequest, referenceId }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId } = created.transfer
  await transfers.act(trackingId, { type: 'Complete' }, context)
  return trackingId
}
const back = (returnedAmountMinor: bigint, reference: string): TransferAction => ({
  ...{ type: 'ReturnPayout', returnedAmountMinor, reasonCode: 'AC04', reference },
})
async function send(trackingId: string, action: TransferAction) {
  for (;;) {
    const result = await transfers.act(trackingId, action, context).catch(() => undefined)
    // Too many conflicts: the caller repeats the request.
    if (result) return result
  }
}
async function returnsOf(trackingId: string) {
  return (await transfers.history(trackingId)).filter(({ event }) => event.type === 'WithdrawalReturned')
}

t.test('a hundred simultaneous records of one return give one event', async (t) => {
  const trackingId = await paid('one')
  const results = await Promise.all(Array.from({ length: 100 }, () => send(trackingId, back(60_00n, 'RT1'))))
  t.equal(results.filter((result) => result.accepted && result.changed).length, 1)
  t.ok(results.every((result) => result.accepted))
  t.equal((await returnsOf(trackingId)).length, 1)
})

t.test('a hundred simultaneous returns with different references never exceed the paid amount', async (t) => {
  const trackingId = await paid('many')
  const results = await Promise.all(Array.from({ length: 100 }, (_, n) => send(trackingId, back(30_00n, `RT${n}`))))
  t.equal(results.filter((result) => result.accepted && result.changed).length, 3)
  t.ok(results.every((result) => result.accepted || result.refusal.rule === 'payout-return-too-large'))
  const { transfer } = (await transfers.find(trackingId))!
  if (transfer.kind !== 'withdrawal') throw new Error('not a withdrawal')
  t.strictSame([returnedMinor(transfer), keptMinor(transfer)], [90_00n, 10_00n])
})

t.test('a repeat succeeds after later events than its caller saw, and a new return does not', async (t) => {
  const trackingId = await paid('later')
  const { revision } = (await transfers.find(trackingId))!
  const first = await transfers.act(trackingId, back(60_00n, 'RT1'), context, { revision })
  t.match(first, { accepted: true, changed: true })
  await transfers.act(trackingId, { type: 'ResolveAttention', reason: 'paid in cash' }, context)
  t.match(await transfers.act(trackingId, back(60_00n, ' RT1 '), context, { revision }), { changed: false })
  const second = await transfers.act(trackingId, back(40_00n, 'RT2'), context, { revision })
  t.match(second, { accepted: false, refusal: { rule: 'changed-meanwhile' } })
  const other = { ...context, actor: 'cli:grace' }
  const repeated = await transfers.act(trackingId, back(60_00n, 'RT1'), other)
  t.match(repeated, { accepted: false, refusal: { rule: 'done-before', values: { by: 'cli:ada' } } })
})

t.test('the event keeps whether the merchant wants a callback at that time', async (t) => {
  const trackingId = await paid('callback')
  await transfers.act(trackingId, back(10_00n, 'RT1'), context)
  settings = { ...settings, callbackOnMoney: true }
  await transfers.act(trackingId, back(10_00n, 'RT2'), context)
  t.match(await returnsOf(trackingId), [
    { event: { data: { callbackOnMoney: false } } },
    { event: { data: { callbackOnMoney: true } } },
  ])
})
