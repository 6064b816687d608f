import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

const cli = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app, transfers } = service
const [own, other] = [await service.merchant({ name: 'Own' }), await service.merchant({ name: 'Other' })]
const auditor = await signInAs(service, 'auditor')

async function deposit(merchant: typeof own): Promise<string> {
  const body = createBody('native', merchant.secretKey, { referenceId: randomUUID() })
  return String((await post(app, paths.native, body, { key: merchant.webApiKey })).json().result.trackingId)
}

const trackingId = await deposit(own)
for (let n = 0; n < 2; n++) await deposit(other)
const user = { actor: `user:${auditor.userId}`, $correlationId: 'c', $causationId: 'c' }
const settled = [
  await transfers.act(trackingId, { type: 'SendToManualControl', message: 'Please wait.' }, user),
  await transfers.act(trackingId, { type: 'Complete' }, cli),
]

interface Item {
  readonly type: string
  readonly actor: string
  readonly actorName: string
  readonly position: string
}

const items = async (path: string) => (await auditor.get(path)).json<{ items: Item[] }>().items

t.test('shows the history with the names of users, in full or as of a time', async (t) => {
  t.ok(settled.every(({ accepted }) => accepted))
  const story = await items(`/audit/story/${trackingId.toUpperCase()}`)
  t.strictSame(
    story.map(({ type, actorName }) => [type, actorName]),
    [
      ['MerchantRegistered', 'test'],
      ['DepositCreated', `merchant:${own.id}`],
      ['TransferSentToManualControl', 'The auditor'],
      ['TransferCompleted', 'cli:grace'],
    ],
  )
  t.strictSame(await items(`/audit/story/${trackingId}?at=${story[2]!.position}`), story.slice(0, 3))
  t.equal((await auditor.get(`/audit/story/${randomUUID()}`)).json().error.code, 40402)
  t.equal(
    (await auditor.get(`/audit/story/${trackingId}?at=2000-01-01`)).json().error.code,
    40402,
    'the transfer did not exist at that time',
  )
  t.equal((await auditor.get(`/audit/story/${trackingId}?at=noon`)).json().error.code, 40001)
})

t.test('shows the state of a transfer, a merchant, a user and a statement', async (t) => {
  const [, created] = await items(`/audit/story/${trackingId}`)
  const state = async (query: string) => (await auditor.get(`/audit/state?${query}`)).json()
  t.match(await state(`of=transfer&id=${trackingId}`), { state: { status: 'Completed' }, statement: null })
  t.match(await state(`of=transfer&id=${trackingId}&at=${created?.position}`), { state: { status: 'Pending' } })
  const merchant = await auditor.get(`/audit/state?of=merchant&id=${own.id}`)
  t.match(merchant.json(), { of: 'merchant', state: { settings: { name: 'Own' }, keys: [{ name: 'main' }] } })
  for (const secret of [own.webApiKey, own.secretKey, own.webhookSecret]) t.notOk(merchant.body.includes(secret))
  t.match(await state(`of=statement&id=${own.id}`), {
    state: null,
    statement: [{ kind: 'deposit', requestedCount: 1, completedCount: 1, openCount: 0 }],
  })
  t.match(await state(`of=statement&id=${own.id}/today`), { error: { code: 40001 } })
  t.match(await state(`of=merchant&id=${randomUUID()}`), { error: { code: 40405 } })
  const shown = await auditor.get(`/audit/state?of=user&id=${auditor.userId}`)
  t.match(shown.json(), { state: { name: 'The auditor', role: 'auditor', merchantIds: null }, statement: null })
  t.notMatch(shown.body, /email|passwordHash|argon2|"v1\./)
  t.match(await state(`of=user&id=${auditor.userId}&at=2000-01-01`), { error: { code: 40404 } })
  t.match(await state(`of=user&id=${own.id}`), { error: { code: 40404 } })
})

t.test('lists actions by actor and by type', async (t) => {
  const by = await items(`/audit/actions?actor=${user.actor}&type=TransferSentToManualControl`)
  t.match(by, [{ actor: user.actor, actorName: 'The auditor', trackingId, merchantId: own.id, correlationId: 'c' }])
  t.equal(by.length, 1)
  const query = `/audit/actions?actor=merchant:${other.id}&type=DepositCreated`
  const created = await auditor.get(query)
  t.match(created.json(), { items: [{}, {}], nextCursor: null })
  const behind = await auditor.get(`${query}&cursor=${created.json().items[0].position}`)
  t.equal(behind.json().items.length, 1)
  t.same(await items('/audit/actions?to=2000-01-01'), [])
  t.equal((await auditor.get('/audit/actions?cursor=x')).json().error.code, 40001)
})

t.test('an export matches its manifest byte for byte, even if the log has grown since', async (t) => {
  const growing = await service.merchant({ name: 'Growing' })
  const first = await deposit(growing)
  for (const [format, name] of [
    ['ndjson', 'events.ndjson'],
    ['csv', 'events-exact.csv'],
  ] as const) {
    const query = `format=${format}&merchantId=${growing.id}`
    const manifest = (await auditor.get(`/audit/manifest?${query}`)).json()
    await deposit(growing)
    const file = await auditor.get(`/audit/export?${query}&until=${manifest.until}`)
    t.equal(file.headers['content-disposition'], `attachment; filename="${name}"`)
    const sha256 = createHash('sha256').update(file.rawPayload).digest('hex')
    t.match(manifest, {
      format,
      merchantId: growing.id,
      files: [{ bytes: file.rawPayload.length, sha256 }],
      signature: /^— transferd\//,
    })
    t.equal(file.body.trimEnd().split('\n').length, manifest.events + (format === 'csv' ? 1 : 0))
    t.ok(file.body.includes(first))
    t.ok(file.body.includes(`merchantName${format === 'csv' ? '' : '":"Growing"'}`))
    t.notOk(file.body.includes(other.id), 'the export contains no event of another merchant')
    const later = await auditor.get(`/audit/export?${query}`)
    t.ok(later.body.startsWith(file.body) && later.body.length > file.body.length)
  }
})
