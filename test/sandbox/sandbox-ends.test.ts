import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { long } from '../support/long.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'

async function callsAs({ baseUrl, sandbox }: ServiceProcess): Promise<number> {
  const { status } = await fetch(`${baseUrl}/v1/transfers`, { headers: { webapikey: sandbox!.webApiKey } })
  return status
}

const outboxOf = ({ baseUrl, sandbox }: ServiceProcess) =>
  fetch(`${baseUrl}/sandbox/outbox?token=${sandbox!.outboxToken}`)

/** Returns the number of users in the banner who can sign in. */
async function signIns({ baseUrl }: ServiceProcess, { sandbox }: ServiceProcess): Promise<number> {
  const asked = sandbox!.users.map(async ({ email, password }) => {
    const body = JSON.stringify({ email, password })
    const headers = { 'content-type': 'application/json', origin: baseUrl }
    const { status } = await fetch(`${baseUrl}/dashboard/api/session`, { method: 'POST', headers, body })
    return status === 200
  })
  return (await Promise.all(asked)).filter(Boolean).length
}

// Each of these tests starts a service or several.
const onlyLong = { skip: long ? false : 'only in the long form' }
const credentialsFile = (directory: string) => join(directory, 'data', 'sandbox.json')
const live = ['--name', 'Live', '--callback-url', 'https://example.com/callbacks', '--allow-ip', '192.0.2.1']

/** Registers a live merchant without ending the sandbox, like another node or a killed process. */
async function registerLive(directory: string): Promise<void> {
  const data = join(directory, 'data')
  const stores = await openStores(
    readConfiguration({ EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}` }),
  )
  const commands = new MerchantCommands(stores.eventStore, () => new Date().toISOString(), stores.box)
  const settings = {
    ...defaultSettings(false),
    name: 'Live',
    callbackUrl: 'https://example.com/callbacks',
    allowIps: [],
  }
  await commands.register(settings, { actor: 'cli:test', $correlationId: 'test', $causationId: 'test' })
  await stores.close()
}

const gateways = { SMS_URL: 'https://sms.example/send', SMS_TOKEN: 'x' }
const warnings = async ({ baseUrl }: ServiceProcess) => {
  const answer = await fetch(`${baseUrl}/health/ready`)
  return { status: answer.status, body: (await answer.json()) as { readonly details: readonly string[] } }
}

t.test('the first live merchant ends the sandbox of a running service: key, file and outbox', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory, environment: gateways })
  t.equal(await callsAs(service), 200)
  t.equal(await signIns(service, service), 6)
  t.match(
    await warnings(service),
    { status: 200, body: { status: 'ok', details: [] } },
    'sandbox messages go to the outbox',
  )
  const { merchantId } = service.sandbox!
  const refused = await runCli(directory, ['merchants', 'set', merchantId, '--no-sandbox', ...live.slice(2)])
  t.match(
    refused,
    { status: 1, stderr: /credentials of the sandbox merchant are not secret/ },
    'the sandbox merchant itself does not become live',
  )
  const created = await runCli(directory, ['merchants', 'create', ...live], gateways)
  t.notOk(existsSync(credentialsFile(directory)))
  t.match(await cliJson(directory, 'merchants', 'show', merchantId), { suspended: true, sandbox: true })
  await until(async () => (await callsAs(service)) === 403)
  t.equal((await outboxOf(service)).status, 404)
  t.equal(await signIns(service, service), 0)
  const [user] = await cliJson<{ userId: string }[]>(directory, 'users', 'list')
  await cliJson(directory, 'users', 'enable', user!.userId)
  t.match(await runCli(directory, ['outbox', 'list']), { status: 1 })

  await cliJson(directory, 'merchants', 'resume', merchantId)
  await until(async () => (await callsAs(service)) === 200)
  await until(async () => (await warnings(service)).body.details.length === 1)
  await t.test('its creation and readiness report that no emails can be sent', async (t) => {
    t.match(created.stderr, /emails cannot be sent: SMTP_URL is not set/)
    t.notMatch(created.stderr, /SMS_URL/)
    t.match(await warnings(service), {
      status: 200,
      body: { status: 'ok', problems: [], details: [/SMTP_URL is not set/] },
    })
  })
  await service.end('SIGTERM')
  t.match(service.log(), /"level":40.*SMTP_URL is not set/)

  const again = await startServiceProcess(t, { directory })
  t.equal(again.sandbox, undefined)
  t.match(
    await cliJson(directory, 'merchants', 'show', merchantId),
    { suspended: false },
    'an operator has resumed the merchant',
  )
  t.equal(await signIns(again, service), 1, 'an operator has enabled one of its users')
  await t.test('a start reports that no messages can be sent', async (t) => {
    t.match(again.notices, [/SMS_URL is not set/, /SMTP_URL is not set/])
    t.match(again.log(), /SMS_URL is not set/)
    t.match(await warnings(again), { status: 200, body: { details: [/SMS_URL/, /SMTP_URL/] } })
  })
  await again.end('SIGTERM')
  if (!long) return
  const core = { WALLET_URL: 'https://core.example', WALLET_TOKEN: 'x' }
  const sending = await startServiceProcess(t, { directory, environment: core })
  t.match(await warnings(sending), { body: { details: [] } }, 'a wallet core sends the messages')
  await sending.end('SIGTERM')
})

t.test('a live merchant that another process registers ends the sandbox of a running service', onlyLong, async (t) => {
  const directory = temporaryDirectory(t)
  const own = ['--sandbox', '--name', 'Sandbox', '--callback-url', 'http://127.0.0.1:9/']
  const { id, webApiKey } = await cliJson<{ id: string; webApiKey: string }>(directory, 'merchants', 'create', ...own)
  const service = await startServiceProcess(t, { directory })
  const { merchantId } = service.sandbox!
  await t.test("the sandbox does not use an operator's merchant with the same name", async (t) => {
    t.not(merchantId, id)
    const shown = await cliJson<{ keys: readonly { validUntil: string | null }[] }>(directory, 'merchants', 'show', id)
    t.match(shown, { keys: [{ validUntil: null }], previousSecretKeyValidUntil: null })
    t.equal(shown.keys.length, 1)
    const { status } = await fetch(`${service.baseUrl}/v1/transfers`, { headers: { webapikey: webApiKey } })
    t.equal(status, 200)
  })
  await registerLive(directory)
  await until(async () => !existsSync(credentialsFile(directory)))
  t.match(await cliJson(directory, 'merchants', 'show', merchantId), { suspended: true })
  t.match(
    await cliJson(directory, 'merchants', 'show', id),
    { suspended: false },
    "an operator's own merchant is unchanged",
  )
  await service.end('SIGTERM')
  t.match(service.log(), merchantId)
})

t.test('shows the credentials of a live merchant although the sandbox cannot be closed', async (t) => {
  const directory = temporaryDirectory(t)
  // A directory cannot be removed as a file, even by root.
  mkdirSync(credentialsFile(directory), { recursive: true })
  const created = await runCli(directory, ['merchants', 'create', ...live, '--json'])
  t.match(created, { status: 0, stderr: /the sandbox is not closed yet/ })
  t.match(JSON.parse(created.stdout), { id: String, webApiKey: /^tk_/, secretKey: /^sk_/ })
})

t.test('SANDBOX=off ends the sandbox, and a later sandbox has a different merchant', onlyLong, async (t) => {
  const directory = temporaryDirectory(t)
  const own = ['--sandbox', '--name', 'Own', '--callback-url', 'http://127.0.0.1:9/']
  const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...own)
  const first = await startServiceProcess(t, { directory })
  await first.end('SIGTERM')
  const off = await startServiceProcess(t, { directory, environment: { SANDBOX: 'off' } })
  t.notOk(existsSync(credentialsFile(directory)))
  t.equal((await outboxOf({ ...off, sandbox: first.sandbox! })).status, 404)
  t.equal(await callsAs({ ...off, sandbox: first.sandbox! }), 403)
  t.equal(await signIns(off, first), 0)
  await off.end('SIGTERM')
  const restarted = await startServiceProcess(t, { directory })
  const { merchantId } = restarted.sandbox!
  t.not(merchantId, first.sandbox?.merchantId)
  t.equal(await callsAs(restarted), 200)
  t.equal(await signIns(restarted, restarted), 6)
  await restarted.end('SIGTERM')

  await registerLive(directory)
  t.ok(existsSync(credentialsFile(directory)))
  const withLive = await startServiceProcess(t, { directory })
  await t.test('a start ends the sandbox if a live merchant was registered in the meantime', async (t) => {
    t.equal(withLive.sandbox, undefined)
    t.notOk(existsSync(credentialsFile(directory)))
    t.match(await cliJson(directory, 'merchants', 'show', merchantId), { suspended: true })
    t.match(await cliJson(directory, 'merchants', 'show', id), { suspended: false })
    await withLive.end('SIGTERM')
    t.match(withLive.log(), merchantId)
  })
})
