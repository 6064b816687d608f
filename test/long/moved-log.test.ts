import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openLog } from '../../src/operations/stores/stores.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { accepts, type Receiver, startReceiver } from '../callbacks/receiver.js'
import { startEventsServerProcess } from '../support/events-server.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { cliJson, runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'

// This takes half a minute on an idle machine, mostly for the start of processes.
t.setTimeout(300_000)

interface Feed {
  readonly items: readonly { readonly eventId: string; readonly type: string }[]
  readonly next: string
}

async function get<Answer>(url: string, { webApiKey }: Credentials): Promise<Answer> {
  const answer = await fetch(url, { headers: { WebApiKey: webApiKey } })
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Answer
}

/**
 * Runs a service and stops it after three delivered callbacks and a failed one, before it has noticed the change of a
 * fifth transfer.
 */
async function livedService(t: Test, receiver: Receiver) {
  const directory = temporaryDirectory(t)
  const options = ['--callback-url', receiver.url, '--sandbox', '--rate-limit', '1000']
  const merchant = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Shop', ...options)
  const service = await startServiceProcess(t, { directory })
  const ids: string[] = []
  for (const n of [1, 2, 3, 4, 5]) {
    const { body } = await createDeposit(service.baseUrl, merchant, `before-${n}`)
    ids.push(body.result!.trackingId)
  }
  for (const id of ids.slice(0, 3)) await cliJson(directory, 'transfers', 'complete', id)
  await until(() => receiver.received.length === 3)
  await until(async () => (await get<Feed>(`${service.baseUrl}/v1/events`, merchant)).items.length === 8)
  const seen = await get<Feed>(`${service.baseUrl}/v1/events?limit=3`, merchant)
  const rest = await get<Feed>(`${service.baseUrl}/v1/events?after=${seen.next}`, merchant)
  receiver.behave = (_received, response) => void response.writeHead(503).end()
  await cliJson(directory, 'transfers', 'cancel', ids[3]!)
  await until(() => receiver.received.length === 4)
  t.equal(await service.end('SIGTERM'), 0)
  receiver.behave = accepts
  await cliJson(directory, 'transfers', 'fail', ids[4]!)
  return { directory, merchant, ids, seen, rest }
}

for (const [engine, readModels] of [
  ['embedded', 'rebuilt'],
  ['EventStoreDB', 'reused'],
] as const) {
  t.test(`a service continues on the ${engine} copy of its log with ${readModels} read models`, async (t) => {
    const receiver = await startReceiver(t)
    const before = await livedService(t, receiver)
    const { directory: old, merchant, ids } = before
    const delivered = receiver.received.slice(0, 3).map(({ webhookId }) => webhookId)
    const pending = receiver.received[3]!.webhookId

    const directory = temporaryDirectory(t)
    const [from, to] = [join(old, 'data'), join(directory, 'data')]
    const url = engine === 'embedded' ? `embedded:${to}` : (await startEventsServerProcess(t, to)).url
    const used = readModels === 'reused' ? from : to
    const stores = { EVENT_STORE_URL: url, READ_MODEL_URL: `embedded:${used}` }
    const copied = await runCli(directory, ['events', 'copy', '--from', `embedded:${from}`, '--to', url, '--json'])
    t.match(copied, { status: 0 }, copied.stderr)
    const refused = await runCli(directory, ['serve'], { ...stores, PORT: '0' })
    t.match(refused, { status: 1, stderr: /master\.key/ }, 'the service does not start without the key')
    const key = readFileSync(join(from, 'master.key'), 'utf8').trim()
    const environment = {
      ...stores,
      TRANSFERD_MASTER_KEY: key,
      SANDBOX: 'off',
      CALLBACK_ALLOWED_NETWORKS: '127.0.0.0/8',
    }

    const service = await startServiceProcess(t, { directory, environment })
    for (const id of [ids[0]!, ids[4]!]) {
      const transfer = await get<object>(`${service.baseUrl}/v1/transfers/${id}`, merchant)
      t.match(await cliJson(old, 'transfers', 'show', id), transfer, 'the transfer is unchanged')
    }
    const repeated = await createDeposit(service.baseUrl, merchant, 'before-1')
    t.match(
      repeated,
      { status: 200, body: { result: { trackingId: ids[0] } } },
      'a repeated create returns the original transfer',
    )
    const created = await createDeposit(service.baseUrl, merchant, 'after-1')
    t.equal(created.status, 200)
    const after = created.body.result!.trackingId
    t.equal((await runCli(directory, ['transfers', 'complete', after], environment)).status, 0)
    await until(() => receiver.received.filter(({ webhookId }) => webhookId === pending).length === 2)
    for (const id of [ids[4], after]) await until(() => receiver.received.some(({ trackingId }) => trackingId === id))

    const feedUrl = `${service.baseUrl}/v1/events?after=${before.seen.next}`
    await until(async () => (await get<Feed>(feedUrl, merchant)).items.length === before.rest.items.length + 4)
    const feed = await get<Feed>(feedUrl, merchant)
    t.same(
      feed.items.slice(0, -4).map(({ eventId }) => eventId),
      before.rest.items.map(({ eventId }) => eventId),
      'the feed resumes after the last read event',
    )
    const opening = { EVENT_STORE_URL: url, TRANSFERD_MASTER_KEY: key }
    await untilDocumentsMatch(engine === 'embedded' ? opening : { ...opening, DATA_DIRECTORY: to }, used)
    t.equal(await service.end('SIGTERM'), 0)
    for (const webhookId of delivered)
      t.equal(receiver.received.filter((one) => one.webhookId === webhookId).length, 1, 'no callback is sent twice')
    t.equal(receiver.received.length, 7, 'three callbacks before the copy, a failed attempt, and three since')

    if (engine === 'embedded') return

    // In the second copy the positions are smaller, so all stored positions are beyond its end.
    const back = `embedded:${join(directory, 'back')}`
    const returned = await runCli(directory, ['events', 'copy', '--from', url, '--to', back], environment)
    t.match(returned, { status: 0 }, returned.stderr)
    const lastService = await startServiceProcess(t, {
      directory,
      environment: { ...environment, EVENT_STORE_URL: back },
    })
    const last = (await createDeposit(lastService.baseUrl, merchant, 'back-1')).body.result!.trackingId
    t.equal(
      (await runCli(directory, ['transfers', 'complete', last], { ...environment, EVENT_STORE_URL: back })).status,
      0,
    )
    await until(() => receiver.received.some(({ trackingId }) => trackingId === last))
    const more = async () => (await get<Feed>(`${lastService.baseUrl}/v1/events?after=${feed.next}`, merchant)).items
    await until(async () => (await more()).length === 2)
    await untilDocumentsMatch({ ...opening, EVENT_STORE_URL: back }, used)
    t.equal(await lastService.end('SIGTERM'), 0)
    t.equal(receiver.received.length, 8, 'one more callback')
  })
}

/** Waits until the read models equal the fold of the log, without missing or repeated events. */
async function untilDocumentsMatch(environment: Parameters<typeof readConfiguration>[0], readModels: string) {
  const { eventStore, close } = await openLog(readConfiguration(environment))
  const models = await openEmbeddedReadModels({ directory: readModels })
  await until(async () => {
    const expected = expectedDocuments(await wholeLogOfTransfers(eventStore))
    return isDeepStrictEqual(await storedDocuments(models), expected)
  })
  await models.close()
  await close()
}

async function wholeLogOfTransfers(store: Parameters<typeof wholeLog>[0]) {
  return (await wholeLog(store)).filter(({ stream }) => /^(transfer|callback)-/.test(stream))
}
