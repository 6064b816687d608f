import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  type Scenario,
  type ScenarioName,
  scenarioNames,
  scenarioReference,
  scenarios,
} from '../../src/domain/scenarios.js'
import { testCustomer } from '../../src/wallet/test-customer.js'
import { accepts, type Received, startReceiver } from '../callbacks/receiver.js'
import { cliJson } from '../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { until } from '../support/until.js'

const iban = 'DE89370400440532013000'
const freeAmount = '250.00'
const page = readFileSync('docs/merchants/scenarios.md', 'utf8')

/** A row of the table in the documentation. */
interface Row {
  readonly name: ScenarioName
  readonly kind: string
  readonly amount: string
  readonly statuses: readonly string[]
  readonly callbacks: readonly string[]
}

const rows: readonly Row[] = [...page.matchAll(/^\| `([a-z-]+)` \| (deposit|withdrawal) \| (.*) \|$/gm)].map(
  ([, name, kind, rest]) => {
    const [amount, , statuses, callbacks] = rest!.split(' | ') as [string, string, string, string]
    return {
      ...{ name: name as ScenarioName, kind: kind!, amount },
      ...{ statuses: statuses.split(', '), callbacks: callbacks.split(', ') },
    }
  },
)

t.test('the documentation has the table of the program', async (t) => {
  t.same(
    rows.map(({ name, kind, amount }) => ({ name, kind, amount })),
    scenarioNames.map((name) => {
      const { kind, amountMinor } = scenarios[name]
      return { name, kind, amount: (Number(amountMinor) / 100).toFixed(2) }
    }),
  )
  const values = scenarioNames.map((name) => `${scenarios[name].kind} ${scenarios[name].amountMinor}`)
  t.equal(new Set(values).size, values.length, 'each amount has one meaning')
  for (const name of scenarioNames) t.ok(scenarioReference(name, randomUUID().replaceAll('-', '')).length <= 64, name)
  for (const text of Object.values(testCustomer)) t.ok(page.includes(`\`${text}\``), `the page names ${text}`)
})

/** Starts a sandbox whose merchant has a receiver, and returns a client of the merchant. */
async function scene(t: Test) {
  const directory = temporaryDirectory(t)
  const at = new Map<string, number>()
  const receiver = await startReceiver(t, (received, response, request) => {
    at.set(received.webhookId, Date.now())
    accepts(received, response, request)
  })
  const service = await startServiceProcess(t, { directory })
  const { sandbox } = service
  await cliJson(directory, 'merchants', 'set', sandbox!.merchantId, '--callback-url', receiver.url)
  await cliJson(directory, 'callbacks', 'enable', sandbox!.merchantId)
  return { directory, service, receiver, at, client: new RawMerchantClient(service.baseUrl, sandbox!) }
}

type Item = { readonly type: string; readonly at: string; readonly actor: string }

const statusAfter: { readonly [type: string]: string } = {
  ...{ DepositCreated: 'Pending', WithdrawalCreated: 'Pending', TransferCompleted: 'Completed' },
  ...{ TransferCancelled: 'Cancelled', TransferFailed: 'Failed', TransferReopened: 'ManualControl' },
  TransferSentToManualControl: 'ManualControl',
}

function callbackText({ body }: Received, amount: string): string {
  const { StatusDescription, TransactionAmount, HasAmountMismatch } = body
  const text = `${StatusDescription} ${TransactionAmount === 0 ? '0' : Number(TransactionAmount).toFixed(2)}`
  // The row states the amounts for a transfer of its amount.
  return `${text.replace(amount, 'all')}${HasAmountMismatch ? ' (mismatch)' : ''}`
}

t.test('each row plays its statuses and callbacks, by amount and by reference', async (t) => {
  const { client, receiver, at } = await scene(t)
  const played = rows.flatMap((row) => [
    { row, amount: row.amount, referenceId: randomUUID() },
    { row, amount: freeAmount, referenceId: scenarioReference(row.name, randomUUID().slice(0, 8)) },
  ])
  const create = ({ row, amount, referenceId }: (typeof played)[number]) =>
    row.kind === 'deposit' ? client.hostedDeposit(referenceId, amount) : client.withdrawal(referenceId, amount, iban)
  const trackingIds = await Promise.all(
    played.map(async (each) => {
      const { body } = await create(each)
      return String((body.result as typeof body | undefined)?.trackingId ?? body.trackingId)
    }),
  )
  const historyOf = async (id: string) => (await client.get(`/v1/transfers/${id}/events`)).body.items as readonly Item[]
  for (const [n, { row }] of played.entries()) {
    const { ends } = scenarios[row.name] as Scenario
    const callbacksOf = () => receiver.received.filter(({ trackingId }) => trackingId === trackingIds[n]).length
    await until(
      async () =>
        // The API limits requests, so it is queried last.
        callbacksOf() >= row.callbacks.length &&
        (await historyOf(trackingIds[n]!)).some(({ type }) => (ends as readonly string[]).includes(type)),
    )
  }
  // The last callback was delayed for ten seconds, so a step too many of any other transfer would be there by now.
  for (const [n, { row, amount }] of played.entries()) {
    const id = trackingIds[n]!
    const history = await historyOf(id)
    const statuses = history.flatMap(({ type }) => statusAfter[type] ?? [])
    t.same(statuses, row.statuses, `${row.name}: statuses`)
    const received = receiver.received.filter(({ trackingId }) => trackingId === id)
    const less = (Number(amount) - 1).toFixed(2)
    t.same(
      received.map((each) => callbackText(each, amount)),
      row.callbacks.map((text) => text.replace(row.amount, 'all').replace('65.02', less)),
      `${row.name}: callbacks`,
    )
    for (const { actor } of history.slice(1)) t.ok(['customer', 'system:scenario'].includes(actor), actor)
    if (row.name === 'delayed-callback')
      t.ok(at.get(received[0]!.webhookId)! - Date.parse(history.at(-1)!.at) >= 10_000, 'the callback was delayed')
    if (row.name === 'late-money') t.equal(history.at(-1)?.type, 'LateFundsReceived')
  }
})
