import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { startPaymentRecovery } from '../../src/processes/payment-recovery.js'
import { collections } from '../../src/read-models/documents.js'
import { WalletOutcomeUnknownError, WalletUnavailableError } from '../../src/wallet/wallet.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

async function scene(t: Test) {
  const wallet = new MemoryWallet()
  const account = wallet.open('ada@example.com', '734219', 500_00n)
  let nowMs = Date.now()
  const service = await startTestService({ wallet, clock: () => new Date(nowMs).toISOString() })
  t.teardown(() => destroyTestService(service))
  const { id: merchantId } = await service.merchant()
  const { transfers, collections, store, readModels } = service

  /** Creates a deposit that is ready to be collected. */
  const verifiedDeposit = async () => {
    const own = { merchantId, referenceId: randomUUID(), amountMinor: 100_50n, channel: 'native' } as const
    const created = await transfers.create({ ...depositRequest, ...own }, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    const { transfer } = created
    const of = { trackingId: transfer.trackingId, merchantId, challengeId: randomUUID(), at: transfer.createdAt }
    const { accountNumber } = account
    await collections.execute(of, { type: 'LogIn', ...of, accountNumber }, context)
    await collections.execute(of, { type: 'VerifyCode', ...of }, context)
    return { transfer, ...of }
  }
  /** Creates a deposit whose process was killed during the payment, before or after the money was taken. */
  const interruptedPayment = async (when: 'before' | 'after') => {
    const { transfer, challengeId, trackingId } = await verifiedDeposit()
    const collect = wallet.collect.bind(wallet)
    wallet.collect = async (request) => {
      if (when === 'after') await collect(request)
      throw new Error('the process died')
    }
    await t.rejects(collections.pay(transfer, challengeId, context, await collections.load(trackingId)), /died/)
    wallet.collect = collect
    t.equal((await transferOf(trackingId)).status, 'Pending')
    return trackingId
  }
  const transferOf = async (trackingId: string) => (await transfers.find(trackingId))!.transfer
  const logger = pino({ level: 'silent' })
  const recovery = (graceMs: number, clock = () => new Date().toISOString()) => {
    const started = startPaymentRecovery({ store, readModels, payments: collections, clock, logger, graceMs })
    t.teardown(() => started.stop())
    return started
  }
  const until = async (holds: () => Promise<boolean>) => {
    for (let n = 0; n < 600 && !(await holds()); n++) await new Promise((resolve) => setTimeout(resolve, 100))
    t.ok(await holds(), 'the condition did not become true in time')
  }
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { ...service, wallet, account, verifiedDeposit, interruptedPayment, transferOf, recovery, until, pass }
}

t.test(
  'completes a deposit exactly once if its money was taken before a kill, regardless of repeated checks',
  async (t) => {
    const { collections, interruptedPayment, transferOf, transfers, account, wallet } = await scene(t)
    const trackingId = await interruptedPayment('after')
    await Promise.all(Array.from({ length: 8 }, () => collections.recover(trackingId, context)))
    t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 100_50n })
    await collections.recover(trackingId, context)
    t.same(
      (await transfers.history(trackingId)).map(({ event }) => event.type),
      ['DepositCreated', 'TransferCompleted'],
    )
    t.equal(account.balanceMinor, 399_50n)
    t.equal(wallet.collects, 1)
  },
)

t.test('repeats a missing collection if its absence is proven, and otherwise requests attention', async (t) => {
  const { collections, interruptedPayment, transferOf, account, wallet } = await scene(t)
  const withoutProof = await interruptedPayment('before')
  await collections.recover(withoutProof, context)
  t.match(await transferOf(withoutProof), { status: 'ManualControl', message: /did not confirm/ })
  t.equal(wallet.collects, 0, 'the wallet is not called again')
  wallet.absenceIsProof = true
  const withProof = await interruptedPayment('before')
  await collections.recover(withProof, context)
  t.match(await transferOf(withProof), { status: 'Completed' })
  t.equal(account.balanceMinor, 399_50n)
})

t.test('takes no money for an expired deposit, and lets it expire', async (t) => {
  const { collections, interruptedPayment, transferOf, transfers, wallet, pass } = await scene(t)
  wallet.absenceIsProof = true
  const trackingId = await interruptedPayment('before')
  pass(31 * 60_000)
  t.match(await transfers.expire(trackingId, context), { changed: false }, 'the deposit waits for the outcome')
  await collections.recover(trackingId, context)
  t.equal(wallet.collects, 0)
  t.match((await collections.load(trackingId)).state.collections, [{ outcome: 'not-taken' }])
  t.match(await transfers.expire(trackingId, context), { changed: true })
  t.match(await transferOf(trackingId), { status: 'Cancelled', message: 'expired' })
})

t.test('requests attention once for the money of a deposit that was cancelled in the meantime', async (t) => {
  const { collections, interruptedPayment, transferOf, transfers } = await scene(t)
  const trackingId = await interruptedPayment('after')
  await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  for (let n = 0; n < 3; n++) await collections.recover(trackingId, context)
  t.match(await transferOf(trackingId), { status: 'Cancelled', transactionAmountMinor: 100_50n })
})

t.test('requests attention for a deposit that was completed manually while the wallet also paid', async (t) => {
  const { collections, interruptedPayment, transferOf, transfers } = await scene(t)
  const trackingId = await interruptedPayment('after')
  await transfers.act(trackingId, { type: 'Complete' }, context)
  await collections.recover(trackingId, context)
  t.match(await transferOf(trackingId), {
    status: 'Completed',
    transactionAmountMinor: 100_50n,
    funds: { receivedMinor: 201_00n },
  })
})

t.test('records a collection that took money after the recovery had abandoned it', async (t) => {
  const { collections, verifiedDeposit, transferOf, wallet } = await scene(t)
  wallet.absenceIsProof = true
  const { transfer, challengeId, trackingId } = await verifiedDeposit()
  // This exceeds the recovery's time limit, as if the process had been paused.
  wallet.before = async (call) => {
    if (call !== 'collect') return
    wallet.before = () => {}
    const nothing = { collectedAmountMinor: 0n, receiptUrl: null, reason: null }
    await collections.execute(
      transfer,
      { type: 'EndCollection', collection: 1, outcome: 'not-taken', ...nothing },
      context,
    )
  }
  t.same(await collections.pay(transfer, challengeId, context, await collections.load(trackingId)), { ok: true })
  t.match(await transferOf(trackingId), { status: 'Completed' })
})

t.test('finds money that a killed process took after its collection had been abandoned', async (t) => {
  const { collections, verifiedDeposit, transferOf, recovery, until, wallet, account, store } = await scene(t)
  const { transfer, challengeId, trackingId } = await verifiedDeposit()
  const collect = wallet.collect.bind(wallet)
  wallet.collect = async () => {
    throw new WalletUnavailableError('the wallet seemed unavailable')
  }
  t.match(await collections.pay(transfer, challengeId, context, await collections.load(trackingId)), {
    reason: 'wallet-unavailable',
  })
  wallet.collect = collect
  const { accountNumber } = account
  await collect({ trackingId, accountNumber, amountMinor: transfer.amountMinor, description: '', sandbox: true })
  // The form in which the log of the built-in wallet's account records it.
  const debit = {
    accountNumber,
    trackingId,
    amountMinor: transfer.amountMinor,
    description: '',
    at: transfer.createdAt,
  }
  const event = encodeEvent({ type: 'WalletAccountDebited', data: debit }, context)
  await store.append(`wallet-${accountNumber}`, 'no_stream', [event])
  recovery(0)
  await until(async () => (await transferOf(trackingId)).status === 'Completed')
  t.equal(account.balanceMinor, 399_50n)
})

t.test('determines the outcome of an unanswered collection for the user who reviews the deposit', async (t) => {
  const { collections, verifiedDeposit, transferOf, transfers, wallet } = await scene(t)
  const unanswered = async (when: 'before' | 'after') => {
    const { transfer, challengeId, trackingId } = await verifiedDeposit()
    const collect = wallet.collect.bind(wallet)
    wallet.collect = async (request) => {
      if (when === 'after') await collect(request)
      throw new WalletOutcomeUnknownError('no response in time')
    }
    t.match(await collections.pay(transfer, challengeId, context, await collections.load(trackingId)), {
      ok: false,
      reason: 'manual-control',
    })
    wallet.collect = collect
    return trackingId
  }
  const collected = await unanswered('after')
  const notCollected = await unanswered('before')
  for (let n = 0; n < 2; n++)
    for (const trackingId of [collected, notCollected]) await collections.recover(trackingId, context)
  t.match(await transferOf(collected), { status: 'ManualControl', transactionAmountMinor: 100_50n })
  t.match(await transferOf(notCollected), { status: 'ManualControl', transactionAmountMinor: 0n })
  t.match(await transfers.act(collected, { type: 'Complete' }, context), {
    transfer: { transactionAmountMinor: 100_50n },
  })
  t.equal(wallet.collects, 1)
})

t.test('the worker completes payments from the log, and resumes after them when it restarts', async (t) => {
  const { interruptedPayment, transferOf, recovery, until, readModels, wallet } = await scene(t)
  const young = await interruptedPayment('after')
  const checkpoint = () => readModels.collection('checkpoints').findOne({ _id: 'payments' })
  const idleRecovery = recovery(600_000)
  // The checkpoint ends before the waiting payment.
  await until(async () => (await checkpoint())?.stream === `payment-${young}`)
  t.equal((await transferOf(young)).status, 'Pending', 'a recent payment is left to its own request')
  await idleRecovery.stop()

  const completed = async (trackingId: string) => (await transferOf(trackingId)).status === 'Completed'
  const first = recovery(0)
  await until(() => completed(young))
  const second = await interruptedPayment('after')
  await until(() => completed(second))
  await until(async () => (await checkpoint())?.stream === `payment-${second}`)
  await first.stop()

  let attempts = 0
  wallet.before = (call) => {
    if (call === 'collectionOf' && ++attempts === 1) throw new WalletUnavailableError('away')
  }
  const third = await interruptedPayment('after')
  // Time runs at a minute per second, because an unavailable wallet is retried after ten seconds.
  const startMs = Date.now()
  const fast = () => new Date(startMs + (Date.now() - startMs) * 60).toISOString()
  const last = recovery(0, fast)
  await until(() => completed(third))
  t.equal(attempts, 2, 'only the failed request is repeated')
  await last.stop()
})

t.test('reads a log without wallet payments once', async (t) => {
  const { store, readModels, recovery, until } = await scene(t)
  const event = () => ({ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} })
  const stream = `others-${randomUUID()}`
  const events = Array.from({ length: 10_100 }, event)
  for (let from = 0; from < events.length; from += 2_020)
    await store.append(stream, from === 0 ? 'no_stream' : from - 1, events.slice(from, from + 2_020))
  recovery(0)
  const checkpoint = () => readModels.collection(collections.checkpoints).findOne({ _id: 'payments' })
  await until(async () => (await checkpoint()) !== null)
  t.notMatch(String((await checkpoint())!.stream), /^(payment|wallet)-/)
})
