import t, { type Test } from 'tap'
import { handleCommand } from '../../src/commands/handle-command.js'
import type { TransferAction } from '../../src/commands/transfer/transfer-requests.js'
import { paymentDecider } from '../../src/domain/payment.js'
import { paymentStream } from '../../src/domain/streams.js'
import type { Deposit } from '../../src/domain/transfer/transfer.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { startLinkedPayouts } from '../../src/processes/linked-payouts.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { transfersProjection } from '../../src/projections/transfers-projection.js'
import { WalletUnavailableError } from '../../src/wallet/wallet.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { testStores } from '../projections/stores.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }

/** Opens the stores with a deposit of 100.00 that the wallet account paid, and the running process. */
async function parts(t: Test, wallet: MemoryWallet) {
  const stores = await testStores(t)
  const settingsOf = async () => merchantSettings
  const transfers = transferCommands(stores.store, () => new Date().toISOString(), settingsOf)
  const { accountNumber } = wallet.open('ada@wallet.example', '123456', 0n)
  const created = await transfers.create({ ...depositRequest, paymentMethod: 1 }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId, merchantId } = created.transfer
  const at = new Date().toISOString()
  const challengeId = 'challenge'
  const login = { trackingId, merchantId, challengeId, at }
  const ending = { collectedAmountMinor: 100_00n, receiptUrl: null, reason: null }
  for (const command of [
    { type: 'LogIn', ...login, accountNumber },
    { type: 'VerifyCode', ...login },
    { type: 'StartCollection', ...login, amountMinor: 100_00n },
    { type: 'EndCollection', trackingId, merchantId, at, collection: 1, outcome: 'collected', ...ending },
  ] as const) {
    const result = await handleCommand(stores.store, paymentDecider, paymentStream(trackingId), command, context)
    if (!result.accepted) throw new Error(result.refusal.rule)
  }
  await transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 100_00n, receiptUrl: null }, context)
  const projections = startProjections(stores, [transfersProjection])
  const refunds = startLinkedPayouts({ ...stores, transfers, wallet })
  t.teardown(async () => {
    await refunds.stop()
    await projections.stop()
  })
  const depositOf = async () => (await transfers.find(trackingId))!.transfer as Deposit
  const stateOf = async () => (await depositOf()).refunds.at(-1)?.state
  return { transfers, trackingId, accountNumber, depositOf, stateOf }
}

t.test('a refund to the wallet credits the account once', async (t) => {
  const wallet = new MemoryWallet()
  let failures = 0
  wallet.before = (call) => {
    // The first credit succeeds without a response.
    if (call === 'refund' && failures++ === 0) throw new WalletUnavailableError('no response')
  }
  const { transfers, trackingId, accountNumber, depositOf, stateOf } = await parts(t, wallet)
  const refund = { type: 'RequestRefund', referenceId: 'refund-1', amountMinor: 30_00n, to: 'wallet' } as const
  t.match(await transfers.act(trackingId, refund, context), { accepted: true, changed: true })
  await until(async () => (await stateOf()) === 'returned')
  t.equal(wallet.accounts.get(accountNumber)?.balanceMinor, 30_00n)
  t.match(await depositOf(), { funds: { refundedMinor: 30_00n, returns: [{ amountMinor: 30_00n, receiptUrl: null }] } })
  t.match(await transfers.act(trackingId, { ...refund, referenceId: 'refund-2', amountMinor: 70_01n }, context), {
    refusal: { rule: 'refund-too-large' },
  })
})

t.test('a wallet account that can receive nothing', async (t) => {
  const wallet = new MemoryWallet()
  wallet.canCredit = false
  const { transfers, trackingId, depositOf, stateOf } = await parts(t, wallet)
  const refund = { type: 'RequestRefund', referenceId: 'refund-1', amountMinor: 30_00n, to: 'wallet' } as const
  await transfers.act(trackingId, refund, context)
  await until(async () => (await stateOf()) === 'refused')
  t.match(await depositOf(), { funds: { returns: [] } })
})

t.test('finishes refunds that a killed request did not continue', async (t) => {
  const stores = await testStores(t)
  const settingsOf = async () => merchantSettings
  const clock = () => new Date().toISOString()
  const transfers = transferCommands(stores.store, clock, settingsOf)
  let isKilled = false
  const store: EventStore = {
    ...stores.store,
    appendInOrder: async (appends) => {
      if (isKilled) throw new StoreUnavailableError('killed')
      const results = await stores.store.appendInOrder(appends)
      isKilled = true
      return results
    },
  }
  /** Appends only the first event of the action. */
  const interrupted = async (trackingId: string, action: TransferAction) => {
    isKilled = false
    await t.rejects(transferCommands(store, clock, settingsOf).act(trackingId, action, context))
  }
  const created = await transfers.create({ ...depositRequest, paymentMethod: 2 }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId } = created.transfer
  await transfers.act(trackingId, { type: 'Complete' }, context)
  const refund = { referenceId: 'refund-1', amountMinor: 30_00n, to: 'account', accountNumber: 'TR33' } as const
  await interrupted(trackingId, { type: 'RequestRefund', ...refund })
  const depositOf = async () => (await transfers.find(trackingId))!.transfer as Deposit
  const { refundId } = (await depositOf()).refunds[0]!
  t.equal(await transfers.find(refundId), undefined)
  const projections = startProjections(stores, [transfersProjection])
  const refunds = startLinkedPayouts({ ...stores, transfers, wallet: new MemoryWallet() })
  await until(async () => (await transfers.find(refundId)) !== undefined)
  await interrupted(refundId, { type: 'Complete' })
  t.match(await transfers.find(refundId), { transfer: { status: 'Completed' } })
  await until(async () => (await depositOf()).refunds[0]?.state === 'returned')
  await refunds.stop()
  await projections.stop()
})

t.test('continues every refund, although hundreds changed at the same time', async (t) => {
  const stores = await testStores(t)
  const clock = () => '2026-11-20T12:00:00.000Z'
  const settingsOf = async () => merchantSettings
  const interrupting: EventStore = {
    ...stores.store,
    appendInOrder: async (appends) => {
      if (appends.some(({ events }) => events.some(({ type }) => type === 'WithdrawalCreated')))
        throw new StoreUnavailableError('killed')
      return stores.store.appendInOrder(appends)
    },
  }
  const killed = transferCommands(interrupting, clock, settingsOf)
  const account = { amountMinor: 30_00n, to: 'account', accountNumber: 'TR33' } as const
  const request = async (n: number) => {
    const created = await killed.create({ ...depositRequest, referenceId: `d-${n}`, paymentMethod: 2 }, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    const { trackingId } = created.transfer
    await killed.act(trackingId, { type: 'Complete' }, context)
    const refund = { type: 'RequestRefund', referenceId: `refund-${n}`, ...account } as const
    await killed.act(trackingId, refund, context).catch(() => undefined)
    const { refunds } = (await killed.find(trackingId))!.transfer as Deposit
    return refunds[0]!.refundId
  }
  const ids = await Promise.all(Array.from({ length: 450 }, (_, n) => request(n)))
  const transfers = transferCommands(stores.store, clock, settingsOf)
  const projections = startProjections(stores, [transfersProjection])
  const refunds = startLinkedPayouts({ ...stores, transfers, wallet: new MemoryWallet() })
  const isCreated = async (id: string) => (await transfers.find(id)) !== undefined
  await until(async () => (await Promise.all(ids.map(isCreated))).every(Boolean))
  await refunds.stop()
  await projections.stop()
})
