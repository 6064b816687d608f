import t, { type Test } from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'
import { cliItems, cliJson, runCli } from './in-process.js'

interface TransferResponse {
  readonly referenceId: string
  readonly [field: string]: unknown
}

const directory = temporaryDirectory(t)
const service = await startServiceProcess(t, { directory })
const client = new RawMerchantClient(service.baseUrl, service.sandbox!)

async function deposit(referenceId: string): Promise<string> {
  const { status, body } = await client.hostedDeposit(referenceId, '100.00')
  t.equal(status, 200)
  return String(body.trackingId)
}

function transfers(...args: string[]): Promise<TransferResponse> {
  return cliJson(directory, 'transfers', ...args)
}

/** Opens the service's log, so that a test can act as another operator or as the wallet. */
async function openCommands(t: Test) {
  const data = `embedded:${directory}/data`
  const stores = await openStores(readConfiguration({ EVENT_STORE_URL: data, READ_MODEL_URL: data }))
  t.teardown(() => stores.close())
  const { eventStore, box } = stores
  const clock = () => new Date().toISOString()
  const merchants = new MerchantCommands(eventStore, clock, box)
  return transferCommands(eventStore, clock, async (id) => (await merchants.find(id))?.settings)
}
const ada = { actor: 'cli:ada', $correlationId: 'ada', $causationId: 'ada' }

t.test('a second operator who repeats an action gets exit status 3, and the name and time of the first', async (t) => {
  const other = await openCommands(t)
  const [completed, cancelled, failed, manual, reopened, settled] = await Promise.all(
    ['by-ada', 'by-ada-2', 'by-ada-3', 'by-ada-4', 'by-ada-5', 'by-ada-6'].map((reference) => deposit(reference)),
  )
  const receipt = 'https://bank.example/back/1'
  await other.act(completed!, { type: 'Complete' }, ada)
  await other.act(cancelled!, { type: 'Cancel', message: null }, ada)
  await other.act(failed!, { type: 'Fail', message: null }, ada)
  await other.act(manual!, { type: 'SendToManualControl', message: null }, ada)
  for (const id of [reopened!, settled!]) await other.act(id, { type: 'Cancel', message: null }, ada)
  await other.act(reopened!, { type: 'Reopen', reason: 'the money arrived' }, ada)
  await other.receiveFunds(settled!, 1, { receivedAmountMinor: 95_00n, receiptUrl: null }, ada)
  await other.act(settled!, { type: 'ReturnFunds', amountMinor: 40_00n, receiptUrl: receipt }, ada)
  await other.act(settled!, { type: 'ResolveAttention', reason: 'the rest was credited' }, ada)
  const second: string[][] = [
    ['complete', completed!],
    ['cancel', cancelled!],
    ['fail', failed!],
    ['manual', manual!],
    ['manual', reopened!],
    ['reopen', reopened!, '--reason', 'again'],
    ['return', settled!, '--amount', '40', '--receipt-url', receipt],
    ['resolve', settled!, '--reason', 'again'],
  ]
  await Promise.all(
    second.map(async (args) => {
      const { status, stdout, stderr } = await runCli(directory, ['transfers', ...args, '--json'])
      t.equal(status, 3, args.join(' '))
      t.match(JSON.parse(stdout), { changed: false, doneBy: { actor: 'cli:ada', at: /^20\d\d-/ } })
      t.match(stderr, /nothing was changed: cli:ada did it at 20/)
    }),
  )
  const refused = await runCli(directory, ['transfers', 'cancel', completed!])
  t.equal(refused.status, 1, 'a different action is rejected')
  t.match(refused.stderr, /which is a final status. cli:ada did that at 20/)
})

t.test('one of two simultaneous completions succeeds, and the other reports it', async (t) => {
  const other = await openCommands(t)
  for (let n = 0; n < 2; n++) {
    const trackingId = await deposit(`simultaneous-${n}`)
    const [fromCli, theirs] = await Promise.all([
      runCli(directory, ['transfers', 'complete', trackingId, '--json']),
      new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
        other.act(trackingId, { type: 'Complete' }, ada),
      ),
    ])
    const isFirst = theirs.accepted && theirs.changed
    t.equal(fromCli.status, isFirst ? 3 : 0)
    t.equal(JSON.parse(fromCli.stdout).changed, !isFirst)
  }
})

t.test('names the limit that a withdrawal is beyond', async (t) => {
  const { merchantId } = service.sandbox!
  const set = (...args: string[]) => cliJson(directory, 'merchants', 'set', merchantId, ...args)
  const limit = ['--withdrawal-limit', 'customer 24h 1 -', '--withdrawal-limit', 'merchant 30d - 500000.00']
  const withdrawalLimits = ['customer 24h 1 -', 'merchant 30d - 500000.00']
  t.match(await set(...limit, '--approval-over-day'), { withdrawalLimits, approvalOverDay: true })
  const ids = await Promise.all(
    ['limit-1', 'limit-2'].map(async (referenceId) => {
      const { body } = await client.withdrawal(referenceId, '100.00', 'TR330006100519786457841326')
      return String((body.result as { trackingId: string }).trackingId)
    }),
  )
  t.match(await transfers('complete', ids[0]!), { statusDescription: 'Completed', exceededLimits: [] })
  const exceeded = { per: 'customer', hours: 24, count: 1, amount: null, actualCount: 2, actualAmount: 200 }
  t.match(await transfers('show', ids[1]!), { exceededLimits: [exceeded] })
  const refused = await runCli(directory, ['transfers', 'complete', ids[1]!, '--json'])
  t.match(JSON.parse(refused.stderr).error, {
    code: 'limit-exceeded',
    message: /because it is beyond a limit: 2 withdrawals of this customer in 24 hours, limit 1\.$/,
    values: { amount: 100, exceeded: [exceeded] },
  })
  for (const wrong of ['account 24h 5', 'branch 24h 5 1', 'account 1h 5 1', 'account 24h 0 1', 'account 24h 1 x'])
    t.match(
      await runCli(directory, ['merchants', 'set', merchantId, '--withdrawal-limit', wrong]),
      { status: 2 },
      wrong,
    )
  for (const wrong of [['account 24h - -'], ['account 24h 1 -', 'account 24h 2 -']]) {
    const options = wrong.flatMap((each) => ['--withdrawal-limit', each])
    t.match(await runCli(directory, ['merchants', 'set', merchantId, ...options]), {
      status: 2,
      stderr: /--withdrawal-limit/,
    })
  }
  const none = await set('--no-withdrawal-limit', '--no-approval-over-day')
  t.match(none, { withdrawalLimits: [], approvalOverDay: false })
  t.match(await transfers('complete', ids[1]!), { statusDescription: 'Completed' })
})

t.test('rejects changes of a claimed withdrawal, and a payment above the threshold without approval', async (t) => {
  const other = await openCommands(t)
  const { body } = await client.withdrawal('claimed-1', '100.00', 'TR330006100519786457841326')
  const trackingId = String((body.result as { trackingId: string }).trackingId)
  await other.act(trackingId, { type: 'Claim' }, { ...ada, actor: 'user:ada' })
  for (const command of ['complete', 'cancel', 'fail', 'manual']) {
    const { status, stderr } = await runCli(directory, ['transfers', command, trackingId])
    t.match([status, stderr], [1, /^transferd: user:ada has claimed the withdrawal until 20\d\d-/], command)
  }
  t.match(await transfers('show', trackingId), { claimedBy: 'user:ada', statusDescription: 'Pending', revision: 1 })
  await other.act(trackingId, { type: 'Release' }, { ...ada, actor: 'user:ada' })
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--approval-above', '50')
  const unapproved = await runCli(directory, ['transfers', 'complete', trackingId])
  t.match(
    [unapproved.status, unapproved.stderr],
    [1, /Another user must first approve a payment of 100.00 to this account/],
  )
  await other.act(trackingId, { type: 'Approve' }, { ...ada, actor: 'user:bob' })
  t.match(await transfers('complete', trackingId), { changed: true, approvedAmount: 100, claimedBy: null })
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--no-approval-above')
})

t.test('lists a transfer with late funds until they are returned or resolved', async (t) => {
  const other = await openCommands(t)
  const [trackingId, same] = [await deposit('settle-1'), await deposit('settle-2')]
  for (const id of [trackingId, same]) {
    await transfers('cancel', id)
    await other.receiveFunds(id, 1, { receivedAmountMinor: 95_00n, receiptUrl: 'https://bank.example/in' }, ada)
  }
  const waiting = async () => {
    const listed = await cliItems<TransferResponse>(directory, 'transfers', 'list', '--needs-attention')
    return listed.map(({ referenceId }) => referenceId).filter((name) => name.startsWith('settle'))
  }
  await until(async () => (await waiting()).length === 2)
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  t.ok(Number(/^transferd_transfers_needing_attention (\d+)$/m.exec(metrics)?.[1]) >= 2)
  const back = ['--receipt-url', 'https://bank.example/back/2']
  const money = { receivedAmount: 95, receiptUrl: 'https://bank.example/in', statusDescription: 'Cancelled' }
  t.match(await transfers('return', trackingId, '--amount', '90', ...back), {
    ...{ ...money, changed: true, transactionAmount: 5, returnedAmount: 90, lateFunds: 5, needsAttention: true },
  })
  t.match(await transfers('return', trackingId, '--amount', '90', ...back), { changed: false, returnedAmount: 90 })
  const tooMuch = [
    'transfers',
    'return',
    trackingId,
    '--amount',
    '5.01',
    '--receipt-url',
    'https://bank.example/back/3',
  ]
  const refused = await runCli(directory, tooMuch)
  t.same([refused.status, refused.stderr], [1, 'transferd: Only 5.00 can be returned.\n'])
  t.match(await transfers('resolve', trackingId, '--reason', 'the fee'), {
    ...{ ...money, changed: true, resolvedAmount: 5, lateFunds: 0, needsAttention: false, transactionAmount: 5 },
  })
  t.match(await transfers('resolve', same, '--reason', 'credited'), { changed: true, resolvedAmount: 95 })
  await until(async () => (await waiting()).length === 0)
  const mixed = await runCli(directory, ['transfers', 'list', '--needs-attention', '--kind', 'deposit'])
  t.equal(mixed.status, 2)
})

t.test(
  'requires a confirmation for an unlikely amount, and a reason for an amount other than the received one',
  async (t) => {
    const trackingId = await deposit('unlikely')
    const refused = await runCli(directory, ['transfers', 'complete', trackingId, '--amount', '1000.01'])
    t.same(
      [refused.status, refused.stderr],
      [1, 'transferd: The requested amount is 100.00. To continue with 1000.01, repeat it as the confirmed amount.\n'],
    )
    const confirmed = ['complete', trackingId, '--amount', '1000.01', '--confirm-amount', '1000.01'] as const
    t.match(await transfers(...confirmed), { changed: true, transactionAmount: 1000.01, hasAmountMismatch: true })
    const held = await deposit('reasoned')
    await transfers('cancel', held)
    await (await openCommands(t)).receiveFunds(held, 1, { receivedAmountMinor: 95_00n, receiptUrl: null }, ada)
    await transfers('reopen', held, '--reason', 'the money arrived')
    const unexplained = await runCli(directory, ['transfers', 'complete', held, '--amount', '90'])
    t.match(unexplained, {
      status: 1,
      stderr: /95.00 of the received money is left. Give a reason to complete with a different amount/,
    })
    const response = await transfers('complete', held, '--amount', '90', '--reason', 'five will be returned')
    t.match(response, { transactionAmount: 90, lateFunds: 5, needsAttention: true })
  },
)

t.test(
  'rejects a repeat with a different amount and reports the booked amount, to the same and to another operator',
  async (t) => {
    const [own, theirs] = await Promise.all([deposit('another-amount-1'), deposit('another-amount-2')])
    await transfers('complete', own!, '--amount', '95')
    t.match(await transfers('complete', own!, '--amount', '95.00'), { changed: false, transactionAmount: 95 })
    const again = await runCli(directory, ['transfers', 'complete', own!, '--amount', '90', '--json'])
    t.match(again, {
      status: 1,
      stdout: '',
      stderr: /completed with 95\.00\. It cannot be completed with 90\.00 as well/,
    })
    await (await openCommands(t)).act(theirs!, { type: 'Complete', transactionAmountMinor: 95_00n }, ada)
    const second = await runCli(directory, ['transfers', 'complete', theirs!, '--amount', '90', '--json'])
    t.match(second, { status: 3, stderr: /nothing was changed: .*95\.00.*90\.00.* cli:ada did that at 20/ })
    t.match(JSON.parse(second.stdout), { changed: false, transactionAmount: 95, doneBy: { actor: 'cli:ada' } })
  },
)

t.test('reports that a deposit that is cancelled because of its amount books nothing', async (t) => {
  const trackingId = await deposit('cancelled-for-its-amount')
  const { merchantId } = await transfers('show', trackingId)
  await cliJson(directory, 'merchants', 'set', String(merchantId), '--auto-cancel-mismatch')
  for (const changed of [true, false]) {
    const response = await runCli(directory, ['transfers', 'complete', trackingId, '--amount', '95', '--json'])
    t.match(response, { status: 0, stderr: /the amount differs from the requested one: nothing is booked/ })
    t.match(JSON.parse(response.stdout), { changed, statusDescription: 'Cancelled', needsAttention: true })
  }
})

t.test('records the parts of a bank transfer, each reference once', async (t) => {
  const { body } = await client.hostedDeposit('in-parts', '100.00', { paymentMethod: 2 })
  const trackingId = String(body.trackingId)
  const part = (amount: string, reference: string, ...more: string[]) =>
    transfers('receive', trackingId, '--amount', amount, '--reference', reference, ...more)
  t.match(await part('60', 'FT-1'), { changed: true, statusDescription: 'Pending', receivedAmount: 60 })
  t.match(await part('60', 'FT-1'), { changed: false, receivedAmount: 60 })
  const other = await openCommands(t)
  const payment = { type: 'ReceivePart', receivedAmountMinor: 1_00n, reference: 'FT-2' } as const
  await other.act(trackingId, payment, ada)
  const repeated = ['transfers', 'receive', trackingId, '--amount', '1', '--reference', 'FT-2', '--json']
  t.match(await runCli(directory, repeated), { status: 3, stderr: /nothing was changed: cli:ada did it at 20/ })
  const receipt = ['--receipt-url', 'https://bank.example/5']
  t.match(await part('39', 'FT-3', ...receipt), {
    ...{ changed: true, statusDescription: 'Completed', transactionAmount: 100, receiptUrl: receipt[1] },
  })
  for (const [args, message] of [
    [['--amount', '60'], /required option '--reference <text>'/],
    [['--amount', '60', '--reference', ' '], /It must have 1 to 128 characters/],
    [['--amount', '0', '--reference', 'FT-9'], /It must be an amount above 0/],
  ] as const)
    t.match(await runCli(directory, ['transfers', 'receive', trackingId, ...args]), { status: 2, stderr: message })
  const fromWallet = await runCli(directory, [
    ...['transfers', 'receive', await deposit('from-wallet'), '--amount', '60', '--reference', 'FT-1'],
  ])
  t.match(fromWallet, { status: 1, stderr: /The customer pays this deposit from a wallet/ })
})

t.test('records money of a payout that comes back, until it is resolved', async (t) => {
  const { body } = await client.withdrawal('paid-again', '100.00', 'TR330006100519786457841326')
  const trackingId = String((body.result as { trackingId: string }).trackingId)
  const back = ['returned', trackingId, '--amount', '60', '--reason-code', 'AC04', '--reference']
  const early = await runCli(directory, ['transfers', ...back, 'RT1'])
  t.match(early, { status: 1, stderr: /The withdrawal is Pending. Only the money of a completed withdrawal/ })
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--no-approval-above')
  t.match(await transfers('complete', trackingId), { changed: true })
  const returned = { status: 2, transactionAmount: 100, returnedAmount: 60, resolvedAmount: 0, lateFunds: 60 }
  t.match(await transfers(...back, ' RT1 '), { ...returned, changed: true, needsAttention: true })
  t.match(await transfers(...back, 'RT1'), { ...returned, changed: false })
  const tooMuch = await runCli(directory, ['transfers', ...back, 'RT2'])
  t.match(tooMuch, { status: 1, stderr: /No more than 40.00 of the paid amount can still come back./ })
  const other = await runCli(directory, ['transfers', ...back.with(5, 'MS03'), 'RT1'])
  t.match(other, { status: 1, stderr: /A return of 60.00 for AC04 with the reference RT1 is already recorded./ })
  const unknown = await runCli(directory, ['transfers', ...back.with(5, 'XX99'), 'RT2'])
  t.match(unknown, { status: 2, stderr: /such as AC04. Use NARR for any other reason./ })
  const resolved = await transfers('resolve', trackingId, '--reason', 'The customer was paid in cash.')
  t.match(resolved, { changed: true, needsAttention: false, returnedAmount: 60, resolvedAmount: 60, lateFunds: 0 })
  const { stdout } = await runCli(directory, ['audit', 'story', trackingId])
  t.match(stdout, /The bank sent money back: 60\.00/)
  t.match(stdout.replaceAll(/\s+/g, ' '), /Return reason AC04 \(the account is closed\)/)
})

t.test('corrects a completed transfer, above the threshold with a second user', async (t) => {
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--no-auto-cancel-mismatch')
  const trackingId = await deposit('mistyped')
  await transfers('complete', trackingId, '--amount', '195')
  const reason = ['--reason', 'The amount was mistyped.']
  const corrected = await transfers('correct', trackingId, '--amount', '95.00', ...reason)
  t.match(corrected, { changed: true, statusDescription: 'Completed', transactionAmount: 95, proposedAmount: null })
  t.match(await transfers('correct', trackingId, '--amount', '95', ...reason), { changed: false })
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--approval-above', '50')
  const proposed = await runCli(directory, ['transfers', 'correct', trackingId, '--amount', '90', ...reason, '--json'])
  t.match([proposed.status, JSON.parse(proposed.stdout)], [0, { transactionAmount: 95, proposedAmount: 90 }])
  t.match(
    proposed.stderr,
    `another user must approve the correction: transferd transfers approve-correction ${trackingId}`,
  )
  const approval = ['transfers', 'approve-correction', trackingId, '--amount', '90']
  t.match(await runCli(directory, approval), { status: 1, stderr: /cannot be proposed and approved by the same user/ })
  const other = await openCommands(t)
  await other.act(trackingId, { type: 'Correct', amountMinor: 91_00n, reason: 'a fee' }, ada)
  t.match(await runCli(directory, approval), { status: 1, stderr: /The proposed correction is 91.00, not 90.00/ })
  const done = await transfers('approve-correction', trackingId, '--amount', '91')
  t.match(done, { changed: true, transactionAmount: 91, proposedAmount: null })
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--no-approval-above')
  const story = await runCli(directory, ['audit', 'story', trackingId])
  t.match(story.stdout, /Corrected: 91.00.*“a fee”/s)
})

t.test('pays again what came back', async (t) => {
  const { body } = await client.withdrawal('repaid-later', '100.00', 'TR330006100519786457841326')
  const { trackingId } = (body.result ?? body) as { trackingId: string }
  await transfers('complete', trackingId)
  await transfers('returned', trackingId, '--amount', '60', '--reason-code', 'AC04', '--reference', 'RT-60')
  const account = ['--account', 'TR940006100519786457009931', '--reference-id', 'again-1']
  const requested = await transfers('pay-again', trackingId, '--amount', '60', ...account)
  t.match(requested, { changed: true, reservedAmount: 60, needsAttention: false, repayments: [{ state: 'open' }] })
  const [{ repaymentId }] = requested.repayments as [{ repaymentId: string }]
  t.match(await transfers('show', repaymentId), { repaymentOf: trackingId, referenceId: 'again-1', amount: 60 })
  await transfers('complete', repaymentId)
  t.match(await transfers('show', trackingId), { resolvedAmount: 60, lateFunds: 0, repayments: [{ state: 'paid' }] })
})

t.test('refunds a deposit by a withdrawal, and has a second user confirm a large return', async (t) => {
  const trackingId = await deposit('to-refund')
  await transfers('complete', trackingId)
  const account = ['--account', 'TR330006100519786457841326', '--reference-id', 'refund-1']
  const requested = await transfers('refund', trackingId, '--amount', '30', ...account)
  t.match(requested, { changed: true, reservedAmount: 30, refunds: [{ state: 'open', referenceId: 'refund-1' }] })
  t.match(await transfers('refund', trackingId, '--amount', '30', ...account), { changed: false })
  const tooMuch = await runCli(directory, ['transfers', 'refund', trackingId, '--amount', '70.01', '--account', 'TR1'])
  t.match(tooMuch, { status: 1, stderr: /Only 70.00 can be refunded/ })
  const toWallet = await runCli(directory, ['transfers', 'refund', trackingId, '--amount', '1'])
  t.match(toWallet, { status: 1, stderr: /No wallet can return the money/ })
  const [{ refundId }] = requested.refunds as [{ refundId: string }]
  t.match(await transfers('show', refundId), { kind: 'withdrawal', referenceId: 'refund-1', refundOf: trackingId })
  t.match(await transfers('complete', refundId), { statusDescription: 'Completed' })
  t.match(await transfers('show', trackingId), {
    returnedAmount: 30,
    refundedAmount: 30,
    refunds: [{ state: 'returned' }],
  })
  const story = await runCli(directory, ['audit', 'story', trackingId])
  t.match(story.stdout, /Refund requested.*Money returned: 30\.00/s)

  const late = await deposit('paid-late')
  const other = await openCommands(t)
  await other.act(late, { type: 'Cancel', message: null }, ada)
  await other.receiveFunds(late, 1, { receivedAmountMinor: 90_00n, receiptUrl: null }, ada)
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--approval-above', '50')
  const back = ['--amount', '90', '--receipt-url', 'https://bank.example/back/9']
  const proposed = await runCli(directory, ['transfers', 'return', late, ...back, '--json'])
  const shown = JSON.parse(proposed.stdout)
  t.match(shown, { returnedAmount: 0, reservedAmount: 90, refunds: [{ state: 'proposed', to: 'elsewhere' }] })
  const command = `transferd transfers approve-refund ${late} --refund-id ${shown.refunds[0].refundId}`
  t.match(proposed.stderr, `another user must approve it: ${command}`)
  const [, ...approval] = command.split(' ')
  t.match(await runCli(directory, approval), { status: 1, stderr: /cannot be requested and approved by the same user/ })
  t.match(await transfers('reject-refund', ...approval.slice(2)), { changed: true, reservedAmount: 0, lateFunds: 90 })
  const receiptUrl = 'https://bank.example/back/10'
  await other.act(late, { type: 'ReturnFunds', amountMinor: 90_00n, receiptUrl }, ada)
  const refunds = (await transfers('show', late)).refunds as readonly { readonly refundId: string }[]
  const done = await transfers('approve-refund', late, '--refund-id', refunds[1]!.refundId)
  t.match(done, { changed: true, returnedAmount: 90, lateFunds: 0, needsAttention: false })
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--no-approval-above')
})
