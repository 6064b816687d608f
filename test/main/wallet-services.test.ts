import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { type Message, startWalletCore } from '../../examples/wallet-core.js'
import { cliJson } from '../cli/in-process.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'

const password = '730914'
const native = '/api/services/app/TransactionRequests'

interface Answer {
  readonly status: number
  readonly body: { readonly success: boolean; readonly result: unknown; readonly error: { readonly message: string } }
}

/** A merchant's server in the native flow. */
function shop({ baseUrl, sandbox }: ServiceProcess, email: string) {
  const client = new RawMerchantClient(baseUrl, sandbox!)
  const post = async (path: string, body: object): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', webapikey: sandbox!.webApiKey }
    const response = await fetch(`${baseUrl}${native}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
  return {
    async deposit(amount: string) {
      const { body } = await client.nativeDeposit(randomUUID(), amount)
      return (body.result as { trackingId: string }).trackingId
    },
    logIn: (trackingId: string, typed = password) =>
      post('WalletCustomerLogin', { trackingId, userName: email, password: typed }),
    verify: (trackingId: string, token: unknown, code: string) => post('Wallet2Fa', { trackingId, token, code }),
    validate: (trackingId: string, token: unknown) => post('WalletValidateUserDevice', { trackingId, token }),
    status: async (trackingId: string) => (await client.get(`/v1/transfers/${trackingId}`)).body.statusDescription,
  }
}

t.test('pays a deposit from a built-in wallet that the command line has set up', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory })
  const email = 'ada@example.com'
  const opening = [
    '--email',
    email,
    '--password',
    password,
    '--phone',
    '+905551234567',
    '--balance',
    '150.00',
    '--sandbox',
  ]
  const { accountNumber } = await cliJson<{ accountNumber: number }>(directory, 'wallets', 'open', ...opening)
  const { merchantId } = service.sandbox!
  const { deposit, logIn, verify, validate, status } = shop(service, email)
  const messages = () => cliJson<(Message & { kind: string })[]>(directory, 'outbox', 'list')

  const first = await deposit('100.00')
  const loggedIn = await logIn(first)
  t.match(loggedIn, { status: 200, body: { success: true } })
  const [sms] = await messages()
  t.match(sms, { kind: 'sms', to: '+905551234567', code: /^\d{6}$/, link: null })
  const verified = await verify(first, loggedIn.body.result, sms!.code!)
  const { next_step, token } = verified.body.result as { next_step: string; token: string }
  t.equal(next_step, 'ValidateUserDevice')
  const [message] = await messages()
  t.match(message, { kind: 'email', to: email, code: null, link: new RegExp(`^${service.baseUrl}/`) })
  t.match((await validate(first, token)).body, { success: false }, 'the customer has not confirmed the device yet')
  t.equal(await status(first), 'Pending')
  await cliJson(
    directory,
    ...['wallets', 'trust-device', `${accountNumber}`, '--merchant', merchantId, '--user', '8412'],
  )

  const second = await deposit('50.50')
  const secondToken = (await logIn(second)).body.result
  const refused = await verify(second, secondToken, (await messages())[0]!.code!)
  t.notMatch(refused.body.result, { next_step: 'ValidateUserDevice' }, 'the device is trusted now')
  const third = await deposit('150.00')
  const thirdToken = (await logIn(third)).body.result
  const completed = await verify(third, thirdToken, (await messages())[0]!.code!)
  const shown = await cliJson<{ balance: number; movements: object[] }>(
    directory,
    'wallets',
    'show',
    `${accountNumber}`,
  )
  t.match(shown.movements.at(-1), { kind: 'credit', amount: 150 })
  const completions = [await status(first), await status(second), await status(third)]
  t.same(completions, ['Pending', 'Completed', 'Pending'])
  t.match(completed.body, { success: false, error: { message: /balance/i } })
  t.equal(shown.balance, 99.5)
  t.match(shown.movements, [
    { kind: 'refused debit', amount: 150, trackingId: third },
    { kind: 'debit', amount: 50.5, trackingId: second },
  ])

  t.match(await cliJson(directory, 'transfers', 'show', second), {
    walletCollections: [{ accountNumber, amount: 50.5, outcome: 'collected', collectedAmount: 50.5, endedAt: /Z$/ }],
  })
  t.match(await cliJson(directory, 'transfers', 'show', third), {
    walletCollections: [{ accountNumber, amount: 150, outcome: 'refused', collectedAmount: 0 }],
  })

  const otherCustomer = shop(service, 'eve@example.com')
  const failures = [
    refused,
    completed,
    await otherCustomer.logIn(third, '580263'),
    await verify(third, thirdToken, '617042'),
  ]
  t.match(failures.at(-2), { status: 400, body: { success: false } })
  t.match(failures.at(-1), { status: 400, body: { success: false } })
  const sent = await messages()
  const secrets = [password, '580263', '617042', ...sent.map(({ code, link }) => code ?? link!.split('/').at(-1)!)]
  t.equal(secrets.length, 7)
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  await service.end('SIGTERM')
  const places = {
    metrics,
    log: service.log(),
    failures: JSON.stringify(failures),
    ...filesOf(join(directory, 'data')),
  }
  for (const [place, text] of Object.entries(places)) {
    for (const secret of secrets) t.notOk(text.includes(secret), `${secret} in ${place}`)
  }
})

/** Returns the bytes of each file. */
function filesOf(directory: string): { readonly [name: string]: string } {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'latin1')]))
}

/** A proxy for a wallet core that can drop the responses to requests for money. */
async function startGateway(core: string) {
  const requests: string[] = []
  let isDropping = false
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    requests.push(`${request.method} ${request.url}`)
    const { authorization = '' } = request.headers
    const { method = '' } = request
    const answer = await fetch(`${core}${request.url}`, { method, headers: { authorization }, ...(body && { body }) })
    const text = await answer.text()
    if (isDropping && method === 'POST' && request.url === '/collections') response.socket?.resetAndDestroy()
    else response.writeHead(answer.status).end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    dropResponses: () => {
      isDropping = true
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

t.test(
  'pays a deposit from a wallet core, and requests attention if the response about the money is lost',
  async (t) => {
    const messages: Message[] = []
    const coreToken = 'core-token'
    const core = await startWalletCore({ token: coreToken, onMessage: (message) => messages.unshift(message) })
    t.teardown(() => core.stop())
    const gateway = await startGateway(core.url)
    t.teardown(() => gateway.stop())
    const email = 'ada@example.com'
    const accountNumber = core.openAccount({
      email,
      password,
      phone: '+905551234567',
      sandbox: true,
      balanceMinor: 20_000,
    })
    const balance = () => core.accounts.get(accountNumber)?.balanceMinor
    const environment = { WALLET_URL: gateway.url, WALLET_TOKEN: coreToken }
    const service = await startServiceProcess(t, { directory: temporaryDirectory(t), environment })
    const { deposit, logIn, verify, status } = shop(service, email)
    const logInAndVerify = async (trackingId: string) => {
      const { body } = await logIn(trackingId)
      return verify(trackingId, body.result, messages[0]!.code!)
    }

    const unknown = await logInAndVerify(await deposit('100.00'))
    t.match(unknown.body.result, { next_step: 'ValidateUserDevice', account_number: accountNumber })
    t.match(messages[0], { to: email, link: new RegExp(`^${service.baseUrl}/`) })
    // This request has the effect of the customer's confirmation on the page.
    const device = gateway.requests
      .find((line) => line.startsWith('GET /accounts/'))!
      .split('/')
      .at(-1)
    const trusted = await fetch(`${core.url}/accounts/${accountNumber}/devices`, {
      method: 'POST',
      headers: { authorization: `Bearer ${coreToken}` },
      body: JSON.stringify({ device }),
    })
    t.equal(trusted.status, 200)

    const paid = await deposit('60.00')
    t.match((await logInAndVerify(paid)).body.result, { next_step: 'Completed' })
    t.same([await status(paid), balance()], ['Completed', 14_000])

    gateway.dropResponses()
    const unanswered = await deposit('100.00')
    t.match(await logInAndVerify(unanswered), { body: { success: false } })
    t.same(
      [await status(unanswered), balance()],
      ['ManualControl', 4_000],
      'the wallet took the money, and its response was lost',
    )
    t.equal(
      gateway.requests.filter((line) => line === 'POST /collections').length,
      2,
      'the service does not request the money again',
    )

    await gateway.stop()
    // Logins with one email are throttled.
    const other = shop(service, 'eve@example.com')
    t.match(await other.logIn(await deposit('10.00')), { status: 503, body: { success: false } })
    await service.end('SIGTERM')
    t.notMatch(service.log(), new RegExp(`${password}|${coreToken}`))
  },
)
