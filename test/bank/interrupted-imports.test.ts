import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { type BankEntryEvent, bankEntriesDecider } from '../../src/domain/bank/bank-entries.js'
import { streamPrefix } from '../../src/domain/streams.js'
import { evolve, initialState, type Transfer, type TransferState } from '../../src/domain/transfer/transfer.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { readEvent } from '../../src/event-store/read-event.js'
import { openTestEventStore } from '../support/event-store.js'
import { wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'

const program = fileURLToPath(new URL('./import-process.js', import.meta.url))

/** Runs the program until its end, or kills it after a number of lines. */
async function run(directory: string, seed: number, killedAfter = Number.POSITIVE_INFINITY): Promise<number> {
  const child = spawn(process.execPath, [program, directory, String(seed)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let lines = 0
  for await (const _ of createInterface({ input: child.stdout })) if (++lines === killedAfter) child.kill('SIGKILL')
  const [code] = await ended
  if (killedAfter === Number.POSITIVE_INFINITY && code !== 0) throw new Error(`the import ended with ${code}`)
  return lines
}

t.test('imports that are killed and repeated use each payment once, and lose none', async (t) => {
  let used = 0
  for (let seed = 1; seed <= (long ? 20 : 2); seed++) {
    const directory = tempDirectory(t)
    // The first store starts the server of the protocol, which outlives the programs.
    const store = await openTestEventStore(directory)
    // Kills between a payment's assignment and its effect, and after it.
    for (const killedAfter of [1 + (seed % 3), 4, 7]) await run(directory, seed, killedAfter)
    await Promise.all([run(directory, seed), run(directory, seed)])
    const log = await wholeLog(store)
    const states = new Map<string, TransferState>()
    const streams = new Map<string, ReturnType<typeof bankEntriesDecider.evolve>>()
    for (const recorded of log) {
      const event = readEvent(recorded)
      if (recorded.stream.startsWith(streamPrefix.transfer))
        states.set(recorded.stream, evolve(states.get(recorded.stream) ?? initialState, event as TransferEvent))
      if (recorded.stream.startsWith(streamPrefix.bankEntries)) {
        const before = streams.get(recorded.stream) ?? bankEntriesDecider.initialState
        streams.set(recorded.stream, bankEntriesDecider.evolve(before, event as BankEntryEvent))
      }
    }
    const transfers = new Map([...states.values()].map((state) => [(state as Transfer).trackingId, state as Transfer]))
    for (const { payment, uses } of [...streams.values()].flat().flatMap(({ payments }) => payments)) {
      t.ok(uses.length <= 1)
      for (const { trackingId, effect } of uses) {
        used++
        t.not(effect, null, 'no use is left unfinished')
        const matches = transfers
          .get(trackingId)!
          .bankPayments.filter((each) => each.bankPaymentId === payment.paymentId)
        t.equal(matches.length, 1, 'the transfer has it once')
      }
    }
    for (const { bankPayments } of transfers.values()) {
      for (const { bankPaymentId, effect } of bankPayments) {
        if (effect === 'rejected') continue
        const users = [...streams.values()]
          .flat()
          .flatMap(({ payments }) =>
            payments.filter(({ payment }) => payment.paymentId === bankPaymentId).flatMap(({ uses }) => uses),
          )
        t.equal(users.length, 1, 'and the payment names the transfer')
      }
    }
    await store.close()
  }
  t.ok(used > 5, `${used} payments were used`)
})
