import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { environmentSchema } from '../../../src/operations/configuration/configuration.js'
import { openEmbeddedReadModels } from '../../../src/read-models/embedded/embedded-read-models.js'
import type { Receiver } from '../../callbacks/receiver.js'
import { walletPaths } from '../../support/merchant-requests.js'
import { temporaryDirectory } from '../../support/processes.js'
import { until } from '../../support/until.js'
import {
  allowed,
  checkpoints,
  collector,
  command,
  create,
  emails,
  type Installation,
  json,
  proxied,
  refused,
  sandbox,
  send,
  shared,
  silent,
  texts,
  unanswered,
  waited,
} from './installations.js'

// Every setting has an effect in every thread of the service that should have it, and in the command line.

type Thread = 'main' | 'projections' | 'callbacks' | 'reader' | 'command line'
type Check = (t: Test) => unknown

interface Row {
  /** The threads in which the setting has an effect, each with a check, or with the test that sees it there. */
  readonly effects: { readonly [thread in Thread]?: Check | `test/${string}.test.ts` }
  /** Why the others do not need it. */
  readonly others?: string
}

type Created = { readonly trackingId: string }
const deposit = await create<Created>(sandbox, 'native')
const proxiedDeposit = await create<Created>(proxied, 'native')
const sharedDeposit = await create<Created>(shared, 'native')

interface Finding {
  readonly name: string
  readonly subject: string | null
  readonly found: string
}

/** Returns the checks of the main thread. */
async function checksOf(installation: Installation): Promise<readonly Finding[]> {
  const client = await installation.as('administrator')
  return (await client.get<{ checks: Finding[] }>('/operations/checks')).body.checks
}

async function doctor({ directory, environment, service }: Installation): Promise<readonly Finding[]> {
  const running = { directory, environment: { ...environment, PORT: String(service.port) } }
  return (await json<{ checks: Finding[] }>(running, 'doctor')).checks
}

/** Checks that the main thread and the command line find the same, because both check the installation. */
function finds(installation: Installation, name: string, expected: Partial<Finding> | { readonly found: RegExp }) {
  const check = (checks: () => Promise<readonly Finding[]>) => async (t: Test) =>
    t.match(
      (await checks()).filter((each) => each.name === name),
      [expected],
    )
  return { main: check(() => checksOf(installation)), 'command line': check(() => doctor(installation)) }
}

/** Returns the list that the projections write and the reader thread returns. */
async function listOf(installation: Installation): Promise<string> {
  const client = await installation.as('operator')
  return JSON.stringify((await client.get('/transfers')).body)
}

/** Opens more connections than the limit, and checks that the service closes the others. */
async function servesAtMost(t: Test, { service: { baseUrl } }: Installation, limit: number): Promise<void> {
  const { hostname, port } = new URL(baseUrl)
  const sockets = Array.from({ length: limit + 10 }, () => connect(Number(port), hostname))
  const served = await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<boolean>((resolve) => {
          const isClosed = () => resolve(false)
          socket
            .once('data', () => resolve(true))
            .once('error', isClosed)
            .once('close', isClosed)
          socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
        }),
    ),
  )
  for (const socket of sockets) socket.destroy()
  const count = served.filter(Boolean).length
  t.ok(count > 0 && count <= limit, `${count} of ${sockets.length}`)
}

/** Checks that each thread uses the stores. The keys of customers decrypt the name, and the master key decrypts these keys. */
function uses(installation: Installation, { trackingId }: Created, inDataDirectory: string, isUnused: string) {
  const { merchant, environment } = installation
  return {
    async main(t) {
      const { text } = await send(installation, `/v1/transfers/${trackingId}`, merchant.webApiKey, '', 'GET')
      t.match(text, 'Ada Lovelace')
      t.notOk(existsSync(join(installation.directory, isUnused)), 'uses no default')
      t.ok(existsSync(join(installation.directory, inDataDirectory)))
    },
    async projections(t) {
      await until(async () => (await listOf(installation)).includes(trackingId))
      t.match(await listOf(installation), 'Ada Lovelace')
      const directory = environment.READ_MODEL_URL!.slice('embedded:'.length)
      const readModels = await openEmbeddedReadModels({ directory })
      t.ok((await readModels.collection('leases').find({})).some(({ _id }) => _id === 'projection:transfers'))
      await readModels.close()
    },
    async reader(t) {
      const client = await installation.as('administrator')
      t.match(JSON.stringify((await client.get(`/audit/story/${trackingId}`)).body), 'Ada Lovelace')
    },
    async 'command line'(t) {
      t.match((await command(installation, 'transfers', 'show', trackingId)).stdout, 'Ada Lovelace')
    },
  } satisfies { readonly [thread in Thread]?: Check }
}

const stores = uses(sandbox, deposit, 'log/events.db', 'data')
const isDelivered =
  (to: Receiver, { trackingId }: Created) =>
  async (t: Test) => {
    await until(() => to.received.some((each) => each.trackingId === trackingId))
    // The SecretKey is sealed with the master key.
    t.match(to.received.find((each) => each.trackingId === trackingId)!.body, { HashCode: /^[0-9A-F]{32}$/ })
  }

/** The steps of a payment from the built-in wallet, whose messages go to the gateways. */
const { wallet } = sandbox.service.sandbox!
const { webApiKey, id: merchantId } = sandbox.merchant
const ofWallet = async (path: string, fields: object) =>
  (await send(sandbox, path, webApiKey, JSON.stringify({ ...deposit, ...fields }))).body.result
const login = await ofWallet(walletPaths.logIn, { userName: wallet!.email, password: wallet!.password })
const code = /\d{6}/.exec(JSON.parse(texts.at(-1)?.body ?? '{}').text)?.[0]
await ofWallet(walletPaths.code, { token: login, code })

/** The response to a login while the wallet core is silent. */
const silentLogin = await send(
  proxied,
  walletPaths.logIn,
  proxied.merchant.webApiKey,
  JSON.stringify({ ...proxiedDeposit, userName: 'ada@example.com', password: '730914' }),
)

/** Checks the request to the silent wallet core of a thread. */
const asks = (path: RegExp) => async (t: Test) => {
  await until(() => unanswered.some(({ line }) => path.test(line)))
  const asked = unanswered.find(({ line }) => path.test(line))!
  t.equal(asked.token, 'Bearer core-token')
  t.ok(asked.waitedMs < 5_000, `${asked.waitedMs} ms`)
}
const core = { main: asks(/^POST \/logins/), projections: asks(new RegExp(`^GET /collections/${proxied.unpaid}`)) }

/** Creates a withdrawal to complete with 40 of 100. Only the default factor allows it without a confirmation. */
async function withdrawal(): Promise<string> {
  const created = await create<Created>(sandbox, 'withdrawal', { accountNumber: 'DE89370400440532013000' })
  return created.trackingId
}

async function completed(): Promise<string> {
  const trackingId = await withdrawal()
  await json(sandbox, 'transfers', 'complete', trackingId)
  return trackingId
}

/** Requests a test event from the dashboard. */
async function testEvent(installation: Installation) {
  const client = await installation.as('administrator')
  const path = `/merchants/${installation.merchant.id}/endpoint/test`
  return (await client.send<{ delivered: boolean; durationMs: number; failure: string }>('POST', path, {})).body
}

const isNotTraced: Check = async (t) => {
  t.equal(await proxied.service.end('SIGTERM'), 0, 'sends the last spans')
  t.same(collector.spans, [])
}

/** Checks that a thread logs an error by default, and not with a higher level. */
const logs = (part: string) => async (t: Test) => {
  for (const installation of [shared, proxied]) await listOf(installation)
  // All threads of the other service have read the same event.
  await core.projections(t)
  await isDelivered(allowed, proxiedDeposit)(t)
  const line = new RegExp(`"part":"${part}".*"msg":"merchant directory"`)
  await until(() => line.test(shared.service.log()))
  t.notMatch(proxied.service.log(), line)
}

/** Checks that a command that registers a live merchant warns only without the gateway. */
const warnsWithout = (missing: string, names: readonly string[]) => async (t: Test) => {
  const live = ['merchants', 'create', '--name', 'Live', '--callback-url', 'https://shop.example']
  const warned = []
  const settings = Object.fromEntries(names.map((name) => [name, sandbox.environment[name]!]))
  for (const environment of [{}, settings])
    warned.push((await command({ directory: temporaryDirectory(t), environment }, ...live)).stderr.includes(missing))
  t.same(warned, [true, false])
}

const gateway: Check = (t) => {
  t.equal(texts.length, 1)
  t.match(texts[0], { token: 'Bearer sms-token', body: 'EUR' })
}
const mail: Check = (t) => {
  t.match(emails, [{ from: 'no-reply@blue.example' }])
  // Quoted-printable breaks lines.
  const text = emails[0]?.text.replaceAll('=\r\n', '')
  t.match(text, 'Blue Pay')
  t.match(text, `${sandbox.environment.PUBLIC_URL}/device/`)
}

const rows: { readonly [variable: string]: Row } = {
  ROLES: {
    effects: {
      main: 'test/main/roles.test.ts',
      projections: 'test/main/roles.test.ts',
      callbacks: 'test/main/roles.test.ts',
    },
  },
  HOST: {
    effects: {
      async main(t) {
        t.equal(new URL(proxied.service.baseUrl).hostname, '127.0.0.2')
        await t.rejects(fetch(`http://127.0.0.1:${proxied.service.port}/health/live`))
      },
      'command line': finds(proxied, 'port', { subject: `127.0.0.2:${proxied.service.port}` })['command line'],
    },
  },
  PORT: {
    effects: {
      main: async (t) => t.equal((await fetch(`http://127.0.0.1:${sandbox.port}/health/live`)).status, 200),
      'command line': finds(sandbox, 'port', { subject: `127.0.0.1:${sandbox.port}` })['command line'],
    },
  },
  PUBLIC_URL: {
    effects: {
      async main(t) {
        const { url } = await create<{ url: string }>(sandbox, 'hosted')
        t.ok(url.startsWith(`${sandbox.environment.PUBLIC_URL}/pay/`), url)
        await finds(sandbox, 'certificate', { subject: sandbox.environment.PUBLIC_URL! }).main(t)
      },
      'command line': finds(sandbox, 'certificate', { subject: sandbox.environment.PUBLIC_URL! })['command line'],
    },
  },
  INSTALLATION_NAME: {
    effects: {
      async main(t) {
        mail(t)
        t.match(await (await fetch(`${sandbox.service.baseUrl}/documentation`)).text(), /<title>.*Blue Pay/)
        const operator = await sandbox.as('operator')
        const trackingIds = [await withdrawal()]
        await operator.send('POST', '/withdrawals/claim', { items: [{ trackingId: trackingIds[0], revision: 0 }] })
        const file = await operator.file('/withdrawals/bank-file', { format: 'csv', trackingIds })
        t.match(file.name, 'withdrawals-for-bank-Blue-Pay-')
      },
    },
    others:
      'The projections thread pays without messages to customers, and the command line writes the file that --out names.',
  },
  EVENT_STORE_URL: { effects: { ...stores, callbacks: isDelivered(silent, deposit) } },
  READ_MODEL_URL: {
    effects: {
      ...stores,
      async callbacks(t) {
        const readModels = await openEmbeddedReadModels({ directory: sandbox.in('lists') })
        t.ok((await readModels.collection('leases').find({})).some(({ _id }) => _id === 'callbacks'))
        await readModels.close()
      },
      async 'command line'(t) {
        const { items } = await json<{ items: Created[] }>(sandbox, 'transfers', 'list')
        t.ok(items.some(({ trackingId }) => trackingId === deposit.trackingId))
      },
    },
  },
  KEY_STORE_URL: {
    effects: {
      ...stores,
      async main(t) {
        await stores.main(t)
        t.ok(existsSync(sandbox.in('customers/customer-keys.db')))
        t.notOk(existsSync(sandbox.in('log/customer-keys.db')))
        const operator = await sandbox.as('operator')
        t.equal((await operator.upload('POST', '/receipts', 'application/pdf', Buffer.from('%PDF-1.7\n'))).status, 200)
        const receipts = await openEmbeddedReadModels({ directory: sandbox.in('customers') })
        t.equal(await receipts.collection('receipts').countDocuments({}), 1)
        await receipts.close()
      },
    },
    others: 'Callbacks contain no personal data.',
  },
  DATA_DIRECTORY: {
    effects: {
      ...finds(shared, 'security-log', { subject: join(shared.directory, 'node') }),
      projections: (t) => t.ok(existsSync(join(shared.directory, 'node/audit.key'))),
    },
    others: 'The callbacks and reader threads use no files of the node.',
  },
  TRANSFERD_MASTER_KEY: {
    effects: uses(shared, sharedDeposit, 'node', 'node/master.key'),
    others:
      'The main thread passes the keys from any source to the callbacks thread, which delivers nothing in this installation.',
  },
  TRANSFERD_MASTER_KEY_DIRECTORY: {
    effects: { ...uses(sandbox, deposit, 'masters', 'log/master.key'), callbacks: isDelivered(silent, deposit) },
  },
  TRANSFERD_MASTER_KEY_COMMAND: {
    effects: {
      ...uses(proxied, proxiedDeposit, 'data', 'data/master.key'),
      callbacks: isDelivered(allowed, proxiedDeposit),
    },
  },
  AUDIT_DIRECTORY: {
    effects: {
      ...finds(sandbox, 'audit', { subject: sandbox.in('tree') }),
      projections: () => until(() => existsSync(sandbox.in('tree/checkpoint'))),
    },
  },
  AUDIT_GROUP_READABLE: {
    effects: {
      async projections(t) {
        await until(() => existsSync(sandbox.in('tree/checkpoint')))
        t.equal(statSync(sandbox.in('tree/checkpoint')).mode & 0o777, 0o640)
      },
    },
    others: 'Only the projections thread writes the tree.',
  },
  AUDIT_ORIGIN: {
    effects: {
      // This service started its log.
      async main(t) {
        await until(() => existsSync(sandbox.in('tree/checkpoint')))
        t.match(readFileSync(sandbox.in('tree/checkpoint'), 'utf8'), /^blue\.example\/log\n/)
      },
      // A command started the log of this one.
      async 'command line'(t) {
        await until(() => checkpoints.length > 0)
        t.match(checkpoints[0], '\n\nproxied.example/log\n')
      },
    },
    others: 'The log records the origin, and the projections thread reads it there.',
  },
  AUDIT_COPY_TO: {
    effects: {
      ...finds(sandbox, 'audit-copy', { found: /copy/ }),
      projections: () => until(() => existsSync(sandbox.in('copy/checkpoint'))),
    },
  },
  AUDIT_WITNESSES: {
    effects: {
      ...finds(proxied, 'audit-copy', { found: 'Checkpoints leave this machine.' }),
      async projections(t) {
        await until(() => checkpoints.length > 0)
        t.match(checkpoints[0], /^\/add-checkpoint\nold 0\n/)
      },
    },
  },
  TRUSTED_PROXIES: {
    effects: {
      async main(t) {
        t.ok(proxiedDeposit.trackingId, 'the merchant can call only from an address that the proxy reports')
        const headers = { webapikey: proxied.merchant.webApiKey }
        const { status } = await fetch(`${proxied.service.baseUrl}/v1/transfers`, { headers })
        t.equal(status, 403)
      },
    },
  },
  MAX_CONNECTIONS: { effects: { main: (t) => servesAtMost(t, proxied, 40) } },
  MAX_CONNECTIONS_PER_ADDRESS: { effects: { main: (t) => servesAtMost(t, sandbox, 40) } },
  LOG_LEVEL: {
    effects: {
      main: logs('main'),
      projections: logs('projections'),
      callbacks: logs('callbacks'),
      reader: logs('reader'),
    },
    others: 'Commands print their results and have no log.',
  },
  CURRENCY: {
    effects: {
      async main(t) {
        gateway(t)
        t.match((await send(sandbox, '/v1/merchant', webApiKey, '', 'GET')).body, { currency: 'EUR' })
        const operator = await sandbox.as('operator')
        const trackingIds = [await withdrawal()]
        await operator.send('POST', '/withdrawals/claim', { items: [{ trackingId: trackingIds[0], revision: 0 }] })
        const debtor = { name: 'Shop', iban: 'DE02120300000000202051' }
        const file = await operator.file('/withdrawals/bank-file', { format: 'pain.001', trackingIds, debtor })
        t.match(file.text, 'Ccy="EUR"')
      },
      'command line': 'test/attacks/15-bank-file-command.test.ts',
    },
    others:
      'Events, lists and callbacks contain amounts without a currency, and the main thread passes it to the reader thread.',
  },
  PAYMENT_METHODS: {
    effects: {
      async main(t) {
        const { url } = await create<{ url: string }>(sandbox, 'hosted', { paymentMethod: 71 })
        t.match(await (await fetch(url)).text(), 'Giro')
      },
      async reader() {
        await create<object>(sandbox, 'hosted', { paymentMethod: 71 })
        const operator = await sandbox.as('operator')
        await until(async () => (await operator.file('/transfers.csv')).text.includes('Giro'))
      },
      async 'command line'(t) {
        const set = (method: number) =>
          command(sandbox, 'merchants', 'set', merchantId, '--instructions', `${method}=Pay`)
        t.match(await set(71), { status: 0 })
        t.match(await set(2), { status: 2 })
      },
    },
    others: 'The other threads know a method by its code.',
  },
  SANDBOX: {
    effects: {
      async main(t) {
        t.match(await testEvent(shared), { delivered: false, failure: 'address refused' })
        t.equal(shared.service.sandbox, undefined)
      },
      async callbacks(t) {
        const list = ['callbacks', 'list', '--transfer', sharedDeposit.trackingId]
        const failure = async () =>
          (await json<{ items: { lastFailure: string }[] }>(shared, ...list)).items[0]?.lastFailure
        await until(async () => (await failure()) === 'address refused')
        t.same(refused.received, [])
      },
      'command line': 'test/cli/wallets.test.ts',
    },
    others: 'The projections thread sends no messages to the outbox.',
  },
  CALLBACK_TIMEOUT_MS: {
    effects: {
      async main(t) {
        const { delivered, durationMs } = await testEvent(sandbox)
        t.equal(delivered, false)
        t.ok(durationMs < 5_000, `${durationMs} ms`)
      },
      async callbacks(t) {
        await until(() => waited.has(deposit.trackingId))
        t.ok(waited.get(deposit.trackingId)! < 5_000, `${waited.get(deposit.trackingId)} ms`)
      },
    },
  },
  CALLBACK_ALLOWED_NETWORKS: {
    effects: {
      main: async (t) => t.match(await testEvent(proxied), { delivered: true }),
      callbacks: isDelivered(allowed, proxiedDeposit),
      'command line': 'test/attacks/23-callback-networks.test.ts',
    },
  },
  COMPLETION_GUARD_FACTOR: {
    effects: {
      async main(t) {
        const key = ['merchants', 'keys', 'create', merchantId, '--name', 'pay', '--scope', 'settlement']
        const { webApiKey: payingKey } = await json<{ webApiKey: string }>(sandbox, ...key)
        const path = `/v1/withdrawals/${await withdrawal()}`
        await send(sandbox, `${path}/claim`, payingKey, '{"revision":0}')
        const completed = await send(sandbox, `${path}/complete`, payingKey, '{"revision":1,"amount":40}')
        t.match(completed, { status: 409, text: /confirmed amount/ }, '/v1')
        const operator = await sandbox.as('operator')
        const onPage = `/transfers/${await withdrawal()}`
        await operator.send('POST', `${onPage}/claim`, { revision: 0 })
        const body = { revision: 1, amountMinor: 40_00 }
        t.match(await operator.send('POST', `${onPage}/complete`, body), {
          status: 409,
          body: { error: { rule: 'confirmation-needed' } },
        })
      },
      async 'command line'(t) {
        const completed = await command(sandbox, 'transfers', 'complete', await withdrawal(), '--amount', '40')
        t.match(completed, { status: 1, stderr: /confirm/ })
      },
    },
    others: 'The other threads complete no transfer with an amount that someone typed.',
  },
  BANK_STATEMENTS_DIRECTORY: {
    effects: {
      async projections() {
        writeFileSync(sandbox.in('inbox/statement.sta'), readFileSync('test/fixtures/bank/german-mt940.sta'))
        await until(() => existsSync(sandbox.in('inbox/imported')))
      },
    },
    others: 'One thread imports the files.',
  },
  CORRECTION_DAYS: {
    effects: {
      async main(t) {
        const key = ['merchants', 'keys', 'create', merchantId, '--name', 'correct', '--scope', 'settlement']
        const { webApiKey } = await json<{ webApiKey: string }>(sandbox, ...key)
        const trackingId = await completed()
        const body = '{"revision":1,"amount":99,"reason":"mistyped"}'
        const corrected = await send(sandbox, `/v1/transfers/${trackingId}/correct`, webApiKey, body)
        t.match(corrected, { status: 409, text: /can be corrected for 0 days/ }, '/v1')
        const operator = await sandbox.as('operator')
        const { body: page } = await operator.get(`/transfers/${trackingId}`)
        t.match(page, { status: 'Completed', actions: [] }, 'the page offers no correction')
      },
      async 'command line'(t) {
        const correction = ['--amount', '99', '--reason', 'mistyped']
        const corrected = await command(sandbox, 'transfers', 'correct', await completed(), ...correction)
        t.match(corrected, { status: 1, stderr: /can be corrected for 0 days/ })
      },
    },
    others: 'The other threads correct no transfer.',
  },
  WALLET_URL: { effects: { ...core, 'command line': 'test/cli/wallets.test.ts' } },
  WALLET_TOKEN: { effects: core, others: 'The command line manages only the accounts of the built-in wallet.' },
  WALLET_TIMEOUT_MS: {
    effects: {
      ...core,
      main: async (t) => {
        t.match(silentLogin, { status: 503 })
        await core.main(t)
      },
    },
    others: 'The command line manages only the accounts of the built-in wallet.',
  },
  SMTP_URL: { effects: { main: mail, 'command line': warnsWithout('SMTP_URL', ['SMTP_URL', 'MAIL_FROM']) } },
  MAIL_FROM: { effects: { main: mail } },
  SMS_URL: { effects: { main: gateway, 'command line': warnsWithout('SMS_URL', ['SMS_URL', 'SMS_TOKEN']) } },
  SMS_TOKEN: { effects: { main: gateway } },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    effects: {
      main: 'test/main/watching.test.ts',
      projections: 'test/main/watching.test.ts',
      callbacks: 'test/main/watching.test.ts',
    },
    others: 'The reader thread appends nothing, and the command line is not traced.',
  },
  // The last one, because it ends a service.
  OTEL_SDK_DISABLED: { effects: { main: isNotTraced, projections: isNotTraced, callbacks: isNotTraced } },
}

t.test('the table has every setting', async (t) => {
  t.same(Object.keys(rows).sort(), Object.keys(environmentSchema.properties).sort())
})

for (const [variable, { effects }] of Object.entries(rows)) {
  t.test(`${variable} has an effect`, async (t) => {
    t.not(Object.keys(effects).length, 0)
    for (const [thread, effect] of Object.entries(effects)) {
      if (typeof effect === 'string') t.match(readFileSync(effect, 'utf8'), new RegExp(`\\b${variable}\\b`), effect)
      else await t.test(thread, async (t) => void (await effect(t)))
    }
  })
}
