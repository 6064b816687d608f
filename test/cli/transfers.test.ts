import { once } from 'node:events'
import { createServer } from 'node:http'
import { userInfo } from 'node:os'
import { verifyCallback } from '@transferd/client'
import t from 'tap'
import type { Credentials } from '../../examples/merchant/callback-receiver.js'
import { startReceiver } from '../callbacks/receiver.js'
import { misleadingMetadata } from '../domain/transfer-samples.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { rawCells } from '../support/spreadsheet.js'
import { until } from '../support/until.js'
import { cliItems, cliJson, runCli } from './in-process.js'

interface TransferResponse {
  readonly trackingId: string
  readonly statusDescription: string
  readonly changed: boolean
  readonly [field: string]: unknown
}

const directory = temporaryDirectory(t)
const service = await startServiceProcess(t, { directory })
const client = new RawMerchantClient(service.baseUrl, service.sandbox!)

async function deposit(referenceId: string, amount = '100.00'): Promise<string> {
  const { status, body } = await client.hostedDeposit(referenceId, amount)
  t.equal(status, 200)
  return String(body.trackingId)
}

function transfers(...args: string[]): Promise<TransferResponse> {
  return cliJson(directory, 'transfers', ...args)
}

t.test('completes a transfer once, and a repeat or a cancellation changes nothing', async (t) => {
  const trackingId = await deposit('complete')
  const receipt = ['--receipt-url', 'https://receipts.example.com/7', '--message', 'thanks']
  t.match(await transfers('complete', trackingId, '--amount', '95.00', ...receipt), {
    changed: true,
    statusDescription: 'Completed',
    status: 2,
    amount: 100,
    transactionAmount: 95,
    hasAmountMismatch: true,
    receiptUrl: 'https://receipts.example.com/7',
    message: 'thanks',
    merchantId: service.sandbox!.merchantId,
  })
  const repeat = (amount: string) =>
    runCli(directory, ['transfers', 'complete', trackingId.toUpperCase(), '--amount', amount, '--json'])
  const repeated = await repeat('95')
  t.match(JSON.parse(repeated.stdout), { changed: false, transactionAmount: 95 })
  t.equal(repeated.status, 0, 'a repeat by the same operator succeeds')
  t.match(
    repeated.stderr,
    /nothing was changed: cli:\S+ did it at 20\S+, and the transfer was already Completed with 95.00/,
  )
  const another = await repeat('90')
  t.same([another.status, another.stdout], [1, ''], 'a different amount is rejected and printed nowhere')
  const refused = await runCli(directory, ['transfers', 'cancel', trackingId, '--json'])
  t.same([refused.status, refused.stdout], [1, ''])
  t.match(refused.stderr, /is Completed, which is a final status. cli:\S+ did that at 20/)
  t.match(await transfers('show', trackingId), { statusDescription: 'Completed', revision: 1 })
})

t.test('prints the metadata of a merchant unchanged in every format', async (t) => {
  const { body } = await client.hostedDeposit('metadata', '100.00', { metadata: misleadingMetadata })
  const trackingId = String(body.trackingId)
  const json = JSON.stringify(misleadingMetadata)
  const printed = async (...args: string[]) => (await runCli(directory, args)).stdout
  const list = ['transfers', 'list', '--reference-id', 'metadata']
  t.strictSame((await transfers('show', trackingId)).metadata, misleadingMetadata)
  const shown = await printed('transfers', 'show', trackingId)
  t.equal(/^metadata +(.*)$/m.exec(shown)?.[1], json)
  t.equal(await printed(...list, '-o', 'wide', '--columns', 'metadata'), `METADATA\n${json}\n`)
  const csv = rawCells(await printed(...list, '-o', 'csv', '--columns', 'referenceId,metadata'), ',')
  t.strictSame(csv[1], ['metadata', json])
  const [event] = await cliJson<{ data: { metadata: object } }[]>(directory, 'events', 'show', trackingId)
  t.strictSame(event?.data.metadata, misleadingMetadata)
  t.ok((await printed('events', 'show', trackingId, '-o', 'wide')).includes(`metadata=${json}`))
  const row = (key: string, value: string) => `       ${key.padEnd(40)}  ${value}\n`
  const table = Object.entries(misleadingMetadata).map(([key, value]) => row(key, value))
  // A text of more than the width of a terminal is wrapped at its spaces, of which these texts have none or few.
  t.ok((await printed('events', 'show', trackingId)).includes(`     Metadata\n${table.join('')}`))
  const story = (await printed('audit', 'story', trackingId)).replace(/\n +/g, ' ')
  t.ok(story.includes(`Metadata: ${json}`), story)
})

t.test('reopens only a cancelled or failed deposit, with a reason', async (t) => {
  const trackingId = await deposit('reopen')
  const refused = await runCli(directory, ['transfers', 'reopen', trackingId, '--reason', 'too early'])
  t.same([refused.status, refused.stdout], [1, ''])
  t.match(refused.stderr, /Only a cancelled or failed deposit/)
  await transfers('cancel', trackingId)
  const unexplained = await runCli(directory, ['transfers', 'reopen', trackingId, '--reason', ' '])
  t.equal(unexplained.status, 2)
  const expected = {
    changed: true,
    statusDescription: 'ManualControl',
    message: 'the money arrived',
    needsAttention: false,
  }
  t.match(await transfers('reopen', trackingId, '--reason', 'the money arrived'), {
    ...expected,
    lateFunds: 0,
    revision: 2,
  })
})

t.test('manual, cancel and fail set their statuses', async (t) => {
  const [manual, cancelled, failed] = [await deposit('manual'), await deposit('cancel'), await deposit('fail')]
  t.match(await transfers('manual', manual, '--message', 'why'), { statusDescription: 'ManualControl', message: 'why' })
  t.match(await transfers('complete', manual), { statusDescription: 'Completed', transactionAmount: 100 })
  t.match(await transfers('cancel', cancelled), { statusDescription: 'Cancelled' })
  t.match(await transfers('fail', failed), { statusDescription: 'Failed' })
})

t.test('the history names the actors', async (t) => {
  const trackingId = await deposit('history')
  await transfers('fail', trackingId)
  const events = await cliJson<{ revision: number; type: string; metadata: { actor: string } }[]>(
    directory,
    ...['events', 'show', trackingId],
  )
  t.match(events, [
    { revision: 0, type: 'DepositCreated', metadata: { actor: `merchant:${service.sandbox!.merchantId}` } },
    { revision: 1, type: 'TransferFailed', metadata: { actor: `cli:${userInfo().username}` } },
  ])
})

t.test('filters lists, newest first, and finds a reference immediately', async (t) => {
  const references = ['list-1', 'list-2', 'list-3']
  for (const reference of references) await deposit(reference, '7.00')
  const { merchantId } = service.sandbox!
  const referencesOf = (list: TransferResponse[]) => list.map(({ referenceId }) => referenceId)
  t.same(referencesOf(await cliItems(directory, 'transfers', 'list', '--reference-id', 'list-2')), ['list-2'])
  // The lists are updated shortly after the log.
  const newest = [
    'transfers',
    'list',
    '--merchant',
    merchantId,
    '--status',
    'Pending',
    '--kind',
    'deposit',
    '--limit',
    '3',
  ]
  let listed: TransferResponse[] = []
  for (let attempt = 0; attempt < 50 && listed[0]?.referenceId !== 'list-3'; attempt++) {
    listed = (await cliJson<{ items: TransferResponse[] }>(directory, ...newest)).items
  }
  t.same(referencesOf(listed), references.toReversed())
  t.same(await cliItems(directory, 'transfers', 'list', '--from', '2999-01-01'), [])
  t.same(await cliItems(directory, 'transfers', 'list', '--kind', 'withdrawal'), [])
  t.equal((await cliItems<TransferResponse>(directory, 'transfers', 'list', '--to', '2999-01-01')).length > 3, true)
})

interface Page {
  readonly items: readonly { readonly trackingId?: string; readonly webhookId?: string; readonly id?: string }[]
  readonly nextCursor: string | null
}

/** Follows the cursor through all pages, and returns the ids and the number of pages. */
async function everyPage(...args: string[]) {
  const ids: (string | undefined)[] = []
  let pages = 0
  let cursor: string[] = []
  for (;;) {
    const { items, nextCursor } = await cliJson<Page>(directory, ...args, ...cursor)
    ids.push(...items.map(({ trackingId, webhookId, id }) => webhookId ?? trackingId ?? id))
    pages++
    if (nextCursor === null) return { ids, pages }
    cursor = ['--cursor', nextCursor]
  }
}

t.test('lists 60 concurrently created deposits in pages of 9, each once', async (t) => {
  const settings = ['--name', 'Busy', '--callback-url', 'http://127.0.0.1:1/', '--sandbox', '--callback-on-create']
  const issued = await cliJson<Credentials & { id: string }>(directory, 'merchants', 'create', ...settings)
  const busy = new RawMerchantClient(service.baseUrl, issued)
  const responses = await Promise.all(Array.from({ length: 60 }, (_, n) => busy.hostedDeposit(`busy-${n}`, '5.00')))
  const created = responses.map(({ body }) => String(body.trackingId)).sort()
  const list = ['transfers', 'list', '--merchant', issued.id, '--limit']
  await until(async () => (await cliJson<Page>(directory, ...list, '100')).items.length === 60)
  const listed = await everyPage(...list, '9')
  t.equal(listed.pages, 7)
  t.same(listed.ids.toSorted(), created)
  const callbacks = ['callbacks', 'list', '--merchant', issued.id, '--limit']
  await until(async () => (await cliJson<Page>(directory, ...callbacks, '100')).items.length === 60)
  const sent = await everyPage(...callbacks, '40')
  t.same([sent.pages, new Set(sent.ids).size], [2, 60])
  const merchants = await everyPage('merchants', 'list', '--limit', '1')
  t.equal(merchants.pages, new Set(merchants.ids).size)
  t.ok(merchants.ids.includes(issued.id))

  const readable = await runCli(directory, [...list, '59'])
  const [, cursor = ''] = /there are more: use --cursor (\S+)/.exec(readable.stderr) ?? []
  t.equal((await cliJson<Page>(directory, ...list, '9', '--cursor', cursor)).items.length, 1)
})

t.test('rejects an unknown id instead of printing an empty result', async (t) => {
  const unknown = '00000000-0000-4000-8000-000000000000'
  for (const [args, what] of [
    [['transfers', 'list', '--merchant', unknown], 'Merchant'],
    [['callbacks', 'list', '--merchant', unknown], 'Merchant'],
    [['callbacks', 'list', '--transfer', unknown], 'Transfer'],
    [['callbacks', 'resend', unknown], 'Transfer'],
    [['callbacks', 'replay-parked', '--transfer', unknown], 'Transfer'],
  ] as const) {
    const { status, stdout, stderr } = await runCli(directory, [...args, '--json'])
    const error = { code: `unknown-${what.toLowerCase()}`, message: `${what} not found.` }
    t.same([status, stdout, JSON.parse(stderr)], [1, '', { error }], args.join(' '))
  }
})

t.test('lists, resends and enables callbacks', async (t) => {
  const received: string[] = []
  let answer = 500
  const receiver = createServer((request, response) => {
    received.push(String(request.headers['webhook-id']))
    request.resume()
    response.writeHead(answer).end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as { port: number }).port}/`
  const settings = ['--name', 'Listens', '--callback-url', url, '--sandbox']
  const issued = await cliJson<Credentials & { id: string }>(directory, 'merchants', 'create', ...settings)
  const { body } = await new RawMerchantClient(service.baseUrl, issued).hostedDeposit('callback', '10.00')
  const trackingId = String(body.trackingId)
  await transfers('complete', trackingId)

  const callbacks = () =>
    cliItems<{ status: string; failedAttempts: number }>(directory, 'callbacks', 'list', '--transfer', trackingId)
  await until(async () => (await callbacks())[0]?.failedAttempts === 1)
  t.match(await callbacks(), [{ status: 'waiting', failedAttempts: 1, transferStatus: 2 }])
  answer = 200
  const resent = await cliJson<{ requeued: string[] }>(directory, 'callbacks', 'resend', trackingId)
  t.same(resent.requeued, [received[0]])
  await until(async () => (await callbacks())[0]?.status === 'delivered')
  t.equal(new Set(received).size, 1, 'every attempt has the same id')

  const listed = (status: string) =>
    cliItems<{ trackingId: string }>(directory, 'callbacks', 'list', '--merchant', issued.id, '--status', status)
  await until(async () => (await listed('delivered')).length === 1)
  t.same([await listed('waiting'), await listed('parked')], [[], []])
  t.ok((await cliItems<unknown>(directory, 'callbacks', 'list', '--limit', '1000')).length > 60)
  t.same(await cliJson(directory, 'callbacks', 'replay-parked'), { requeued: [] })
  t.same(await cliJson(directory, 'callbacks', 'enable', issued.id), { id: issued.id, changed: false })

  const resendWaiting = ['callbacks', 'resend', '--waiting', '--merchant', issued.id]
  t.same(await cliJson(directory, ...resendWaiting), { merchantId: issued.id, waiting: false })
  answer = 500
  const second = await new RawMerchantClient(service.baseUrl, issued).hostedDeposit('waiting', '10.00')
  const waiting = String(second.body.trackingId)
  await transfers('complete', waiting)
  const ofWaiting = async () =>
    (
      await cliItems<{ status: string; failedAttempts: number }>(directory, 'callbacks', 'list', '--transfer', waiting)
    )[0]
  await until(async () => (await ofWaiting())?.failedAttempts === 2)
  answer = 200
  await until(async () => (await cliJson<{ waiting: boolean }>(directory, ...resendWaiting)).waiting)
  await until(async () => (await ofWaiting())?.status === 'delivered')
  for (const wrong of [[], ['--waiting'], ['--merchant', issued.id], [waiting, '--waiting', '--merchant', issued.id]])
    t.equal((await runCli(directory, ['callbacks', 'resend', ...wrong])).status, 2, wrong.join(' '))
})

t.test('keeps callbacks of the sandbox merchant until it has an endpoint that can verify them', async (t) => {
  const verified: Promise<string>[] = []
  const receiver = await startReceiver(t, ({ text, headers }, response) => {
    verified.push(verifyCallback(text, headers, service.sandbox!).then(({ callback }) => callback.TrackingId))
    response.end()
  })
  const trackingId = await deposit('kept')
  await transfers('complete', trackingId)
  t.match(await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--callback-url', receiver.url), {
    changed: true,
    callbacksDisabled: null,
  })
  // A callback that cannot be verified rejects.
  await until(async () => (await Promise.all(verified)).includes(trackingId))
})

t.test('projections show their progress and are rebuilt while the service runs', async (t) => {
  const status = await cliJson<{ name: string; holder: string }[]>(directory, 'projections', 'status')
  const bank = ['bank-accounts', 'bank-days', 'bank-payments']
  const names = [...bank, 'callbacks', 'problems', 'totals', 'transfer-events', 'transfers']
  t.same(status.map(({ name }) => name).sort(), names)
  for (const { holder } of status) t.match(holder, `/${service.pid}/`)
  // The list may lack the latest changes of earlier tests.
  await until(async () => {
    const lags = await cliJson<{ lagEvents: number }[]>(directory, 'projections', 'status')
    return lags.every(({ lagEvents }) => lagEvents === 0)
  })
  const before = await cliItems(directory, 'transfers', 'list', '--limit', '1000')
  t.match(await cliJson(directory, 'projections', 'rebuild', 'transfers'), { name: 'transfers', state: 'done' })
  t.same(await cliItems(directory, 'transfers', 'list', '--limit', '1000'), before)
})

t.test('prints lists as tables of 100 columns without --json', async (t) => {
  const heads: [string[], RegExp][] = [
    [['transfers', 'list'], /^ID +KIND +STATUS +AMOUNT +REFERENCE +MERCHANT +AGE$/],
    [['projections', 'status'], /^NAME +STATE +LAG +LAST EVENT +TASK +RUN BY$/],
    [['callbacks', 'list'], /^ID +TRANSFER +ABOUT +STATUS +FAILED +DUE IN +AGE +LAST FAILURE$/],
    [['merchants', 'list'], /^ID +STATE +CALLBACKS +AGE +NAME$/],
  ]
  for (const [command, head] of heads) {
    const { status, stdout } = await runCli(directory, command)
    t.equal(status, 0)
    t.notOk(stdout.includes('{'), command.join(' '))
    const lines = stdout.trimEnd().split('\n')
    t.match(lines[0], head)
    t.ok(lines.length > 1)
    for (const line of lines) t.ok(line.length <= 100, line)
  }
  const empty = await runCli(directory, ['transfers', 'list', '--from', '2999-01-01'])
  t.same([empty.status, empty.stdout, empty.stderr], [0, 'No transfers found.\n', ''])
})

t.test('accepts an id as tables and banks print it, if it is unique', async (t) => {
  const trackingId = await deposit('short-id', '12.50')
  const short = trackingId.slice(0, 8)
  let line: string | undefined
  await until(async () => {
    const { stdout } = await runCli(directory, ['transfers', 'list'])
    line = stdout.split('\n').find((each) => each.startsWith(short))
    return line !== undefined
  })
  const merchant = service.sandbox!.merchantId.slice(0, 8)
  t.match(line, new RegExp(`^${short}  deposit +Pending +12\\.50 TRY  short-id +${merchant}  \\d+[sm]$`))
  t.match(await transfers('show', short), { trackingId, referenceId: 'short-id' })
  t.match(await transfers('complete', short.toUpperCase()), { trackingId, changed: true })
  const fromBank = trackingId.replaceAll('-', '').toUpperCase()
  for (const each of [fromBank, fromBank.slice(0, 13)]) t.match(await transfers('show', each), { trackingId }, each)
  const listed = await cliItems<TransferResponse>(directory, 'transfers', 'list', '--merchant', merchant.toUpperCase())
  t.ok(listed.some((each) => each.trackingId === trackingId))
  t.match(await cliJson(directory, 'merchants', 'show', merchant), { id: service.sandbox!.merchantId })
  const { stdout } = await runCli(directory, ['audit', 'state', 'transfer', short, '--json'])
  t.match(JSON.parse(stdout), { id: trackingId, state: { referenceId: 'short-id' } })
  const history = await runCli(directory, ['events', 'show', short])
  t.match(
    history.stdout,
    /^0 +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\S*Z +Deposit created +by [^\n]+ \(merchant [0-9a-f]{8}\)\n {5}\S/,
  )
  t.match(history.stdout, /\n1 +\S+ \S+ +Completed +by \S+ \(command line\)\n/)
  for (const each of history.stdout.split('\n')) t.ok(each.length <= 100, each)
  await until(async () => {
    const { stdout } = await runCli(directory, ['callbacks', 'list', '--transfer', short])
    return stdout.includes(`${short}  Completed`)
  })
  t.match(await runCli(directory, ['transfers', 'show', 'ffffffff']), { status: 1, stderr: /Transfer not found/ })
})
