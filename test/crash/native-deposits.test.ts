import { randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deviceIdOf } from '../../src/commands/ids.js'
import { type TransferState, unsettledMinor } from '../../src/domain/transfer/transfer.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { decodeEvent } from '../../src/event-store/event-codec.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { createWalletAccounts } from '../../src/main/compose-wallet.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { createBuiltInWallet } from '../../src/wallet/built-in/built-in-wallet.js'
import type { Messages } from '../../src/wallet/messages.js'
import { cliJson } from '../cli/in-process.js'
import { wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'

const depositsEach = long ? 10 : 2
const accountCount = long ? 10 : 4
const kills = long ? 5 : 1
const path = '/api/services/app/TransactionRequests'
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

interface Customer {
  readonly accountNumber: number
  readonly email: string
  readonly password: string
  readonly openingMinor: bigint
}

// The test takes two minutes, or four on a busy machine. A kill resets the limit of five logins a minute per account.
t.setTimeout(900_000)

t.test(
  `${depositsEach * accountCount} native deposits on ${accountCount} accounts, ${kills} kills: the debited money equals the completed money`,
  async (t) => {
    const directory = temporaryDirectory(t)
    const options = ['--callback-url', 'http://127.0.0.1:1/', '--sandbox', '--rate-limit', '100000']
    const merchant = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Crash', ...options)
    const url = `embedded:${join(directory, 'data')}`
    const stores = await openStores(readConfiguration({ EVENT_STORE_URL: url, READ_MODEL_URL: url }))
    t.teardown(() => stores.close())
    const { eventStore, box } = stores
    const accounts = createWalletAccounts({ eventStore, box, clock: () => new Date().toISOString() })
    let sent = ''
    const messages: Messages = {
      unpreparedReason: () => undefined,
      sendSms: async ({ text }) => {
        sent = text
      },
      sendEmail: async () => {},
    }
    const wallet = createBuiltInWallet({
      accounts,
      box,
      messages,
      currency: { code: 'TRY', decimals: 2 },
      installationName: 'pay.example',
      isSandbox: () => true,
    })
    // A repeated challenge sends the same code to the customer's phone.
    const codeFor = async (token: string, { accountNumber }: Customer) => {
      const { jti } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
      await wallet.sendCode({ id: jti, accountNumber }, { merchantName: 'Shop', amountMinor: 100n })
      return /\b\d{6}\b/.exec(sent)![0]
    }
    // The devices belong to the userId of every create of the test.
    const trust = ({ accountNumber }: Customer) =>
      accounts.execute(accountNumber, { type: 'TrustDevice', device: deviceIdOf(box, merchant.id, '8412') }, context)

    const customers: Customer[] = []
    for (let n = 0; n < accountCount; n++) {
      const email = `customer${n}@example.com`
      const password = String(randomInt(1_000_000)).padStart(6, '0')
      // The balance of three customers covers one deposit but not all.
      const openingMinor = n < 3 ? 21_00n : 1_000_00n
      const opened = await accounts.open(
        { email, password, phone: `+90555000000${n}`, openingBalanceMinor: openingMinor, sandbox: true },
        context,
      )
      if (!opened.accepted) throw new Error(opened.refusal.rule)
      const customer = { accountNumber: opened.account.accountNumber, email, password, openingMinor }
      customers.push(customer)
      if (n % 3 !== 0) await trust(customer)
    }

    let service: ServiceProcess = await startServiceProcess(t, { directory })
    const { port } = service
    const baseUrl = service.baseUrl
    let isOver = false
    const acknowledged = new Set<string>()
    const retries = { cut: 0 }
    // Half of the clients send their codes together just before the kill, and the others at the kill, so that it always interrupts some.
    let gates = [newGate(), newGate()] as const
    let codes = 0

    const post = async (step: string, body: object) => {
      const response = await fetch(`${baseUrl}${path}/${step}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', WebApiKey: merchant.webApiKey },
        body: JSON.stringify(body),
      })
      const { result, error } = (await response.json()) as { result: never; error: { code: number } | null }
      return {
        status: response.status,
        code: error?.code ?? 0,
        result,
        waitMs: Number(response.headers.get('retry-after') ?? 1) * 1000,
      }
    }
    /** Repeats the request until it gets a response, because its outcome is unknown after a broken connection. */
    const retryUntilResponse = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
      for (;;) {
        try {
          return await ask()
        } catch {
          retries.cut++
          await sleep(200 + randomInt(200))
        }
      }
    }

    const pollDevice = async (trackingId: string, token: string, customer: Customer): Promise<string> => {
      for (;;) {
        const { code, result, waitMs } = await retryUntilResponse(() =>
          post('WalletValidateUserDevice', { trackingId, token }),
        )
        if (result) return 'completed'
        if (code === 20001) await trust(customer)
        else if (code !== 20002 && code !== 50301) return String(code)
        await sleep(Math.min(waitMs, 1_000))
      }
    }
    const tryOnce = async (trackingId: string, customer: Customer): Promise<string> => {
      const { email: userName, password } = customer
      const loggedIn = await retryUntilResponse(() => post('WalletCustomerLogin', { trackingId, userName, password }))
      if (!loggedIn.result) {
        // A kill resets the limit, so a repeated request is faster than a wait.
        if (loggedIn.code === 42902) await sleep(1_000 + randomInt(1_000))
        return String(loggedIn.code)
      }
      const token: string = loggedIn.result
      const code = await codeFor(token, customer)
      await gates[codes++ % 2]!.passed
      for (;;) {
        const verified = await retryUntilResponse(() => post('Wallet2Fa', { trackingId, token, code }))
        if (verified.code === 50301 || verified.code === 50302) continue
        if (!verified.result) return String(verified.code)
        const { next_step: nextStep, token: next } = verified.result as { next_step: string; token: string }
        return nextStep === 'Completed' ? 'completed' : pollDevice(trackingId, next, customer)
      }
    }
    const outcomes = new Map<string, string>()
    const client = async (customer: Customer) => {
      const amount = `${randomInt(11, 20)}.${randomInt(10, 99)}`
      const referenceId = randomUUID()
      const { body } = await retryUntilResponse(() => createDeposit(baseUrl, merchant, referenceId, amount))
      const { trackingId } = body.result!
      let refusedForBalance = 0
      while (!isOver) {
        const outcome = await tryOnce(trackingId, customer)
        outcomes.set(trackingId, outcome)
        if (outcome === 'completed') acknowledged.add(trackingId)
        // A request whose response was lost may have paid the deposit.
        if (outcome === 'completed' || outcome === '40903') return
        if (outcome === '40906' && ++refusedForBalance === 2) return
        await sleep(100 + randomInt(400))
      }
    }
    const clients = customers.flatMap((customer) => Array.from({ length: depositsEach }, () => client(customer)))
    const allDone = Promise.all(clients)

    for (let kill = 0; kill < kills; kill++) {
      await sleep(2_500)
      const [before, during] = gates
      gates = [newGate(), newGate()]
      before.open()
      await sleep(randomInt(1, 200))
      during.open()
      await service.end('SIGKILL')
      service = await startServiceProcess(t, { directory, port })
    }
    for (const gate of gates) gate.open()
    const timer = setTimeout(() => {
      isOver = true
    }, 500_000)
    await allDone
    clearTimeout(timer)
    t.notOk(isOver, 'every client ends')
    t.ok(retries.cut > kills, `${retries.cut} requests were cut off`)

    // Interrupted payments are completed without a request.
    const unfinished = async () => unfinishedPayments(await wholeLog(eventStore))
    for (let n = 0; n < 600 && (await unfinished()).length > 0; n++) await sleep(200)
    t.strictSame(await unfinished(), [])
    t.equal(await service.end('SIGTERM'), 0)
    const log = await wholeLog(eventStore)

    const debited = new Map<string, bigint>()
    for (const { accountNumber, openingMinor } of customers) {
      let balance = 0n
      for (const { type, data } of log.filter(({ stream }) => stream === `wallet-${accountNumber}`)) {
        if (type === 'WalletAccountCredited') balance += BigInt(String(data.amountMinor))
        if (type !== 'WalletAccountDebited') continue
        const amount = BigInt(String(data.amountMinor))
        balance -= amount
        t.ok(balance >= 0n, 'no balance is ever negative')
        t.notOk(debited.has(String(data.trackingId)), 'each deposit is debited once')
        debited.set(String(data.trackingId), amount)
      }
      t.ok(balance >= 0n && balance < openingMinor)
    }
    const completed = new Map<string, bigint>()
    const transfers = transfersOf(log)
    t.equal(transfers.length, depositsEach * accountCount)
    for (const transfer of transfers) {
      if (transfer.kind === 'none') continue
      t.ok(transfer.status === 'Completed' || transfer.status === 'Pending', transfer.status)
      t.equal(unsettledMinor(transfer), 0n)
      if (transfer.status === 'Completed') completed.set(transfer.trackingId, transfer.transactionAmountMinor)
    }
    t.strictSame([...debited].sort(), [...completed].sort(), 'the debits equal the completions')
    const sum = (amounts: Iterable<bigint>) => [...amounts].reduce((total, amount) => total + amount, 0n)
    t.equal(sum(debited.values()), sum(completed.values()))
    for (const trackingId of acknowledged) t.ok(completed.has(trackingId), 'every acknowledged payment is completed')
    const refused = [...outcomes.values()].filter((outcome) => outcome === '40906').length
    t.ok(refused > 0, 'some deposits exceed the balance')
    const recovered = log.filter(
      ({ type, metadata }) => type.startsWith('Transfer') && metadata.actor === 'system:payments',
    )
    t.comment(
      `${completed.size} completed, ${acknowledged.size} of them acknowledged, ${refused} refused, ${recovered.length} recovered; ${retries.cut} requests cut off`,
    )
  },
)

/** Returns a gate. Work that awaits `passed` continues when the gate is opened. */
function newGate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

/** Returns the open collections, and those whose money the transfer has not recorded. */
function unfinishedPayments(log: readonly RecordedEvent[]): string[] {
  const open = new Set<string>()
  for (const { stream, type, data } of log) {
    const trackingId = stream.replace(/^\w+-/, '')
    if (type === 'WalletCollectionStarted') open.add(trackingId)
    if (type === 'WalletCollectionEnded' && data.outcome !== 'collected') open.delete(trackingId)
    if (type === 'TransferCompleted') open.delete(trackingId)
  }
  return [...open]
}

function transfersOf(log: readonly RecordedEvent[]): TransferState[] {
  const states = new Map<string, TransferState>()
  for (const recorded of log) {
    if (!recorded.stream.startsWith('transfer-')) continue
    const before = states.get(recorded.stream) ?? transferDecider.initialState
    states.set(recorded.stream, transferDecider.evolve(before, decodeEvent(recorded) as TransferEvent))
  }
  return [...states.values()]
}
