import type { CreateKind } from '../../support/test-service.js'
import { context, type Dashboard } from './dashboard-service.js'

/** A transfer in every state that pages tell apart; their trackingIds by what they are. */
export async function everyState({ service, create, listed, as }: Dashboard) {
  const { transfers } = service
  const made = async (kind: CreateKind, amount: string) => create(kind, amount, { name: 'Ada Lovelace' })
  const settled = async (trackingId: string, change: (trackingId: string) => Promise<unknown>) => {
    await change(trackingId)
    await listed(trackingId)
    return trackingId
  }
  const operator = await as('operator')
  return {
    pending: await made('native', '10.00'),
    completed: await settled(await made('native', '20.00'), (id) => transfers.complete(id, {}, context)),
    mismatch: await settled(await made('native', '30.00'), (id) =>
      transfers.complete(id, { transactionAmountMinor: 25_00n, reason: 'so it came' }, context),
    ),
    manual: await settled(await made('native', '40.00'), (id) =>
      transfers.changeStatus(id, 'SendToManualControl', 'to be looked at', context),
    ),
    late: await settled(await made('native', '50.00'), async (id) => {
      await transfers.changeStatus(id, 'Cancel', 'expired', context)
      await transfers.receiveFunds(id, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    }),
    failed: await settled(await made('withdrawal', '60.00'), (id) =>
      transfers.changeStatus(id, 'Fail', 'no such account', context),
    ),
    waiting: await made('withdrawal', '70.00'),
    claimed: await settled(await made('withdrawal', '80.00'), async (id) => {
      const { status } = await operator.send('POST', `/transfers/${id}/claim`, { revision: 0 })
      if (status !== 200) throw new Error(`not claimed: ${status}`)
    }),
  }
}
