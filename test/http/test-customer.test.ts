import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { IssuedCredentials } from '../../src/commands/merchant/merchant-commands.js'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import { paymentStream } from '../../src/domain/streams.js'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import { isTestAccount, testCustomer } from '../../src/wallet/test-customer.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { type CreateKind, createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService, type TestServiceOptions } from '../support/test-service.js'
import { until } from '../support/until.js'

const wallet = new MemoryWallet()
/** No wallet and no message is needed, and no limit on codes applies. */
wallet.unpreparedReason = () => 'not configured'
const service = await startTestService({ wallet, takeCode: () => 60 })
t.teardown(() => destroyTestService(service))
const { app, transfers } = service

const { email: userName, password, code } = testCustomer
const live = { ...defaultSettings(false), name: 'Live', requireSignature: 'none' as const, allowIps: ['127.0.0.1'] }

/** Returns the requests of a merchant's program. */
function programOf({ webApiKey: key, secretKey }: IssuedCredentials) {
  const send = async (url: string, body: object) => {
    const response = await post(app, url, JSON.stringify(body), { key })
    return { status: response.statusCode, ...response.json() }
  }
  return {
    async create(amount: string, kind: CreateKind = 'native', referenceId: string = randomUUID(), paymentMethod = 1) {
      const fields = { referenceId, paymentMethod }
      const { body } = await post(app, paths[kind], createBody(kind, secretKey, fields, amount), { key })
      const answer = JSON.parse(body)
      return String((answer.result ?? answer).trackingId)
    },
    logIn: (trackingId: string, as: string = password) =>
      send(walletPaths.logIn, { trackingId, userName, password: as }),
    verify: (trackingId: string, token: string, typed: string = code) =>
      send(walletPaths.code, { trackingId, token, code: typed }),
    validate: (trackingId: string, token: string) => send(walletPaths.device, { token, trackingId }),
    async pay(trackingId: string) {
      const { result: token } = await this.logIn(trackingId)
      return this.verify(trackingId, token)
    },
  }
}

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const statusOf = async (trackingId: string) => (await transfers.find(trackingId))?.transfer.status

t.test('the test customer pays the native deposits of a sandbox merchant as the scenario says', async (t) => {
  const program = programOf(await service.merchant())
  const ordinary = await program.create('100.50')
  t.match(await program.pay(ordinary), { success: true, result: { next_step: 'Completed' } })
  t.equal(await statusOf(ordinary), 'Completed')

  const less = await program.create('66.02')
  t.match(await program.pay(less), { success: true, result: { next_step: 'Completed' } })
  t.match((await transfers.find(less))?.transfer, { hasAmountMismatch: true, transactionAmountMinor: 65_02n })

  const declined = await program.create('80', 'native', `scenario-declined-${randomUUID().slice(0, 8)}`)
  t.match(await program.pay(declined), { status: 409, error: { code: 40906 } })
  t.equal(await statusOf(declined), 'Pending')

  const unknown = await program.create('66.05')
  t.match(await program.pay(unknown), { status: 409, error: { code: 40908 } })
  t.equal(await statusOf(unknown), 'ManualControl')
})

t.test('a device is confirmed after a moment, and for each deposit again', async (t) => {
  const program = programOf(await service.merchant())
  for (let round = 0; round < 2; round++) {
    const trackingId = await program.create('66.04')
    const verified = await program.pay(trackingId)
    t.match(verified, { success: true, result: { next_step: 'ValidateUserDevice' } })
    const { token } = verified.result
    t.match(await program.validate(trackingId, token), { status: 200, success: false, error: { code: 20001 } })
    await until(async () => (await program.validate(trackingId, token)).success)
    t.match(await program.validate(trackingId, token), { success: true, result: 'Completed' })
    t.equal(await statusOf(trackingId), 'Completed')
  }
})

t.test('a wrong password or code is refused, and locks nobody out', async (t) => {
  const program = programOf(await service.merchant())
  const trackingId = await program.create('100')
  for (let n = 0; n < 10; n++)
    t.match(await program.logIn(trackingId, '654321'), { status: 400, error: { code: 40006 } })
  const { result: token } = await program.logIn(trackingId)
  for (let n = 0; n < 4; n++)
    t.match(await program.verify(trackingId, token, '000000'), { status: 400, error: { code: 40010 } })
  t.match(await program.verify(trackingId, token), { success: true })
  const streams = (await service.store.readAll({ streamPrefixes: ['wallet'], maxCount: 10 })).events
  t.same(streams, [], 'the log counts no attempt')
})

t.test('the wallet is never requested about the test customer', async (t) => {
  t.same(wallet.compared, [])
  t.equal(wallet.collects, 0)
  t.equal(wallet.codes.size, 0)
})

t.test('for a live merchant the values mean nothing, and the test customer is unknown', async (t) => {
  wallet.unpreparedReason = () => undefined
  const program = programOf(await service.merchant(live))
  const native = await program.create('66.01')
  t.match(await program.logIn(native), { status: 400, error: { code: 40006 } })
  const played = [
    await program.create('66.01', 'hosted'),
    await program.create('66.08', 'hosted'),
    await program.create('70', 'hosted', 'scenario-cancelled-1'),
    await program.create('66.06', 'withdrawal'),
    await program.create('70', 'withdrawal', 'scenario-withdrawal-completed-1'),
  ]
  // A sandbox merchant's transfer that was created later has ended, so those of the live merchant would have too.
  const sandbox = programOf(await service.merchant())
  const last = await sandbox.create('66.06', 'hosted')
  await until(async () => (await statusOf(last)) !== 'Pending')
  t.equal(await statusOf(last), 'Cancelled')
  for (const trackingId of played) {
    const { transfer } = (await transfers.find(trackingId))!
    t.equal(transfer.status, 'Pending')
    if (transfer.kind === 'deposit')
      t.equal(Date.parse(transfer.expiresAt) - Date.parse(transfer.createdAt), 30 * 60_000)
  }
})

t.test('a scenario ends when its merchant becomes live', async (t) => {
  const settings = async (id: string, sandbox: boolean) => {
    await service.merchants.execute(id, { type: 'ChangeSettings', changes: { sandbox } }, context)
    await service.directory.catchUp()
  }
  const own = await service.merchant()
  const program = programOf(own)
  const [reopened, late] = [await program.create('66.10', 'hosted'), await program.create('66.09', 'hosted')]
  const claimed = await program.create('66.01', 'withdrawal')
  await until(async () => (await statusOf(reopened)) === 'Cancelled')
  await settings(own.id, false)
  const revisions = async () =>
    Promise.all([reopened, claimed].map(async (trackingId) => (await transfers.find(trackingId))?.revision))
  const other = programOf(await service.merchant())
  const later = [await other.create('66.10', 'hosted'), await other.create('66.09', 'hosted')]
  // A step that was in progress at the switch has ended when a later transfer is at its first step.
  await until(async () => (await statusOf(later[0]!)) !== 'Pending')
  const atSwitch = await revisions()
  await until(async () => (await statusOf(later[0]!)) === 'Completed')
  const types = async (trackingId: string) => (await transfers.history(trackingId)).map(({ event }) => event.type)
  await until(async () => (await types(later[1]!)).includes('LateFundsReceived'))
  t.strictSame(await revisions(), atSwitch)
  t.notOk((await types(late)).includes('LateFundsReceived'))
})

t.test("the merchant's settings apply to its scenarios", async (t) => {
  const settings = { autoCancelMismatch: true, approvalAboveMinor: 50_00n }
  const program = programOf(await service.merchant(settings))
  const [mismatch, withdrawal] = [await program.create('66.02', 'hosted'), await program.create('66.01', 'withdrawal')]
  const ended = () => service.logLines.some((line) => line.includes(withdrawal) && line.includes('ended early'))
  await until(async () => (await statusOf(mismatch)) !== 'Pending' && ended())
  t.match((await transfers.find(mismatch))?.transfer, { status: 'Cancelled', hasAmountMismatch: true })
  t.equal(await statusOf(withdrawal), 'Pending', 'it waits for an approver')
})

t.test('a scenario continues after the log was unavailable', async (t) => {
  let failures = 0
  const wrapStore: NonNullable<TestServiceOptions['wrapStore']> = (store) => ({
    ...store,
    appendInOrder: async (appends) => {
      const isOfPayment = appends.some(({ stream }) => stream.startsWith('payment-'))
      if (isOfPayment && failures++ < 3) throw new StoreUnavailableError('the log is unavailable')
      return store.appendInOrder(appends)
    },
  })
  const unstable = await startTestService({ wrapStore })
  t.teardown(() => destroyTestService(unstable))
  const { webApiKey: key, secretKey } = await unstable.merchant()
  const body = createBody('hosted', secretKey, {}, '66.01')
  const { trackingId } = (await post(unstable.app, paths.hosted, body, { key })).json()
  const status = async () => (await unstable.transfers.find(trackingId))?.transfer.status
  await until(async () => (await status()) !== 'Pending')
  t.equal(await status(), 'Completed')
  t.ok(failures > 3)
})

t.test('an operator settles the scenarios of a method that needs no wallet', async (t) => {
  const method = { code: 2, name: 'Bank', kinds: ['deposit'] as const, paidBy: 'manual' as const }
  const configuration = { paymentMethods: [{ ...method, minAmountMinor: 1n, maxAmountMinor: 100_00n }] }
  const manual = await startTestService({ configuration })
  t.teardown(() => destroyTestService(manual))
  const merchant = await manual.merchant()
  const outcomes = {
    '66.01': { status: 'Completed', transactionAmountMinor: 66_01n },
    '66.02': { status: 'Completed', transactionAmountMinor: 65_02n, hasAmountMismatch: true },
    '66.03': { status: 'Cancelled', transactionAmountMinor: 0n },
    '66.05': { status: 'ManualControl', transactionAmountMinor: 0n },
  }
  const played = await Promise.all(
    Object.entries(outcomes).map(async ([amount, outcome]) => {
      const body = createBody('hosted', merchant.secretKey, { paymentMethod: 2 }, amount)
      const { trackingId } = (await post(manual.app, paths.hosted, body, { key: merchant.webApiKey })).json()
      return { trackingId, outcome }
    }),
  )
  for (const { trackingId, outcome } of played) {
    const transfer = async () => (await manual.transfers.find(trackingId))!.transfer
    await until(async () => (await transfer()).status !== 'Pending')
    t.match(await transfer(), outcome)
  }
})

t.test('a wallet cannot give an account a reserved number', async (t) => {
  const reserved = new MemoryWallet()
  reserved.logIn = async () => ({ outcome: 'accepted', accountNumber: 999_999_999_991, sandbox: false })
  t.ok(isTestAccount(999_999_999_991))
  const other = await startTestService({ wallet: reserved })
  t.teardown(() => destroyTestService(other))
  const { webApiKey: key, secretKey } = await other.merchant()
  const created = await post(other.app, paths.native, createBody('native', secretKey), { key })
  const { trackingId } = created.json().result
  const login = { trackingId, userName: 'ada@example.com', password: '734219' }
  const response = await post(other.app, walletPaths.logIn, JSON.stringify(login), { key })
  t.match(response.json(), { success: false, error: { code: 50302 } })
  t.same(await other.store.readStream(paymentStream(trackingId)), [])
})
