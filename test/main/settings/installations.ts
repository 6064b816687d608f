import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { formatVerifier, generateSigner, parseSigner } from '@transferd/transparency-log'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import { MerchantCommands } from '../../../src/commands/merchant/merchant-commands.js'
import { createUserCommands } from '../../../src/commands/user/user-commands.js'
import type { Role } from '../../../src/domain/user/permissions.js'
import type { EventStore } from '../../../src/event-store/event-store.js'
import { readConfiguration } from '../../../src/operations/configuration/configuration.js'
import { WalletCollections } from '../../../src/wallet/payments/collections.js'
import { DashboardClient, password } from '../../browser/dashboard/dashboard-client.js'
import { reservePort } from '../../browser/payment-page-service.js'
import { startReceiver } from '../../callbacks/receiver.js'
import { runCli } from '../../cli/in-process.js'
import { depositRequest } from '../../domain/transfer-samples.js'
import { startCollector } from '../../support/collector.js'
import { startTestEventsServer } from '../../support/events-server.js'
import { MemoryWallet } from '../../support/memory-wallet.js'
import type { Credentials } from '../../support/merchant-client.js'
import { createBody, merchantSettings, paths } from '../../support/merchant-requests.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../../support/processes.js'
import { openTestLog } from '../../support/service-log.js'
import { transferCommands } from '../../support/transfer-commands.js'

/** Three services with values other than the defaults. Each setting that has no test elsewhere has such a value in one of them. */

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
type Environment = { readonly [name: string]: string }

/** An installation and its command line. */
export interface Installation {
  readonly directory: string
  readonly environment: Environment
  readonly service: ServiceProcess
  readonly merchant: Credentials
  as(role: Role): Promise<DashboardClient>
}

type Place = Pick<Installation, 'directory' | 'environment'>

export const command = ({ directory, environment }: Place, ...args: string[]) => runCli(directory, args, environment)

export async function json<Answer>(place: Place, ...args: string[]): Promise<Answer> {
  const { stdout, stderr } = await command(place, ...args, '--json')
  if (stdout === '') throw new Error(`${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as Answer
}

/** Opens the log of an installation in this process. */
const openLogOf = ({ environment }: Pick<Installation, 'environment'>) => openTestLog(readConfiguration(environment))

/** Returns a function that signs in to the dashboard as a new user. */
function signingIn(place: Place, service: ServiceProcess, merchantId: string): Installation['as'] {
  const clients = new Map<Role, DashboardClient>()
  return async (role) => {
    const known = clients.get(role)
    if (known) return known
    const log = await openLogOf(place)
    const clock = () => new Date().toISOString()
    const merchants = new MerchantCommands(log.eventStore, clock, log.box)
    const { users } = createUserCommands({ ...log, clock, merchants })
    const email = `${role}@example.com`
    const merchantIds = role === 'operator' ? [merchantId] : null
    const created = await users.create({ email, name: role, role, merchantIds }, context, password)
    await log.close()
    if (!created.accepted) throw new Error(created.refusal.rule)
    const client = await DashboardClient.signIn(service.baseUrl, email)
    clients.set(role, client)
    return client
  }
}

/** Sends a request of a merchant's server through a proxy. */
export async function send(
  to: Pick<Installation, 'service'>,
  path: string,
  key: string,
  body: string,
  method = 'POST',
) {
  const headers = { 'content-type': 'application/json', webapikey: key, 'x-forwarded-for': '203.0.113.7' }
  const response = await fetch(to.service.baseUrl + path, { method, headers, ...(body && { body }) })
  const text = await response.text()
  return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : undefined }
}

export async function create<Answer>(
  to: Pick<Installation, 'service' | 'merchant'>,
  kind: 'native' | 'hosted' | 'withdrawal',
  fields: object = {},
): Promise<Answer> {
  const { webApiKey, secretKey } = to.merchant
  const { status, text, body } = await send(to, paths[kind], webApiKey, createBody(kind, secretKey, { ...fields }))
  if (status !== 200) throw new Error(text)
  return kind === 'hosted' ? body : body.result
}

async function listening(t: { teardown(work: () => unknown): unknown }, server: ReturnType<typeof createServer>) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

// ── The first installation: a sandbox on embedded stores in separate directories ────────────────────────────────────────────

export const emails: { readonly from: string; readonly text: string }[] = []
const mailServer = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, { envelope }, done) {
    let text = ''
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    stream.on('end', () => {
      emails.push({ from: envelope.mailFrom ? envelope.mailFrom.address : '', text })
      done()
    })
  },
})
mailServer.listen(0, '127.0.0.1')
await once(mailServer.server, 'listening')
t.teardown(() => new Promise<void>((resolve) => mailServer.close(resolve)))

export const texts: { readonly token: string | undefined; readonly body: string }[] = []
const smsUrl = await listening(
  t,
  createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    texts.push({ token: request.headers.authorization, body })
    response.writeHead(200).end()
  }),
)

/** How long each attempt waited for the response of an endpoint that never responds. */
export const waited = new Map<string, number>()
export const silent = await startReceiver(t, ({ trackingId }, response) => {
  const startedMs = performance.now()
  response.once('close', () => waited.set(trackingId, performance.now() - startedMs))
})

const catalogue = [
  { code: 1, name: 'Wallet', kinds: ['deposit', 'withdrawal'] },
  { code: 71, name: 'Giro', kinds: ['deposit', 'withdrawal'], paidBy: 'manual' },
]
export const sandbox = await startSandbox()

async function startSandbox(): Promise<Installation & { readonly port: number; in(name: string): string }> {
  const directory = temporaryDirectory(t)
  const inside = (name: string) => join(directory, name)
  mkdirSync(inside('masters'))
  mkdirSync(inside('inbox'))
  writeFileSync(inside('masters/2026.key'), randomBytes(32).toString('hex'), { mode: 0o600 })
  const { port, release } = await reservePort()
  const environment = {
    PORT: String(port),
    PUBLIC_URL: `http://localhost:${port}`,
    INSTALLATION_NAME: 'Blue Pay',
    EVENT_STORE_URL: `embedded:${inside('log')}`,
    READ_MODEL_URL: `embedded:${inside('lists')}`,
    KEY_STORE_URL: `embedded:${inside('customers')}`,
    TRANSFERD_MASTER_KEY_DIRECTORY: inside('masters'),
    AUDIT_DIRECTORY: inside('tree'),
    AUDIT_GROUP_READABLE: 'true',
    AUDIT_ORIGIN: 'blue.example/log',
    AUDIT_COPY_TO: inside('copy'),
    MAX_CONNECTIONS_PER_ADDRESS: '40',
    CURRENCY: 'EUR',
    PAYMENT_METHODS: JSON.stringify(catalogue),
    CALLBACK_TIMEOUT_MS: '150',
    COMPLETION_GUARD_FACTOR: '2',
    CORRECTION_DAYS: '0',
    BANK_STATEMENTS_DIRECTORY: inside('inbox'),
    SMTP_URL: `smtp://127.0.0.1:${(mailServer.server.address() as AddressInfo).port}`,
    MAIL_FROM: 'Blue <no-reply@blue.example>',
    SMS_URL: smsUrl,
    SMS_TOKEN: 'sms-token',
  }
  await release()
  const service = await startServiceProcess(t, { directory, port, environment })
  const { merchantId: id, ...secrets } = service.sandbox!
  const place = { directory, environment }
  await json(place, 'merchants', 'set', id, '--callback-url', silent.url, '--callback-on-create')
  return { ...place, port, in: inside, service, merchant: { id, ...secrets }, as: signingIn(place, service, id) }
}

// ── The second installation: behind a proxy, with a wallet core, and without a sandbox ──────────────────────────────────────

/** The requests that a wallet core never responded to, and how long the caller waited. */
export const unanswered: { readonly line: string; readonly token: string | undefined; readonly waitedMs: number }[] = []
const coreUrl = await listening(
  t,
  createServer((request, response) => {
    const startedMs = performance.now()
    const { method, url, headers } = request.resume()
    response.once('close', () =>
      unanswered.push({
        line: `${method} ${url}`,
        token: headers.authorization,
        waitedMs: performance.now() - startedMs,
      }),
    )
  }),
)
export const checkpoints: string[] = []
const witnessUrl = await listening(
  t,
  createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    checkpoints.push(`${request.url}\n${body}`)
    response.writeHead(404).end()
  }),
)
export const collector = await startCollector(t)
export const allowed = await startReceiver(t)
export const proxied = await startProxied()

async function startProxied(): Promise<Installation & { readonly unpaid: string }> {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'master'), randomBytes(32).toString('hex'))
  const witness = parseSigner(generateSigner('witness.example/w1', 'cosignature'))
  const data = join(directory, 'data')
  const environment = {
    HOST: '127.0.0.2',
    EVENT_STORE_URL: `embedded:${data}`,
    READ_MODEL_URL: `embedded:${data}`,
    TRANSFERD_MASTER_KEY_COMMAND: `cat '${join(directory, 'master')}'`,
    AUDIT_ORIGIN: 'proxied.example/log',
    AUDIT_WITNESSES: `${witnessUrl} ${formatVerifier(witness)}`,
    TRUSTED_PROXIES: '127.0.0.0/8',
    MAX_CONNECTIONS: '40',
    LOG_LEVEL: 'fatal',
    SANDBOX: 'off',
    CALLBACK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WALLET_URL: coreUrl,
    WALLET_TOKEN: 'core-token',
    WALLET_TIMEOUT_MS: '150',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SDK_DISABLED: 'true',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
  const place = { directory, environment }
  const options = ['--callback-url', allowed.url, '--sandbox', '--callback-on-create', '--allow-ip', '203.0.113.7']
  const merchant = await json<Credentials>(place, 'merchants', 'create', '--name', 'Proxied', ...options)
  const log = await openLogOf(place)
  const unpaid = await interruptedPayment(log.eventStore, merchant.id)
  await appendUnreadable(log.eventStore)
  await log.close()
  const service = await startServiceProcess(t, { directory, environment })
  return { ...place, service, merchant, as: signingIn(place, service, merchant.id), unpaid }
}

/** Creates a deposit whose collection began five minutes ago and did not end. */
async function interruptedPayment(store: EventStore, merchantId: string): Promise<string> {
  const now = Date.now
  Date.now = () => now() - 5 * 60_000
  try {
    const clock = () => new Date(Date.now()).toISOString()
    const settingsOf = async () => merchantSettings
    const transfers = transferCommands(store, clock, settingsOf)
    const request = { ...depositRequest, merchantId, referenceId: randomUUID(), channel: 'native' } as const
    const created = await transfers.create(request, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    const { trackingId, amountMinor } = created.transfer
    const collections = new WalletCollections({ store, wallet: new MemoryWallet(), transfers, settingsOf, clock })
    const of = { trackingId, merchantId, challengeId: randomUUID() }
    for (const step of [
      { type: 'LogIn', ...of, accountNumber: 100_000_000_001 },
      { type: 'VerifyCode', ...of },
      { type: 'StartCollection', ...of, amountMinor },
    ] as const) {
      const done = await collections.execute(of, step, context)
      if (!done.accepted) throw new Error(done.refusal.rule)
    }
    return trackingId
  } finally {
    Date.now = now
  }
}

/** Appends an event that every directory of merchants logs. */
async function appendUnreadable(store: EventStore): Promise<void> {
  const event = { id: randomUUID(), type: 'Unknown', data: {}, metadata: { ...context, schemaVersion: 1 } }
  await store.append(`merchant-${randomUUID()}`, 'no_stream', [event])
}

// ── The third installation: on EventStoreDB's protocol, without a sandbox ───────────────────────────────────────────────────

export const refused = await startReceiver(t)
export const shared = await startShared()

async function startShared(): Promise<Installation> {
  const directory = temporaryDirectory(t)
  const server = await startTestEventsServer()
  t.teardown(() => server.stop())
  const environment = {
    EVENT_STORE_URL: server.url,
    READ_MODEL_URL: `embedded:${join(directory, 'lists')}`,
    DATA_DIRECTORY: join(directory, 'node'),
    TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex'),
  }
  const options = ['--callback-url', refused.url, '--sandbox', '--callback-on-create']
  // With SANDBOX=off, the address would be rejected.
  const merchant = await json<Credentials>({ directory, environment }, 'merchants', 'create', '--name', 'S', ...options)
  const place = { directory, environment: { ...environment, SANDBOX: 'off' } }
  const log = await openLogOf(place)
  await appendUnreadable(log.eventStore)
  await log.close()
  const service = await startServiceProcess(t, { directory, environment: place.environment })
  return { ...place, service, merchant, as: signingIn(place, service, merchant.id) }
}
