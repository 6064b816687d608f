import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { banner } from '../../src/sandbox/banner.js'
import { cliItems, cliJson } from '../cli/in-process.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'

function clientOf({ baseUrl, sandbox }: ServiceProcess): RawMerchantClient {
  return new RawMerchantClient(baseUrl, sandbox!)
}

const outboxOf = async ({ baseUrl }: ServiceProcess, token: string) =>
  (await fetch(`${baseUrl}/sandbox/outbox?token=${token}`)).status

t.test('an empty directory starts in sandbox mode', async (t) => {
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory, environment: { LOG_LEVEL: 'trace' } })
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
  t.equal(statSync(join(directory, 'data', 'sandbox.json')).mode & 0o777, 0o600)

  await t.test(
    'no log line contains credentials of the banner or the master key, and the log no plaintext',
    async (t) => {
      const masterKey = readFileSync(join(directory, 'data', 'master.key'), 'utf8').trim()
      const { webApiKey, secretKey, webhookSecret } = first.sandbox!
      const stores = readdirSync(join(directory, 'data')).filter((name) => name.includes('.db'))
      t.ok(stores.length >= 2)
      const passwords = first.sandbox!.users.map(({ password }) => password)
      t.equal(passwords.length, 6)
      const webhookKey = webhookSecret.slice('whsec_'.length)
      for (const secret of [webApiKey, secretKey, webhookKey, masterKey, outboxToken, ...passwords]) {
        t.notOk(first.log().includes(secret))
        for (const name of stores) t.notOk(readFileSync(join(directory, 'data', name)).includes(secret), name)
      }
    },
  )

  const second = await startServiceProcess(t, { directory })
  await t.test('a later start keeps the merchant, users and customer', async (t) => {
    t.same(second.sandbox, first.sandbox)
    t.same(
      first.sandbox?.users.map(({ role }) => role),
      ['viewer', 'operator', 'approver', 'auditor', 'operations', 'administrator'],
    )
    t.equal((await clientOf(second).hostedDeposit('second', '100.00')).status, 200)
    t.equal(await second.end('SIGINT'), 0)
  })

  rmSync(join(directory, 'data', 'sandbox.json'))
  const third = await startServiceProcess(t, { directory })
  await t.test('lost credentials are replaced by new ones of the same merchant', async (t) => {
    t.equal(third.sandbox?.merchantId, first.sandbox?.merchantId)
    t.not(third.sandbox?.webApiKey, first.sandbox?.webApiKey)
    t.equal((await clientOf(third).hostedDeposit('third', '5')).status, 200)
    await third.end('SIGTERM')
  })

  await cliJson(directory, 'merchants', 'rotate-key', third.sandbox!.merchantId, '--overlap-minutes', '0', '--yes')
  await cliJson(directory, 'merchants', 'rotate-secret', third.sandbox!.merchantId, '--overlap-minutes', '0', '--yes')
  const core = { WALLET_URL: 'https://wallet.example', WALLET_TOKEN: 't' }
  const fourth = await startServiceProcess(t, { directory, environment: core })
  await t.test('so are credentials that an operator has rotated', async (t) => {
    t.not(fourth.sandbox?.webhookSecret, third.sandbox?.webhookSecret)
    t.equal(fourth.sandbox?.merchantId, first.sandbox?.merchantId)
    t.equal((await clientOf(fourth).hostedDeposit('fourth', '5')).status, 200)
    t.equal(fourth.sandbox?.wallet, undefined, 'a wallet core has its own customers')
    await fourth.end('SIGTERM')
  })
})

t.test('starts no sandbox if it is disabled', async (t) => {
  const directory = temporaryDirectory(t)
  const off = await startServiceProcess(t, { directory, environment: { SANDBOX: 'off' } })
  t.equal(off.sandbox, undefined)
  await off.end('SIGTERM')
  t.same(await cliItems(directory, 'merchants', 'list'), [])
})
