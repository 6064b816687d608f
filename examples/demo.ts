/**
 * The whole story in one terminal: a service, a merchant with its receiver, and an operator at the command line. Everything
 * goes through the HTTP API and the CLI. Ends with exit status 0 only when every answer and every callback was right.
 */
import { strict as assert } from 'node:assert'
import { randomUUID } from 'node:crypto'
import { type Answer, MerchantClient } from './merchant.js'
import { type Callback, type Credentials, startReceiver } from './receiver.js'
import { startService } from './service.js'

const callbackWithinMs = 10_000

const callbacks: Callback[] = []
const receiver = await startReceiver((callback) => {
  callbacks.push(callback)
  const { StatusDescription, Amount, TransactionAmount, HasAmountMismatch } = callback
  const mismatch = HasAmountMismatch ? ', AMOUNT MISMATCH' : ''
  say(`  callback: ${StatusDescription}, ${TransactionAmount} of ${Amount}${mismatch}; hash and signature are right`)
})
const service = await startService()
let stopped: number | null = null
try {
  await play()
} finally {
  stopped = await service.stop()
  receiver.close()
}
assert.equal(stopped, 0, 'the service ended with exit status 0')
assert.deepEqual(receiver.rejected, [], 'no callback was rejected')
say(`\n${callbacks.length} callbacks, each verified. The service has shut down cleanly.`)

async function play(): Promise<void> {
  say(`The service runs at ${service.baseUrl}\n\nAn operator registers a merchant (transferd merchants create):`)
  const settings = ['--name', 'Demo shop', '--callback-url', receiver.url, '--sandbox', '--allow-ip', '127.0.0.1']
  const credentials = await service.cli<Credentials & { id: string }>('merchants', 'create', ...settings)
  receiver.trust(credentials)
  say(`  merchant ${credentials.id}, callbacks to ${receiver.url}`)
  const merchant = new MerchantClient(service.baseUrl, credentials)

  const hosted = await hostedDeposit(merchant)
  const native = await nativeDeposit(merchant)
  const withdrawal = await withdraw(merchant)
  const cancelled = await cancelledDeposit(merchant)

  say('\nThe log has it all (transferd events show):')
  await showHistory(hosted, ['DepositCreated', 'TransferCompleted'])
  await showHistory(native, ['DepositCreated', 'TransferCompleted'])
  await showHistory(withdrawal, ['WithdrawalCreated', 'TransferSentToManualControl', 'TransferCompleted'])
  await showHistory(cancelled, ['DepositCreated', 'TransferCancelled'])
}

async function hostedDeposit(merchant: MerchantClient): Promise<string> {
  say('\nHosted deposit of 100.00: the customer is sent to the url of the answer.')
  const referenceId = randomUUID()
  const { body, trackingId } = created(await merchant.hostedDeposit(referenceId, '100.00'))
  say(`  ${body.url}`)
  const page = await fetch(String(body.url))
  assert.equal(page.status, 200, 'the page opens')
  const repeat = await merchant.hostedDeposit(referenceId, '100.00')
  assert.deepEqual(repeat.body, body, 'a repeat is answered as the first time')
  assert.equal((await merchant.hostedDeposit(referenceId, '100.01')).status, 409, 'a changed repeat is refused')
  say('  a repeat of the request is answered alike; one with another amount is refused')
  await settle(trackingId, 'complete', '--receipt-url', 'https://receipts.example.com/1')
  const callback = await callbackOf(trackingId, 2)
  assert.equal(callback.ReceiptUrl, 'https://receipts.example.com/1')
  assert.equal(callback.HasAmountMismatch, false)
  return trackingId
}

async function nativeDeposit(merchant: MerchantClient): Promise<string> {
  say('\nNative deposit of 250.50, of which 95.00 arrive:')
  const { trackingId } = created(await merchant.nativeDeposit(randomUUID(), '250.50'))
  await settle(trackingId, 'complete', '--amount', '95.00')
  const callback = await callbackOf(trackingId, 2)
  assert.equal(callback.HasAmountMismatch, true, 'the mismatch is told')
  assert.deepEqual([callback.Amount, callback.TransactionAmount], [250.5, 95])
  return trackingId
}

async function withdraw(merchant: MerchantClient): Promise<string> {
  say('\nWithdrawal of 75.25: looked at by somebody first, then paid.')
  const { trackingId } = created(await merchant.withdrawal(randomUUID(), '75.25', 'DE89370400440532013000'))
  await settle(trackingId, 'manual', '--message', 'large for a new account')
  await callbackOf(trackingId, 3)
  await settle(trackingId, 'complete')
  await callbackOf(trackingId, 2)
  return trackingId
}

async function cancelledDeposit(merchant: MerchantClient): Promise<string> {
  say('\nHosted deposit of 30, cancelled:')
  const { trackingId } = created(await merchant.hostedDeposit(randomUUID(), '30'))
  await settle(trackingId, 'cancel', '--message', 'the customer changed their mind')
  const callback = await callbackOf(trackingId, 4)
  assert.equal(callback.Message, 'the customer changed their mind')
  const read = await merchant.get(`/v1/transfers/${trackingId}`)
  assert.equal(read.status, 200, 'the merchant can look it up')
  return trackingId
}

/** The native endpoints wrap their result, the hosted one does not. */
function created(answer: Answer): { body: Answer['body']; trackingId: string } {
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const body = (answer.body.result ?? answer.body) as Answer['body']
  assert.equal(body.statusDescription, 'Pending')
  const trackingId = String(body.trackingId)
  say(`  created: trackingId ${trackingId}`)
  return { body, trackingId }
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
    assert.ok(Date.now() < deadline, `no callback of ${trackingId} with status ${status} arrived: ${receiver.rejected}`)
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
