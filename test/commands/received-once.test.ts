import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import {
  evolve,
  initialState,
  keptMinor,
  refundableMinor,
  returnedMinor,
  type TransferState,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { long } from '../support/long.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

const program = fileURLToPath(new URL('./money-process.js', import.meta.url))
const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }

interface Line {
  readonly trackingId?: string
  readonly payment?: string | null
  readonly done?: readonly string[]
}

/** Runs the program until its end, or kills it after a number of actions. */
async function run(directory: string, seed: number, actor: string, killedAfter = Number.POSITIVE_INFINITY) {
  const child = spawn(process.execPath, [program, directory, String(seed), actor], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines: Line[] = []
  for await (const text of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(text) as Line)
    if (lines.length === killedAfter) child.kill('SIGKILL')
  }
  await ended
  return lines
}

/** Checks the money of a transfer after every event. */
function checkMoney(t: Test, history: readonly Parameters<typeof evolve>[1][]): TransferState {
  let state: TransferState = initialState
  for (const event of history) {
    state = evolve(state, event)
    if (state.kind === 'none') throw new Error('no transfer')
    if (state.kind === 'withdrawal') {
      const [kept, returned, unsettled] = [keptMinor(state), returnedMinor(state), unsettledMinor(state)]
      const paid = state.status === 'Completed' ? state.transactionAmountMinor : 0n
      const isRight = paid === kept + returned && returned === state.resolvedMinor + unsettled
      if (!isRight || kept < 0n || unsettled < 0n) t.fail(`${event.type}: ${kept} and ${returned} of ${paid}`)
      continue
    }
    const { funds, status, transactionAmountMinor } = state
    const booked = status === 'Completed' ? transactionAmountMinor - funds.refundedMinor : 0n
    const held = unsettledMinor(state)
    const spent = booked + held + returnedMinor(funds) + funds.resolvedMinor
    if (funds.receivedMinor !== spent || held < 0n || refundableMinor(state) < 0n)
      t.fail(`${event.type}: ${funds.receivedMinor} is not ${spent}`)
  }
  return state
}

/** Finishes what killed writers left, and returns how many refunds were paid: exactly the completed withdrawals. */
async function checkRefunds(t: Test, transfers: TransferCommands, ids: readonly string[]): Promise<number> {
  let paid = 0
  for (const trackingId of ids) {
    await transfers.continuePayouts(trackingId, context)
    const { transfer } = (await transfers.find(trackingId))!
    if (transfer.kind === 'withdrawal') continue
    for (const { refundId, to, state, amountMinor } of transfer.refunds) {
      if (to !== 'account') continue
      const withdrawal = (await transfers.find(refundId))?.transfer
      t.match(withdrawal, { amountMinor, refundOf: trackingId })
      t.equal(state === 'returned', withdrawal?.status === 'Completed', 'a refund is returned if it was paid')
      t.equal(state === 'cancelled', withdrawal?.status === 'Cancelled')
      if (state === 'returned') paid++
    }
  }
  return paid
}

t.test(
  'writers that are killed and repeat everything record each payment and each return once, and the money adds up',
  async (t) => {
    let refunds = 0
    for (let seed = 1; seed <= (long ? 25 : 2); seed++) {
      const directory = tempDirectory(t)
      // The first store starts the server of the protocol, which outlives the writers.
      const store = await openTestEventStore(directory)
      const transfers = transferCommands(
        store,
        () => new Date().toISOString(),
        async () => merchantSettings,
      )
      const lines: Line[] = []
      for (const killedAfter of [7 + seed, 23, 41]) lines.push(...(await run(directory, seed, 'user:ada', killedAfter)))
      const both = await Promise.all([run(directory, seed, 'user:ada'), run(directory, seed, 'user:grace')])
      lines.push(...both.flat())
      const ids = both[0].at(-1)?.done ?? []
      t.equal(ids.length, 6)
      for (const trackingId of ids) {
        const history = (await transfers.history(trackingId)).map(({ event }) => event)
        const state = checkMoney(t, history)
        if (state.kind === 'none') throw new Error('no transfer')
        const { returns, payments } =
          state.kind === 'deposit' ? { ...state.funds, returns: [] } : { ...state, payments: [] }
        const recorded = [...payments, ...returns].map(({ reference }) => reference)
        t.equal(new Set(recorded).size, recorded.length, 'no payment or return is recorded twice')
        const accepted = lines.flatMap((line) => (line.trackingId === trackingId && line.payment ? [line.payment] : []))
        t.strictSame(
          [...new Set(accepted)].filter((each) => !recorded.includes(each)),
          [],
          'no accepted payment or return is lost',
        )
        t.ok(state.corrections.length === new Set(state.corrections.map(({ reference }) => reference)).size)
      }
      refunds += await checkRefunds(t, transfers, ids)
      await store.close()
    }
    t.ok(refunds > 2, `${refunds} refunds were paid`)
  },
)

t.test('a hundred simultaneous requests with ten references record ten payments', async (t) => {
  const directory = tempDirectory(t)
  const store = await openTestEventStore(directory)
  t.teardown(() => store.close())
  const transfers = transferCommands(
    store,
    () => new Date().toISOString(),
    async () => merchantSettings,
  )
  const created = await transfers.create({ ...depositRequest, paymentMethod: 2 }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId } = created.transfer
  const send = async (n: number) => {
    const payment = { receivedAmountMinor: 10_00n, reference: `FT-${n % 10}` }
    for (;;) {
      const attempt = transfers.act(trackingId, { type: 'ReceivePart', ...payment }, context).catch(() => undefined)
      const result = await attempt
      // Too many conflicts: the caller repeats the request.
      if (result) return result.accepted && result.changed
    }
  }
  const changed = await Promise.all(Array.from({ length: 100 }, (_, n) => send(n)))
  t.equal(changed.filter(Boolean).length, 10)
  const { transfer } = (await transfers.find(trackingId))!
  t.match(transfer, { status: 'Completed', transactionAmountMinor: 100_00n })
  t.equal((await transfers.history(trackingId)).length, 12, 'a creation, ten payments and one completion')
})
