import type { CreateKind } from '../../support/merchant-requests.js'
import { context, type Dashboard } from './dashboard-service.js'

/** Creates a transfer in every state that pages distinguish, and returns the trackingIds by state. */
export async function createEveryState({ service, create, listed, as }: Dashboard) {
  const { transfers } = service
  const created = async (kind: CreateKind, amount: string) => create(kind, amount, { name: 'Ada Lovelace' })
  const settled = async (trackingId: string, change: (trackingId: string) => Promise<unknown>) => {
    await change(trackingId)
    await listed(trackingId)
    return trackingId
  }
  const operator = await as('operator')
  return {
    pending: await created('native', '10.00'),
    completed: await settled(await created('native', '20.00'), (id) =>
      transfers.act(id, { type: 'Complete' }, context),
    ),
    mismatch: await settled(await created('native', '30.00'), (id) =>
      transfers.act(id, { type: 'Complete', transactionAmountMinor: 25_00n, reason: 'paid in part' }, context),
    ),
    manual: await settled(await created('native', '40.00'), (id) =>
      transfers.act(id, { type: 'SendToManualControl', message: 'needs review' }, context),
    ),
    late: await settled(await created('native', '50.00'), async (id) => {
      await transfers.act(id, { type: 'Cancel', message: 'expired' }, context)
      await transfers.receiveFunds(id, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    }),
    failed: await settled(await created('withdrawal', '60.00'), (id) =>
      transfers.act(id, { type: 'Fail', message: 'account not found' }, context),
    ),
    waiting: await created('withdrawal', '70.00'),
    claimed: await settled(await created('withdrawal', '80.00'), async (id) => {
      const { status } = await operator.send('POST', `/transfers/${id}/claim`, { revision: 0 })
      if (status !== 200) throw new Error(`the claim was rejected: ${status}`)
    }),
  }
}
