import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MerchantClient } from '../../examples/merchant/merchant-api-client.js'
import { banner } from '../../src/sandbox/banner.js'
import { cliItems, cliJson } from '../cli/in-process.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'

function clientOf({ baseUrl, sandbox }: ServiceProcess): MerchantClient {
  return new MerchantClient(baseUrl, sandbox!)
}

const outboxOf = async ({ baseUrl }: ServiceProcess, token: string) =>
  (await fetch(`${baseUrl}/sandbox/outbox?token=${token}`)).status

t.test(
  'starts an empty directory in sandbox mode, and keeps the merchant, users and customer at later starts',
  async (t) => {
    const directory = temporaryDirectory(t)
    const first = await startServiceProcess(t, { directory })
    t.equal((await clientOf(first).hostedDeposit('first', '100.00')).status, 200)
    const { outboxToken, wallet } = first.sandbox!
    t.match(wallet, { email: 'customer@example.com', password: /^\d{6}$/, balance: 10_000 })
    t.match(await cliJson(directory, 'wallets', 'show', String(wallet!.accountNumber)), {
      sandbox: true,
      balance: 10_000,
      trustedDevices: [],
    })
    t.match(outboxToken, /^[A-Za-z0-9_-]{43}$/)
    t.equal(await outboxOf(first, outboxToken), 200)
    for (const wrong of ['', 'x', outboxToken.slice(1), `${outboxToken}A`]) {
      t.equal(await outboxOf(first, wrong), 404, 'only the token in the banner opens the outbox')
    }
    const shown = banner({ ...first, currency: { code: 'TRY', decimals: 2 }, roles: ['api'], sandbox: first.sandbox })
    t.match(shown, `/sandbox/outbox?token=${outboxToken}`)
    t.equal(await first.end('SIGTERM'), 0)
    const second = await startServiceProcess(t, { directory })
    t.same(second.sandbox, first.sandbox)
    t.same(
      first.sandbox?.users.map(({ role }) => role),
      ['viewer', 'operator', 'approver', 'auditor', 'operations', 'administrator'],
    )
    t.equal((await clientOf(second).hostedDeposit('second', '100.00')).status, 200)
    t.equal(await second.end('SIGINT'), 0)
    t.notOk(first.log().includes(outboxToken))
    t.equal(statSync(join(directory, 'data', 'sandbox.json')).mode & 0o777, 0o600)
    const core = { WALLET_URL: 'https://wallet.example', WALLET_TOKEN: 't' }
    const third = await startServiceProcess(t, { directory, environment: core })
    t.equal(third.sandbox?.wallet, undefined, 'a wallet core has its own customers')
    await third.end('SIGTERM')
  },
)

t.test('issues new credentials for the same merchant if they were lost or rotated manually', async (t) => {
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  await first.end('SIGTERM')
  rmSync(join(directory, 'data', 'sandbox.json'))
  const second = await startServiceProcess(t, { directory })
  t.equal(second.sandbox?.merchantId, first.sandbox?.merchantId)
  t.not(second.sandbox?.webApiKey, first.sandbox?.webApiKey)
  t.equal((await clientOf(second).hostedDeposit('one', '5')).status, 200)
  await second.end('SIGTERM')
  await cliJson(directory, 'merchants', 'rotate-key', second.sandbox!.merchantId, '--overlap-minutes', '0')
  await cliJson(directory, 'merchants', 'rotate-secret', second.sandbox!.merchantId, '--overlap-minutes', '0')
  const third = await startServiceProcess(t, { directory })
  t.not(third.sandbox?.webhookSecret, second.sandbox?.webhookSecret)
  t.equal(third.sandbox?.merchantId, first.sandbox?.merchantId)
  t.equal((await clientOf(third).hostedDeposit('two', '5')).status, 200)
  await third.end('SIGTERM')
})

t.test("does not change an operator's merchant with the name of the sandbox merchant", async (t) => {
  const directory = temporaryDirectory(t)
  const own = ['--sandbox', '--name', 'Sandbox', '--callback-url', 'http://127.0.0.1:9/']
  const { id, webApiKey } = await cliJson<{ id: string; webApiKey: string }>(directory, 'merchants', 'create', ...own)
  const service = await startServiceProcess(t, { directory })
  t.not(service.sandbox?.merchantId, id)
  const shown = await cliJson<{ keys: readonly { validUntil: string | null }[] }>(directory, 'merchants', 'show', id)
  t.match(shown, { keys: [{ validUntil: null }], previousSecretKeyValidUntil: null })
  t.equal(shown.keys.length, 1)
  const { status } = await fetch(`${service.baseUrl}/v1/transfers`, { headers: { webapikey: webApiKey } })
  t.equal(status, 200)
  await service.end('SIGTERM')
})

t.test('starts no sandbox if there is a live merchant or if the sandbox is disabled', async (t) => {
  const directory = temporaryDirectory(t)
  const off = await startServiceProcess(t, { directory, environment: { SANDBOX: 'off' } })
  t.equal(off.sandbox, undefined)
  await off.end('SIGTERM')
  t.same(await cliItems(directory, 'merchants', 'list'), [])
  const settings = ['--name', 'Live', '--callback-url', 'https://example.com/callbacks', '--allow-ip', '192.0.2.1']
  await cliJson(directory, 'merchants', 'create', ...settings)
  const live = await startServiceProcess(t, { directory })
  t.equal(live.sandbox, undefined)
  await live.end('SIGTERM')
})

t.test(
  'writes neither credentials of the banner nor the master key to log lines or in plaintext to the log',
  async (t) => {
    const directory = temporaryDirectory(t)
    const service = await startServiceProcess(t, { directory, environment: { LOG_LEVEL: 'trace' } })
    await clientOf(service).hostedDeposit('canary', '100.00')
    await service.end('SIGTERM')
    const masterKey = readFileSync(join(directory, 'data', 'master.key'), 'utf8').trim()
    const { webApiKey, secretKey, webhookSecret } = service.sandbox!
    const stores = readdirSync(join(directory, 'data')).filter((name) => name.includes('.db'))
    t.ok(stores.length >= 2)
    const passwords = service.sandbox!.users.map(({ password }) => password)
    t.equal(passwords.length, 6)
    for (const secret of [webApiKey, secretKey, webhookSecret.slice('whsec_'.length), masterKey, ...passwords]) {
      t.notOk(service.log().includes(secret))
      for (const name of stores) t.notOk(readFileSync(join(directory, 'data', name)).includes(secret), name)
    }
  },
)
