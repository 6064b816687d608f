import t from 'tap'
import { statusOf } from '../../src/domain/bank/bank-entries.js'
import { needsAttention } from '../../src/domain/transfer/transfer.js'
import { collections } from '../../src/read-models/documents.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { bankWorld, bankContext as context, entryOf, payeeAccount, statementOf } from './bank-world.js'

const idOf = (trackingId: string) => trackingId.replaceAll('-', '')
const paid = (trackingId: string, changes: object = {}) =>
  entryOf({ direction: 'debit', payment: { endToEndId: idOf(trackingId), account: payeeAccount }, ...changes })

t.test('a debit completes its withdrawal although another user produced the file, once', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.withdrawal('W-1')
  await world.bankFile([trackingId])
  const statement = statementOf([paid(trackingId, { bankReference: 'R1' })])
  const preview = await world.importRecords(statement, { mode: 'preview' })
  t.match(preview.counts, { certain: 1, applied: 0 })
  t.equal(await world.statusOf(trackingId), 'Pending', 'a preview changes nothing')
  const { counts, statements } = await world.importRecords(statement)
  t.match(counts, { certain: 1, applied: 1 })
  t.match(statements, [{ entries: 1, newEntries: 1, problems: [] }])
  const { transfer } = (await world.transfers.find(trackingId))!
  t.match(transfer, { status: 'Completed', transactionAmountMinor: 100_00n })
  t.match(transfer.bankPayments, [{ effect: 'completed', bankReference: 'R1', bookedOn: '2026-03-02' }])
  const again = await world.importRecords(statement)
  t.match([again.counts, again.statements[0]!.newEntries], [{ used: 1, applied: 0 }, 0])
})

t.test('a withdrawal that a user completed is confirmed, and a second payment of the bank stays open', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.withdrawal('W-1')
  await world.transfers.act(trackingId, { type: 'Complete' }, context)
  const first = paid(trackingId, { bankReference: 'R1' })
  const { payments } = await world.importRecords(statementOf([first, paid(trackingId, { bankReference: 'R2' })]))
  t.match(payments[0]!.results, [{ effect: 'confirmed' }])
  t.match(payments[1], { results: [], proposals: [{ isCertain: false, refusal: { rule: 'paid-before' } }] })
  const { paymentId } = payments[1]!.found.payment
  t.match(await world.bank.use(paymentId, trackingId, context), { accepted: false, refusal: { rule: 'paid-before' } })
  t.match(await world.bank.payment(paymentId), { uses: [] }, 'it is open again')
})

t.test('above the threshold, a debit needs the approval that any completion needs', async (t) => {
  const world = await bankWorld(t, { ...merchantSettings, approvalAboveMinor: 50_00n })
  const trackingId = await world.withdrawal('W-1')
  const statement = statementOf([paid(trackingId)])
  const { payments } = await world.importRecords(statement)
  t.match(payments, [{ results: [], proposals: [{ refusal: { rule: 'approval-needed' } }] }])
  t.equal(await world.statusOf(trackingId), 'Pending')
  await world.transfers.act(trackingId, { type: 'Approve' }, { ...context, actor: 'user:grace' })
  t.match((await world.importRecords(statement)).counts, { applied: 1 })
})

t.test('a file that the bank paid as one amount completes all of its withdrawals', async (t) => {
  const world = await bankWorld(t)
  const ids = [await world.withdrawal('W-1', 60_00n), await world.withdrawal('W-2', 40_00n)]
  const fileId = await world.bankFile(ids)
  const { counts } = await world.importRecords(statementOf([entryOf({ direction: 'debit', fileId })]))
  t.match(counts, { certain: 1, applied: 1 })
  for (const id of ids) t.equal(await world.statusOf(id), 'Completed')
})

t.test('a return is recorded after its debit in the same file, with its reason', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.withdrawal('W-1')
  await world.bankFile([trackingId])
  const returned = { reasonCode: 'AC04', reasonText: 'closed', originalEndToEndId: idOf(trackingId) }
  const back = entryOf({ bankReference: 'R2', payment: { returned } })
  const statement = statementOf([paid(trackingId, { bankReference: 'R1' }), back])
  t.match((await world.importRecords(statement, { mode: 'preview' })).counts, { certain: 2 })
  t.match((await world.importRecords(statement)).counts, { applied: 2 })
  const { transfer } = (await world.transfers.find(trackingId))!
  t.match(transfer, { status: 'Completed', returns: [{ amountMinor: 100_00n, reasonCode: 'AC04', reference: 'R2' }] })
})

t.test('a rejection makes the withdrawal need attention until it is released, and counts once', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.withdrawal('W-1')
  const fileId = await world.bankFile([trackingId])
  const status = {
    type: 'status',
    status: 'rejected',
    statusCode: 'RJCT',
    reasonCode: 'AC01',
    reasonText: 'wrong',
  } as const
  const records = [{ ...status, fileId, endToEndId: idOf(trackingId) }]
  t.match((await world.importRecords(records)).rejections, [{ isApplied: true }])
  const { transfer } = (await world.transfers.find(trackingId))!
  t.match(transfer, { status: 'Pending', rejection: { reasonCode: 'AC01', reasonText: 'wrong' } })
  t.ok(needsAttention(transfer))
  await world.importRecords(records)
  t.equal((await world.transfers.find(trackingId))!.transfer.bankPayments.length, 1)
  await world.transfers.act(trackingId, { type: 'Release' }, { ...context, actor: 'user:grace' })
  t.notOk(needsAttention((await world.transfers.find(trackingId))!.transfer))
})

t.test('a rejection of a whole file concerns each of its withdrawals', async (t) => {
  const world = await bankWorld(t)
  const ids = [await world.withdrawal('W-1'), await world.withdrawal('W-2')]
  const fileId = await world.bankFile(ids)
  const status = {
    type: 'status',
    status: 'rejected',
    statusCode: 'RJCT',
    reasonCode: 'AM04',
    reasonText: null,
  } as const
  await world.importRecords([{ ...status, fileId, endToEndId: null }])
  for (const id of ids) t.match((await world.transfers.find(id))!.transfer, { rejection: { reasonCode: 'AM04' } })
})

t.test('credits are received on their deposit, also in parts', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.deposit('ORDER-77812')
  const part = (amountMinor: bigint, bankReference: string) =>
    entryOf({ amountMinor, bankReference, payment: { remittance: ['Order 778', '12'] } })
  await world.importRecords(statementOf([part(60_00n, 'R1')]))
  t.equal(await world.statusOf(trackingId), 'Pending')
  await world.importRecords(statementOf([part(60_00n, 'R1'), part(40_00n, 'R2')]))
  const { transfer } = (await world.transfers.find(trackingId))!
  t.match(transfer, { status: 'Completed', transactionAmountMinor: 100_00n, funds: { receivedMinor: 100_00n } })
})

t.test("money that a user recorded with the bank's reference is confirmed, and not received again", async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.deposit('ORDER-77812')
  const receive = { type: 'ReceivePart', receivedAmountMinor: 60_00n, reference: 'R1' } as const
  await world.transfers.act(trackingId, receive, context)
  const entry = entryOf({ amountMinor: 60_00n, bankReference: 'R1', payment: { remittance: ['ORDER-77812'] } })
  const { payments } = await world.importRecords(statementOf([entry]), { mode: 'record' })
  t.match(await world.bank.use(payments[0]!.found.payment.paymentId, trackingId, context), { effect: 'confirmed' })
  t.match((await world.transfers.find(trackingId))!.transfer, { funds: { receivedMinor: 60_00n } })
})

t.test('unknown money stays open until a user explains it, and can be used afterwards', async (t) => {
  const world = await bankWorld(t)
  const statement = statementOf([entryOf({ payment: { name: 'Somebody', remittance: ['thanks'] } })])
  const { payments, counts } = await world.importRecords(statement)
  t.match(counts, { unknown: 1 })
  const { paymentId } = payments[0]!.found.payment
  t.match(await world.bank.explain(paymentId, 'capital', context), { accepted: true })
  t.match((await world.importRecords(statement)).counts, { explained: 1 })
  const trackingId = await world.deposit('ORDER-77812')
  t.match(await world.bank.use(paymentId, trackingId, context), { accepted: true, effect: 'received' })
  t.match(await world.bank.explain(paymentId, 'mistake', context), { refusal: { rule: 'bank-payment-used' } })
})

t.test('the rest of an entry without named payments can be explained, and the sums of the day agree', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.withdrawal('W-1', 60_00n)
  const { payments } = await world.importRecords(statementOf([entryOf({ direction: 'debit', fileId: 'other' })]))
  const { paymentId } = payments[0]!.found.payment
  t.match(await world.bank.use(paymentId, trackingId, context, 60_00n), { accepted: true, effect: 'completed' })
  t.match(await world.bank.use(paymentId, await world.withdrawal('W-2'), context), {
    refusal: { rule: 'bank-payment-too-small' },
  })
  t.match(await world.bank.explain(paymentId, 'paid by mistake', context), { accepted: true })
  t.equal(statusOf((await world.bank.payment(paymentId))!), 'explained')
  await world.caughtUp(['bank-days'])
  const [day] = await world.readModels.collection(collections.bankDays).find({})
  t.match(day, { debit: { booked: '10000', completed: '6000', explained: '4000', open: '0' } })
})

t.test('no payment is used for two transfers, also by two users at the same time', async (t) => {
  const world = await bankWorld(t)
  const ids = await Promise.all(['ORDER-77812', 'ORDER-77813', 'ORDER-77814'].map((each) => world.deposit(each)))
  const { payments } = await world.importRecords(statementOf([entryOf({ payment: { remittance: ['?'] } })]))
  const { paymentId } = payments[0]!.found.payment
  const results = await Promise.all(ids.map((id) => world.bank.use(paymentId, id, context)))
  t.equal(results.filter(({ accepted }) => accepted).length, 1)
  const held = await Promise.all(ids.map(async (id) => (await world.transfers.find(id))!.transfer))
  t.equal(held.filter((each) => each.kind === 'deposit' && each.funds.receivedMinor > 0n).length, 1)
})

t.test('a use that a process left is finished, for the user who began it', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.deposit('ORDER-77812')
  const { payments } = await world.importRecords(statementOf([entryOf({ payment: { remittance: ['?'] } })]))
  const { paymentId } = payments[0]!.found.payment
  const cut = new Proxy(world.transfers, {
    get(target, name) {
      if (name === 'matchBankPayment') return () => Promise.reject(new Error('killed'))
      const value = target[name as keyof typeof target]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const { BankCommands } = await import('../../src/commands/bank/bank-commands.js')
  const interrupted = new BankCommands(world.store, world.clock, world.bank.mac, cut)
  await t.rejects(interrupted.use(paymentId, trackingId, context), /killed/)
  t.match(await world.bank.explain(paymentId, 'x', context), { accepted: false }, 'it stays assigned')
  await world.bank.resume(paymentId, { ...context, actor: 'system:bank' })
  await world.bank.resume(paymentId, { ...context, actor: 'system:bank' })
  t.match((await world.transfers.find(trackingId))!.transfer, {
    status: 'Completed',
    funds: { receivedMinor: 100_00n },
  })
  const events = await world.transfers.history(trackingId)
  t.equal(events.at(-1)?.metadata.actor, context.actor)
})

t.test('statements with gaps or wrong sums are named', async (t) => {
  const world = await bankWorld(t)
  const balance = (amountMinor: bigint, date: string) => ({ amountMinor, currency: 'EUR', date })
  const day = (date: string, opening: bigint, closing: bigint) => [
    ...statementOf([entryOf({ date, payment: { remittance: [date] } })]).slice(0, -1),
    { type: 'statement-end', opening: balance(opening, date), closing: balance(closing, date) } as const,
  ]
  t.match((await world.importRecords(day('2026-03-02', 0n, 100_00n))).statements, [{ problems: [] }])
  t.match((await world.importRecords(day('2026-03-03', 100_00n, 200_00n))).statements, [{ problems: [] }])
  const gap = await world.importRecords(day('2026-03-05', 500_00n, 600_00n))
  t.match(gap.statements, [{ problems: [{ problem: 'gap', differenceMinor: 300_00n, after: '2026-03-03' }] }])
  const sum = await world.importRecords(day('2026-03-06', 600_00n, 710_00n))
  t.match(sum.statements, [{ problems: [{ problem: 'sum-differs', differenceMinor: 10_00n }] }])
  const filled = await world.importRecords(day('2026-03-04', 200_00n, 500_00n))
  t.match(
    filled.statements,
    [{ problems: [{ problem: 'sum-differs', differenceMinor: 200_00n }] }],
    'and the gap is closed',
  )
  t.match((await world.importRecords(day('2026-03-05', 500_00n, 600_00n))).statements, [{ problems: [] }])
})

t.test('pending entries and entries in another currency change nothing', async (t) => {
  const world = await bankWorld(t)
  const trackingId = await world.deposit('ORDER-77812')
  const entry = { payment: { remittance: ['ORDER-77812'] } }
  const { statements, counts } = await world.importRecords(
    statementOf([entryOf({ ...entry, status: 'pending' }), entryOf({ ...entry, currency: 'USD' })]),
  )
  t.match(statements, [{ entries: 1, pendingEntries: 1 }])
  t.match(counts, { unknown: 1 })
  t.equal(await world.statusOf(trackingId), 'Pending')
})

t.test('an account serves the merchants of the user who imported it first', async (t) => {
  const world = await bankWorld(t)
  await world.deposit('ORDER-77812')
  const statement = statementOf([entryOf({ payment: { remittance: ['ORDER-77812'] } })])
  const { counts } = await world.importRecords(statement, { merchantIds: ['another'] })
  t.match(counts, { unknown: 1 }, 'transfers of other merchants are not proposed')
  const { payments } = await world.importRecords(statement, { merchantIds: null })
  const own = await world.deposit('ORDER-77813')
  const used = await world.bank.use(payments[0]!.found.payment.paymentId, own, context)
  t.match(used, { accepted: false, refusal: { rule: 'bank-account-other-merchant' } })
  await t.rejects(world.importRecords(statement, { merchantIds: ['third'] }), /bank-account-forbidden/)
  t.match((await world.importRecords(statement)).counts, { unknown: 1 })
})
