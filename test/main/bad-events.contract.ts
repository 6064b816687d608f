import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { binaryEvent, jsonEvent } from '@eventstore/db-client'
import { serve } from '@transferd/event-log-server/test/support/server-fixture'
import type { Test } from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { skipEvent } from '../../src/commands/skip-events.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { streamPrefixes } from '../../src/domain/streams.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openLog } from '../../src/operations/stores/stores.js'
import { startReceiver } from '../callbacks/receiver.js'
import { runCli } from '../cli/in-process.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { startTestEventsServer } from '../support/events-server.js'
import { long } from '../support/long.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const canary = 'canary-7731'
const context = { actor: 'cli:ada', $correlationId: 'test', $causationId: 'test' }
const metadata = { actor: 'test', $correlationId: 'test', $causationId: 'test', schemaVersion: 1 }

/** A known type of each kind of stream, with data that does not match its schema. */
const knownTypes: { readonly [prefix: string]: string } = {
  'transfer-': 'TransferCompleted',
  'merchant-': 'MerchantSuspended',
  'payouts-': 'PayoutCounted',
  'bankentries-': 'BankPaymentExplained',
  'bankaccount-': 'StatementImported',
  'callback-': 'CallbackDelivered',
  'callbacks-': 'CallbackSweepAdvanced',
  'payment-': 'WalletLoggedIn',
  'walletcodes-': 'WalletCodeRefused',
  'walletlogins-': 'WalletLogInFailed',
  'hash-': 'HashCodeSeen',
  'wallet-': 'WalletAccountDebited',
  'walletemail-': 'WalletEmailReserved',
  'user-': 'UserDisabled',
  'useremail-': 'UserEmailReserved',
  'usersignins-': 'UserSignInFailed',
  'problems-': 'EventSkipped',
  'masterkeys-': 'DigestKeySealed',
  'integrity-': 'PayoutsResumed',
  'privacy-': 'CustomerErased',
  'directory-': 'StreamsListed',
  'installation-': 'CurrencyBound',
  'audit-': 'AuditTreeSealed',
  'evidence-': 'DisclosureApproved',
}

/** The three kinds of bad events. */
const kinds = ['unknown type', 'broken schema', 'not JSON'] as const
type Kind = (typeof kinds)[number]

function badEvent(kind: Kind, prefix: string) {
  const type = knownTypes[prefix]!
  if (kind === 'unknown type') return jsonEvent({ type: 'Foreign', data: { canary }, metadata })
  if (kind === 'broken schema') return jsonEvent({ type, data: { [canary]: canary }, metadata })
  return binaryEvent({ type, data: Buffer.from(`not JSON ${canary}`), metadata: Buffer.from(canary) })
}

async function world(t: Test, engine: 'embedded' | 'EventStoreDB') {
  const directory = temporaryDirectory(t)
  const log = engine === 'embedded' ? join(directory, 'data') : temporaryDirectory(t)
  mkdirSync(log, { recursive: true, mode: 0o700 })
  const server = await startTestEventsServer(log)
  const environment = {
    TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex'),
    ...(engine === 'EventStoreDB' && { EVENT_STORE_URL: server.url }),
  }
  const ofService = { ...environment, EVENT_STORE_URL: server.url, DATA_DIRECTORY: join(directory, 'data') }
  const { eventStore: store, box, close } = await openLog(readConfiguration(ofService))
  // This server accepts writes of any client, unlike the service's own server.
  const open = await serve({ directory: log })
  t.teardown(async () => {
    await open.stop()
    await close()
    await server.stop()
  })
  const clock = () => new Date().toISOString()
  const merchants = new MerchantCommands(store, clock, box)
  const transfers = transferCommands(store, clock, async () => merchantSettings)
  const start = () => startServiceProcess(t, { directory, environment })
  const cli = (...args: string[]) => runCli(directory, [...args, '--json'], environment)
  return { directory, store, raw: open.client, clock, merchants, transfers, start, cli }
}

type World = Awaited<ReturnType<typeof world>>

async function deposit({ transfers }: World, merchantId: string): Promise<string> {
  const request = { ...depositRequest, merchantId, referenceId: randomUUID(), callbackOnCreate: true }
  const result = await transfers.create(request, context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  return result.transfer.trackingId
}

/** Appends each kind of bad event to a separate stream of each kind, and returns the places. */
async function inject(scene: World, healthy: string) {
  const { raw, merchants } = scene
  const places: { place: string; kind: Kind }[] = []
  const victims: { id: string; webApiKey: string; secretKey: string; webhookSecret: string }[] = []
  const badTransfers: string[] = []
  const append = async (stream: string, kind: Kind, prefix: string) => {
    const { nextExpectedRevision } = await raw.appendToStream(stream, badEvent(kind, prefix))
    places.push({ place: `${stream}@${nextExpectedRevision}`, kind })
  }
  for (const prefix of streamPrefixes) {
    for (const kind of kinds) {
      if (prefix === 'merchant-') {
        const victim = await merchants.register({ ...merchantSettings, name: 'Victim' } as MerchantSettings, context)
        victims.push(victim)
        await append(`merchant-${victim.id}`, kind, prefix)
      } else if (prefix === 'transfer-' || prefix === 'callback-' || prefix === 'payment-') {
        const trackingId = await deposit(scene, healthy)
        if (prefix === 'transfer-') badTransfers.push(trackingId)
        await append(`${prefix}${trackingId}`, kind, prefix)
      } else if (prefix === 'callbacks-') {
        await append(kind === 'not JSON' ? 'callbacks-sweep' : `callbacks-endpoint-${randomUUID()}`, kind, prefix)
      } else if (prefix === 'problems-') await append('problems-skipped', kind, prefix)
      else await append(`${prefix}${randomUUID()}`, kind, prefix)
    }
  }
  return { places, victims, badTransfers }
}

/** The rules for both engines. Each engine has a separate file, because they take long. */
export function badEventsContract(t: Test, engine: 'embedded' | 'EventStoreDB'): void {
  t.test(`${engine}: bad events of every kind block only their own streams until they are skipped`, async (t) => {
    const scene = await world(t, engine)
    const receiver = await startReceiver(t)
    const settings = { ...merchantSettings, callbackUrl: receiver.url, callbackOnCreate: true }
    const healthy = await scene.merchants.register(settings, context)
    const { places, victims, badTransfers } = await inject(scene, healthy.id)
    const all = places.map(({ place }) => place).sort()

    let service = await scene.start()
    const client = new RawMerchantClient(service.baseUrl, healthy)
    const created = await client.hostedDeposit('after-the-start', '100.00')
    t.equal(created.status, 200, 'other merchants can create transfers')
    await until(() => receiver.received.some(({ trackingId }) => trackingId === created.body.trackingId), 60_000)
    for (const victim of victims) {
      const { status, body } = await new RawMerchantClient(service.baseUrl, victim).nativeDeposit('r', '100.00')
      t.match({ status, body }, { status: 503, body: { success: false, error: { code: 50304 } } })
    }
    const listed = await scene.cli('merchants', 'list')
    t.equal(listed.status, 0)
    t.match(listed.stdout, healthy.id)
    for (const { id } of victims) t.match(listed.stderr, `merchant-${id}@1`)
    const problems = await scene.cli('events', 'problems')
    t.same(
      (JSON.parse(problems.stdout) as { event: string }[]).map(({ event }) => event).sort(),
      all,
      'lists exactly the bad events',
    )
    t.notMatch(problems.stdout, canary, 'does not show their data')
    const health = async () => {
      const answer = await fetch(`${service.baseUrl}/health/ready`)
      const { details } = (await answer.json()) as { details: string[] }
      return { status: answer.status, details }
    }
    await until(async () => (await health()).details.length === 21, 60_000)
    const { status, details } = await health()
    t.equal(status, 200, 'the service stays ready')
    t.match(details[0], /^payouts are stopped/, 'the bad events have no code')
    t.match(details.at(-1), /^further events cannot be read: .*, 3 of walletlogins /)
    const metrics = async () => (await fetch(`${service.baseUrl}/metrics`)).text()
    const counts = /transferd_unreadable_events\{kind="(\w+)"\} (\d+)/g
    await until(async () => [...(await metrics()).matchAll(counts)].length === streamPrefixes.length, 60_000)
    const found = Object.fromEntries([...(await metrics()).matchAll(counts)].map(([, kind, n]) => [kind, Number(n)]))
    t.same(found, Object.fromEntries(streamPrefixes.map((prefix) => [prefix.slice(0, -1), kinds.length])))
    t.notMatch(service.log(), canary)
    const refused = await scene.cli('transfers', 'complete', badTransfers[0]!)
    t.equal(refused.status, 1)
    t.match(refused.stderr, new RegExp(`transfer-${badTransfers[0]}@1: `))

    await t.test('rejects skipping a readable event', async (t) => {
      const good = await scene.cli(
        'events',
        'skip',
        `transfer-${created.body.trackingId}@0`,
        '--reason',
        'unwanted',
        '--yes',
      )
      t.equal(good.status, 1)
      t.match(good.stderr, /can be read/)
      t.equal((await scene.cli('events', 'skip', `transfer-${badTransfers[0]}@9`, '--reason', 'x', '--yes')).status, 1)
      t.equal((await scene.cli('events', 'skip', 'elsewhere@0', '--reason', 'x', '--yes')).status, 1)
      t.equal((await scene.cli('events', 'skip', 'nonsense', '--reason', 'x', '--yes')).status, 2)
    })

    const [first, ...rest] = all
    const skipped = await scene.cli('events', 'skip', first!, '--reason', 'a test', '--yes')
    t.match(JSON.parse(skipped.stdout), { event: first, changed: true })
    const { store, clock } = scene
    for (const place of rest) {
      const at = place.lastIndexOf('@')
      const target = { stream: place.slice(0, at), revision: Number(place.slice(at + 1)), reason: 'a test' }
      t.match(await skipEvent({ store, clock }, target, context), { accepted: true, changed: true }, place)
    }
    for (const victim of victims) {
      const retry = () => new RawMerchantClient(service.baseUrl, victim).nativeDeposit('r', '100.00')
      await until(async () => (await retry()).status === 200, 60_000)
    }
    const listOf = async () => {
      const headers = { webapikey: healthy.webApiKey }
      const answer = await fetch(`${service.baseUrl}/v1/transfers?limit=100`, { headers })
      return JSON.stringify(await answer.json())
    }
    await until(async () => (await listOf()).includes(String(created.body.trackingId)), 60_000)
    for (const trackingId of badTransfers) {
      t.match(await scene.transfers.act(trackingId, { type: 'Complete' }, context), { accepted: true, changed: true })
    }
    const notified = () =>
      new Set(receiver.received.filter(({ body }) => body.Status === 2).map((each) => each.trackingId))
    await until(() => badTransfers.every((trackingId) => notified().has(trackingId)), 60_000)
    t.same(JSON.parse((await scene.cli('events', 'problems')).stdout), [], 'no problem remains')
    await until(async () => (await health()).details.length === 1, 60_000)
    t.match((await health()).details, [/^payouts are stopped/], 'only a person resumes payouts')

    t.equal(await service.end('SIGTERM'), 0)
    if (!long) return
    service = await scene.start()
    t.match(await health(), { status: 200, details: [/^payouts are stopped/] })
    const again = await new RawMerchantClient(service.baseUrl, victims[0]!).nativeDeposit('after', '100.00')
    t.equal(again.status, 200)
    const rebuilt = await scene.cli('projections', 'rebuild', 'transfers')
    t.match(JSON.parse(rebuilt.stdout), { state: 'done' })
    t.equal(await service.end('SIGTERM'), 0)
  })
}
