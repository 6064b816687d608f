import { openTestEventStore } from '../support/event-store.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

/**
 * Claims and completes the withdrawals that it is given, and prints each step: the program of payout-limits.test.ts. With `stop`, it ends
 * between the count of the first payout and the event of the transfer, as a process does that is killed there.
 */

const [directory = '', actor = '', stop = '', ...ids] = process.argv.slice(2)
const store = await openTestEventStore(directory)
const isStopping = stop === 'stop'
const transfers = transferCommands(
  {
    ...store,
    // One append after the other, as the protocol does it. The engine with one transaction writes both or none.
    async appendInOrder(appends) {
      if (!isStopping) return store.appendInOrder(appends)
      await store.appendInOrder(appends.slice(0, -1))
      process.kill(process.pid, 'SIGKILL')
      throw new Error('the process is killed')
    },
  },
  () => new Date().toISOString(),
  async () => ({
    ...merchantSettings,
    withdrawalLimits: [{ per: 'account', hours: 24, count: 3, amountMinor: null }],
  }),
)
const context = { actor, $correlationId: 'c', $causationId: 'c' }
for (const trackingId of ids) {
  const claimed = await transfers.act(trackingId, { type: 'Claim' }, context).catch(() => undefined)
  const completed = await transfers
    .act(trackingId, { type: 'Complete' }, context, { underClaim: true })
    .catch(() => undefined)
  const isPaid = completed?.accepted === true && completed.changed
  process.stdout.write(`${JSON.stringify({ trackingId, isClaimed: claimed?.accepted === true, isPaid })}\n`)
}
await store.close()
