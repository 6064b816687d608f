import { chmodSync, cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { hashCode } from '../../src/security/hash-code.js'
import { startReceiver } from '../callbacks/receiver.js'
import { cliJson } from '../cli/in-process.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

// Opens what an earlier version wrote; test/fixtures/data-directory-v1/README.md says what is in it.

t.setTimeout(300_000)

const fixture = fileURLToPath(new URL('../../../test/fixtures/data-directory-v1/', import.meta.url))
const blue = JSON.parse(readFileSync(join(fixture, 'merchant.json'), 'utf8')) as Credentials

/** Status, what moved and what needs attention, by referenceId. Two deposits were still open: their time is over. */
const transfers: readonly (readonly [string, string, number, number])[] = [
  ['pending', 'Pending', 0, 0],
  ['hosted-pending-then-expired', 'Cancelled', 0, 0],
  ['wallet-too-little', 'Cancelled', 0, 0],
  ['expired', 'Cancelled', 0, 0],
  ['failed', 'Failed', 0, 0],
  ['manual-control', 'ManualControl', 0, 0],
  ['completed', 'Completed', 100, 0],
  ['completed-within-tolerance', 'Completed', 99.6, 0],
  ['completed-with-less', 'Completed', 95, 0],
  ['completed-paid-twice', 'Completed', 100, 100],
  ['received-more', 'Completed', 105, 0],
  ['wallet-new-device', 'Completed', 120, 0],
  ['wallet-above-threshold', 'ManualControl', 600, 600],
  ['threshold-held', 'ManualControl', 2000, 2000],
  ['threshold-completed', 'Completed', 2000, 0],
  ['threshold-cancelled', 'Cancelled', 2000, 2000],
  ['late-cancelled', 'Cancelled', 100, 100],
  ['late-twice-reopened-completed', 'Completed', 100, 0],
  ['late-reopened-completed-with-40', 'Completed', 40, 60],
  ['late-reopened-cancelled-again', 'Cancelled', 100, 100],
  ['late-reopened-then-received', 'ManualControl', 100, 100],
  ['mismatch-cancelled', 'Cancelled', 95, 95],
  ['mismatch-received', 'Cancelled', 95, 95],
  ['mismatch-reopened', 'ManualControl', 95, 95],
  ['mismatch-reopened-completed', 'Completed', 100, 0],
  ['mismatch-reopened-cancelled', 'Cancelled', 95, 95],
  ['callback-parked', 'Cancelled', 0, 0],
  ['callback-requeued', 'Cancelled', 0, 0],
  ['callback-gone', 'Cancelled', 0, 0],
  ['withdrawal-pending', 'Pending', 0, 0],
  ['withdrawal-completed', 'Completed', 250, 0],
  ['withdrawal-paid-more', 'Completed', 300, 0],
  ['withdrawal-manual-control', 'ManualControl', 0, 0],
  ['withdrawal-cancelled', 'Cancelled', 0, 0],
  ['withdrawal-failed', 'Failed', 0, 0],
]

interface View {
  readonly trackingId: string
  readonly referenceId: string
  readonly statusDescription: string
  readonly transactionAmount: number
  readonly lateFunds: number
  readonly receiptUrl: string | null
}

function copied(t: Test): string {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  mkdirSync(data, { mode: 0o700 })
  for (const file of ['events.db', 'read-models.db', 'master.key', 'sandbox.json']) {
    cpSync(join(fixture, file), join(data, file))
    // Version control keeps no more of a mode than whether it is a program.
    chmodSync(join(data, file), 0o600)
  }
  return directory
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 60_000
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`did not hold within 60 s: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

t.test('the service goes on in a data directory of version 0.1.0', async (t) => {
  const directory = copied(t)
  const receiver = await startReceiver(t)
  const cli = <Answer>(...args: string[]) => cliJson<Answer>(directory, ...args)
  const service = await startServiceProcess(t, { directory })
  const listed = async () => (await cli<{ items: View[] }>('transfers', 'list', '--limit', '1000')).items
  const summary = (view: View) => [view.referenceId, view.statusDescription, view.transactionAmount, view.lateFunds]
  const sorted = (rows: readonly (readonly unknown[])[]) => rows.map((row) => row.join(' ')).sort()

  let found: View[] = []
  await t.test('transfers are listed and shown with their status and what became of their money', async (t) => {
    await until(async () => {
      found = await listed()
      return found.filter(({ statusDescription }) => statusDescription === 'Pending').length === 2
    })
    t.strictSame(sorted(found.map(summary)), sorted(transfers))
    for (const reference of ['late-cancelled', 'mismatch-cancelled', 'received-more', 'threshold-cancelled']) {
      const { trackingId } = found.find(({ referenceId }) => referenceId === reference)!
      const [expected] = transfers.filter(([name]) => name === reference)
      t.strictSame(summary(await cli<View>('transfers', 'show', trackingId)), expected)
    }
    const receipted = found.find(({ referenceId }) => referenceId === 'withdrawal-completed')
    t.equal(receipted?.receiptUrl, 'https://bank.example/receipts/77')
  })

  await t.test('merchants keep their settings, wallet accounts their money', async (t) => {
    const { items } = await cli<{ items: { name: string }[] }>('merchants', 'list')
    t.match(
      items.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      [
        {
          name: 'Blue Shop',
          mismatchTolerance: 0.5,
          manualControlAbove: 1000,
          requireSignature: 'all',
          sandbox: false,
        },
        { name: 'Busy Shop', callbacksDisabled: 'nothing but failures for 120 hours' },
        { name: 'Gone Shop', callbacksDisabled: /410/ },
        // What serve made to try things with; there are live merchants.
        { name: 'Sandbox', manualControlAbove: 500, suspended: true },
        { name: 'Strict Shop', autoCancelMismatch: true, callbacksDisabled: null },
      ],
    )
    const paid = JSON.parse(readFileSync(join(fixture, 'sandbox.json'), 'utf8')) as {
      wallet: { accountNumber: number }
    }
    const account = await cli<object>('wallets', 'show', `${paid.wallet.accountNumber}`)
    t.match(account, {
      balance: 9280,
      movements: [
        { kind: 'debit', amount: 600 },
        { kind: 'debit', amount: 120 },
        { kind: 'credit', amount: 10_000 },
      ],
    })
  })

  await t.test('callbacks that were given up or waited are sent, and those that were delivered again', async (t) => {
    const { items } = await cli<{ items: { id: string; name: string }[] }>('merchants', 'list')
    const idOf = (name: string) => items.find((merchant) => merchant.name === name)!.id
    const trackingIdOf = (name: string) => found.find(({ referenceId }) => referenceId === name)!.trackingId
    const arrived = (reference: string) => receiver.received.filter(({ body }) => body.RefereneceId === reference)
    // Another endpoint enables callbacks again, so what waited goes out by itself.
    for (const name of ['Busy Shop', 'Gone Shop', 'Strict Shop']) {
      await cli('merchants', 'set', idOf(name), '--callback-url', receiver.url)
    }
    await until(() => arrived('callback-requeued').length === 1 && arrived('callback-gone').length === 1)
    t.equal(arrived('callback-parked').length, 0)
    t.match(await cli('callbacks', 'replay-parked'), { requeued: [String] })
    await until(() => arrived('callback-parked').length === 1)
    await cli('callbacks', 'resend', trackingIdOf('mismatch-received'))
    await until(() => arrived('mismatch-received').length === 1)
    t.match(arrived('mismatch-received')[0]!.body, {
      Status: 4,
      TrackingId: trackingIdOf('mismatch-received'),
      Amount: 100,
      TransactionAmount: 95,
      HasAmountMismatch: true,
    })
  })

  await t.test('its merchant creates with the credentials it had', async (t) => {
    await cli('merchants', 'set', blue.id, '--allow-ip', '127.0.0.0/8', '--no-require-signature')
    let created = await createDeposit(service.baseUrl, blue, 'new')
    // The service hears of the setting a moment later.
    await until(async () => {
      if (created.status === 403) created = await createDeposit(service.baseUrl, blue, 'new')
      return created.status !== 403
    })
    t.match(created, { status: 200, body: { success: true, result: { referenceId: 'new' } } })
    await until(async () => (await listed()).some(({ referenceId }) => referenceId === 'new'))
  })

  await t.test('the hash of a deposit it had, and that of its callback, create no withdrawal', async (t) => {
    for (const [amount, referenceId] of [
      ['100.00', 'completed'],
      ['100', 'completed'],
      ['100', 'pending'],
    ] as const) {
      const fields = {
        ...{ userId: '1', name: 'Eve', username: 'eve', accountNumber: 'TR00', transactionType: 2, paymentMethod: 1 },
        ...{ referenceId, hashCode: hashCode(blue.secretKey, amount, referenceId) },
      }
      const response = await fetch(`${service.baseUrl}/api/services/app/TransactionRequests/CreateWithdraw`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', WebApiKey: blue.webApiKey },
        body: `{"amount":${amount},${JSON.stringify(fields).slice(1)}`,
      })
      t.match(await response.json(), { success: false, error: { code: 40902 } }, `${amount} ${referenceId}`)
    }
  })

  t.equal(await service.end('SIGTERM'), 0)
  await t.test('its read models are what the whole log makes them, and its groups are where they were', async (t) => {
    const url = `embedded:${join(directory, 'data')}`
    const stores = await openStores(readConfiguration({ EVENT_STORE_URL: url, READ_MODEL_URL: url }))
    t.teardown(() => stores.close())
    const { eventStore, readModels } = stores
    t.strictSame(await storedDocuments(readModels), expectedDocuments(await wholeLog(eventStore)))
    const { checkpoint, parkedCount } = await eventStore.persistentSubscriptions.info('audit')
    t.match({ checkpoint, parkedCount }, { checkpoint: { commit: 8n }, parkedCount: 1 })
  })
})
