import fc from 'fast-check'
import t from 'tap'
import { type BankEntries, entriesIdOf } from '../../src/domain/bank/bank-entries.js'
import { keptMinor, type Transfer } from '../../src/domain/transfer/transfer.js'
import { type BankDayDocument, collections } from '../../src/read-models/documents.js'
import { long } from '../support/long.js'
import { bankWorld } from './bank-world.js'
import { bankDays, bankTruth, statementIn, type TrueEntry } from './random-bank.js'

const families = ['camt', 'mt', 'csv'] as const

t.test('over random histories, money is used once and only for its own transfer, and the sums agree', async (t) => {
  const world = await bankWorld(t)
  const seen = { completed: 0, received: 0, returned: 0, rejected: 0, open: 0 }
  let run = 0
  let uncompleted = 0
  const plan = fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.nat(3)), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(1_000_000)), plan, async (stream, imports) => {
      run++
      // Each run has its own account, so that its entries are its own.
      const account = `TEST${run}`
      const number = (below: number) => stream.next().value! % below
      const withdrawals = await Promise.all(
        Array.from({ length: 4 }, async (_, n) => {
          const amountMinor = BigInt(50_00 + number(3) * 10_00)
          const trackingId = await world.withdrawal(`W-${run}-${n}`, amountMinor)
          return { trackingId, amountMinor, fileId: await world.bankFile([trackingId]) }
        }),
      )
      const deposits = await Promise.all(
        Array.from({ length: 4 }, async (_, n) => {
          const [referenceId, amountMinor] = [`ORDER-${7000 + run}-${n}`, BigInt(50_00 + number(3) * 10_00)]
          return { trackingId: await world.deposit(referenceId, amountMinor), referenceId, amountMinor }
        }),
      )
      const truth = bankTruth(number, withdrawals, deposits)
      const entriesOn = (day: number) => truth.entries.filter(({ entry }) => entry.date === bankDays[day])
      const importOf = (family: (typeof families)[number], entries: readonly TrueEntry[]) =>
        world.importRecords(
          statementIn(family, entries).map((each) => ('account' in each ? { ...each, account } : each)),
        )
      await world.importRecords(truth.rejections)
      for (const [family, day, part] of imports) {
        const some = entriesOn(day).filter(() => part === 0 || number(2) === 0)
        await importOf(families[family]!, some)
      }
      for (const day of [0, 1, 2]) await importOf('camt', entriesOn(day))
      for (const day of [0, 1, 2]) await importOf('mt', entriesOn(day))

      const groups = new Map<string, TrueEntry[]>()
      for (const each of truth.entries) {
        const id = entriesIdOf({ ...each.entry, accountId: account })
        groups.set(id, [...(groups.get(id) ?? []), each])
      }
      let openDebits = 0
      uncompleted = 0
      for (const [id, entries] of groups) {
        const { state } = (await world.bank.entries(id)) as { state: BankEntries }
        t.equal(state.length, entries.length, 'each entry is recorded once')
        for (const { payment, uses } of state.flatMap(({ payments }) => payments)) {
          t.ok(uses.length <= 1 && uses.every(({ effect }) => effect !== null), 'a payment is used once')
          for (const { trackingId } of uses) {
            const owners = entries.map(({ owner }) => owner)
            t.ok(owners.includes(trackingId), 'no transfer gets the money of another')
          }
          if (uses.length === 0) seen.open++
          if (uses.length === 0 && payment.direction === 'debit') openDebits++
        }
      }
      for (const { trackingId } of [...withdrawals, ...deposits]) {
        const { transfer } = (await world.transfers.find(trackingId))!
        checkTransfer(
          transfer,
          truth.entries.filter(({ owner }) => owner === trackingId),
        )
      }
      // A format without ids does not identify the new one of two equal payments to one account.
      t.ok(uncompleted <= openDebits, 'what the bank paid is completed, or a payment is open')
      await world.caughtUp(['bank-days'])
      const days = await world.readModels.collection(collections.bankDays).find({ accountId: account })
      for (const [n, date] of bankDays.entries()) {
        const day = days.find(({ _id }) => _id === `${account} ${date}`) as BankDayDocument | undefined
        for (const direction of ['credit', 'debit'] as const) {
          const booked = entriesOn(n).filter(({ entry }) => entry.direction === direction)
          const sum = booked.reduce((total, { entry }) => total + entry.amountMinor, 0n)
          const sums = day?.[direction]
          t.equal(sums?.booked ?? '0', String(sum), 'the day has what the bank booked')
          const { booked: _, ...parts } = sums ?? { booked: '0' }
          t.equal(
            Object.values(parts).reduce((total, each) => total + BigInt(each), 0n),
            sum,
            'and its parts add up',
          )
        }
      }
    }),
    { numRuns: long ? 200 : 8, ...(!long && { seed: 42 }) },
  )
  for (const [what, count] of Object.entries(seen)) t.ok(count > 0, what)

  function checkTransfer(transfer: Transfer, own: readonly TrueEntry[]) {
    const debits = own.filter(({ entry }) => entry.direction === 'debit')
    if (transfer.kind === 'withdrawal') {
      const back = own.filter(({ entry }) => entry.direction === 'credit')
      if (transfer.status === 'Completed') {
        seen.completed++
        t.ok(
          debits.some(({ entry }) => entry.amountMinor === transfer.transactionAmountMinor),
          'the bank paid it',
        )
        t.ok(keptMinor(transfer) >= 0n)
      } else if (debits.some(({ entry }) => entry.amountMinor === transfer.amountMinor)) uncompleted++
      t.ok(transfer.returns.length <= back.length, 'a return is recorded once')
      if (transfer.returns.length > 0) seen.returned++
      if (transfer.rejection) seen.rejected++
      return
    }
    const { payments, receivedMinor } = transfer.funds
    const stated = own.reduce((sum, { entry }) => sum + entry.amountMinor, 0n)
    t.ok(receivedMinor <= stated, 'no more is received than arrived')
    t.equal(
      receivedMinor,
      payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n),
    )
    if (receivedMinor > 0n) seen.received++
  }
})
