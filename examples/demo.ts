/**
 * A complete demo in one terminal: a service, a shop, its customer, and an operator at the command line, who use only the HTTP API and
 * the CLI. The exit status is 0 only if every response and every callback is correct.
 */
import { strict as assert } from 'node:assert'
import { randomUUID } from 'node:crypto'
import { ApiError, type Callback, ErrorCode, TransferdClient } from '@transferd/client'
import { Customer, type Message } from './customer.js'
import { startService } from './example-service.js'
import { startShop } from './merchant/shop.js'

const callbackWithinMs = 10_000

const callbacks: Callback[] = []
// The program of an installation, or that of this repository.
const service = await startService(process.argv[2])
const { baseUrl, sandbox } = service
const shop = await startShop({ baseUrl, credentials: sandbox, port: 0, onCallback: recordCallback })
let stopped: number | null = null
try {
  await play()
} finally {
  stopped = await service.stop()
  shop.close()
}
assert.equal(stopped, 0, 'the service exits with status 0')
assert.deepEqual(shop.rejected, [], 'no callback was rejected')
say(`\n${callbacks.length} callbacks, each verified. The service has shut down cleanly.`)

function recordCallback(callback: Callback): void {
  callbacks.push(callback)
  const { StatusDescription, Amount, TransactionAmount, HasAmountMismatch } = callback
  const mismatch = HasAmountMismatch ? ', AMOUNT MISMATCH' : ''
  say(`  callback: ${StatusDescription}, ${TransactionAmount} of ${Amount}${mismatch}; hash and signature are valid`)
}

async function play(): Promise<void> {
  const { wallet } = sandbox
  say(
    `The service runs at ${baseUrl} with a sample merchant and a sample customer: ${wallet.email} has ${wallet.balance}.`,
  )
  say(`A shop runs at ${shop.url}. The operator configures its addresses (transferd merchants set):`)
  const addresses = ['--callback-url', `${shop.url}/callbacks`, '--return-url', `${shop.url}/return`]
  await service.cli('merchants', 'set', sandbox.merchantId, ...addresses)
  say(`  callbacks to ${shop.url}/callbacks`)
  const merchant = new TransferdClient({ baseUrl, ...sandbox })
  const customer = new Customer(wallet.email, wallet.password, () => service.cli<Message[]>('outbox', 'list'), say)

  const hosted = await hostedDeposit(customer)
  const native = await nativeDeposit(customer)
  const mismatch = await underpaidDeposit(merchant)
  const withdrawal = await withdraw()
  const cancelled = await cancelDeposit(merchant)

  say('\nThe log contains the whole history (transferd events show):')
  for (const paid of [hosted, native, mismatch]) await showHistory(paid, ['DepositCreated', 'TransferCompleted'])
  await showHistory(withdrawal, ['WithdrawalCreated', 'TransferSentToManualControl', 'TransferCompleted'])
  await showHistory(cancelled, ['DepositCreated', 'TransferCancelled'])
}

async function hostedDeposit(customer: Customer): Promise<string> {
  say('\nHosted deposit of 100.00: the shop shows the payment page in a frame.')
  const { trackingId, url } = await order('hosted', '100.00')
  say(`  ${url}`)
  await customer.payOnPage(url)
  const { HasAmountMismatch, TransactionAmount } = await callbackOf(trackingId, 2)
  assert.deepEqual([HasAmountMismatch, TransactionAmount], [false, '100.00'])
  return trackingId
}

async function nativeDeposit(customer: Customer): Promise<string> {
  say("\nNative deposit of 250.50: the customer stays on the shop's pages and uses a known device.")
  const { trackingId, referenceId } = await order('native', '250.50')
  await customer.payInShop(`${shop.url}/orders/${referenceId}`)
  await callbackOf(trackingId, 2)
  assert.equal(shop.orders.find(referenceId)?.status, 'Completed', 'the shop has the status')
  return trackingId
}

/** Places an order like the form on the shop's front page. */
async function order(way: string, amount: string) {
  const body = new URLSearchParams({ way, amount, accountNumber: 'DE89370400440532013000' })
  const response = await fetch(`${shop.url}/orders`, { method: 'POST', body })
  assert.equal(response.status, 200, await response.text())
  const placed = shop.orders.find(response.url.split('/').at(-1)!)
  assert.ok(placed, 'the shop has the order')
  say(`  created: trackingId ${placed.trackingId}`)
  return placed
}

async function underpaidDeposit(merchant: TransferdClient): Promise<string> {
  say('\nDeposit of 250.50 by bank transfer, of which 95.00 arrive:')
  const request = depositOf('250.50')
  const deposit = await merchant.createHostedDeposit(request)
  const { trackingId } = deposit
  say(`  created: trackingId ${trackingId}`)
  assert.deepEqual(await merchant.createHostedDeposit(request), deposit, 'a repeat gets the same response')
  const isReused = (error: unknown) => error instanceof ApiError && error.code === ErrorCode.ReferenceReused
  await assert.rejects(merchant.createHostedDeposit({ ...request, amount: '250.51' }), isReused)
  say('  a repeat of the request gets the same response; one with a different amount is rejected')
  await settle(trackingId, 'complete', '--amount', '95.00', '--receipt-url', 'https://receipts.example.com/1')
  const callback = await callbackOf(trackingId, 2)
  assert.equal(callback.HasAmountMismatch, true, 'the callback reports the mismatch')
  assert.deepEqual([callback.Amount, callback.TransactionAmount], ['250.50', '95.00'])
  assert.equal(callback.ReceiptUrl, 'https://receipts.example.com/1')
  return trackingId
}

async function withdraw(): Promise<string> {
  say('\nWithdrawal of 75.25: reviewed manually, then paid.')
  const { trackingId } = await order('withdrawal', '75.25')
  await settle(trackingId, 'manual', '--message', 'large for a new account')
  await callbackOf(trackingId, 3)
  await settle(trackingId, 'complete')
  await callbackOf(trackingId, 2)
  return trackingId
}

async function cancelDeposit(merchant: TransferdClient): Promise<string> {
  say('\nHosted deposit of 30, cancelled:')
  const { trackingId } = await merchant.createHostedDeposit(depositOf('30'))
  say(`  created: trackingId ${trackingId}`)
  await settle(trackingId, 'cancel', '--message', 'the customer changed their mind')
  const callback = await callbackOf(trackingId, 4)
  assert.equal(callback.Message, 'the customer changed their mind')
  const { statusDescription } = await merchant.getTransfer(trackingId)
  assert.equal(statusDescription, 'Cancelled', 'the merchant can read the transfer')
  return trackingId
}

function depositOf(amount: string) {
  const customer = { userId: '42', name: 'Ada Lovelace', username: 'ada' }
  return { ...customer, amount, referenceId: randomUUID(), paymentMethod: 1 }
}

async function settle(trackingId: string, command: string, ...options: string[]): Promise<void> {
  say(`  transferd transfers ${[command, trackingId, ...options].join(' ')}`)
  const { changed } = await service.cli<{ changed: boolean }>('transfers', command, trackingId, ...options)
  assert.equal(changed, true, 'the transfer changed')
}

async function callbackOf(trackingId: string, status: number): Promise<Callback> {
  const deadline = Date.now() + callbackWithinMs
  for (;;) {
    const found = callbacks.find((callback) => callback.TrackingId === trackingId && callback.Status === status)
    if (found) return found
    assert.ok(Date.now() < deadline, `no callback of ${trackingId} with status ${status} arrived: ${shop.rejected}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function showHistory(trackingId: string, expected: readonly string[]): Promise<void> {
  const events = await service.cli<{ revision: number; type: string; recordedAt: string }[]>(
    'events',
    'show',
    trackingId,
  )
  say(`  transfer-${trackingId}`)
  for (const { revision, type, recordedAt } of events) say(`    ${revision}  ${recordedAt}  ${type}`)
  assert.deepEqual(
    events.map(({ type }) => type),
    expected,
  )
}

function say(line: string): void {
  console.log(line)
}
