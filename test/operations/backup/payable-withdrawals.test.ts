import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import t from 'tap'
import { MerchantCommands } from '../../../src/commands/merchant/merchant-commands.js'
import { transferStream } from '../../../src/domain/streams.js'
import { payableWithdrawals } from '../../../src/operations/backup/payable-withdrawals.js'
import { readConfiguration } from '../../../src/operations/configuration/configuration.js'
import { depositRequest, withdrawalRequest } from '../../domain/transfer-samples.js'
import { merchantSettings } from '../../support/merchant-requests.js'
import { temporaryDirectory } from '../../support/processes.js'
import { openTestLog } from '../../support/service-log.js'
import { transferCommands } from '../../support/transfer-commands.js'

const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }

t.test('reads the payable withdrawals without the master key, oldest first', async (t) => {
  const data = join(temporaryDirectory(t), 'data')
  const { eventStore, box, close } = await openTestLog(
    readConfiguration({ EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}` }),
  )
  let second = 0
  const clock = () => new Date(Date.UTC(2026, 10, 21, 10, 0, second++)).toISOString()
  const { id: merchantId } = await new MerchantCommands(eventStore, clock, box).register(merchantSettings, context)
  const transfers = transferCommands(eventStore, clock, async () => merchantSettings)
  const create = async (kind: 'deposit' | 'withdrawal') => {
    const own = { merchantId, referenceId: randomUUID(), amountMinor: 10_050n }
    const account = { accountNumber: 'DE89370400440532013000', identityNumber: '12345678901' }
    const created = await transfers.create(
      kind === 'deposit' ? { ...depositRequest, ...own } : { ...withdrawalRequest, ...own, ...account },
      context,
    )
    if (!created.accepted) throw new Error(created.refusal.rule)
    return created.transfer.trackingId
  }
  const [first, failed, erased, broken, last, deposit, brokenDeposit] = [
    await create('withdrawal'),
    await create('withdrawal'),
    await create('withdrawal'),
    await create('withdrawal'),
    await create('withdrawal'),
    await create('deposit'),
    await create('deposit'),
  ]
  await transfers.act(failed, { type: 'Fail', message: null }, context)
  await transfers.erasePersonalData(erased, context)
  await transfers.act(last, { type: 'SendToManualControl', message: null }, context)
  await transfers.act(deposit, { type: 'Complete' }, context)
  await close()
  const raw = await openEventLog({ directory: data, writerThread: false })
  for (const trackingId of [broken, brokenDeposit])
    await raw.append(transferStream(trackingId), 0, [{ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} }])
  await raw.close()

  const { currency, withdrawals, unreadable } = await payableWithdrawals(data)
  t.same(
    withdrawals.map(({ trackingId, status }) => [trackingId, status]),
    [
      [first, 'Pending'],
      [erased, 'Pending'],
      [last, 'ManualControl'],
    ],
  )
  t.same(unreadable, [transferStream(broken)], 'an unreadable deposit cannot be paid')
  t.equal(currency, 'TRY', 'the first start has recorded it')
})
