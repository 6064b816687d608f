import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import type { Evidence } from '../../../src/audit/evidence/evidence.js'
import { fileIn } from '../../../src/audit/evidence/zip.js'
import { evidenceStream } from '../../../src/domain/streams.js'
import { auditKeyOf } from '../../../src/operations/audit/audit-files.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { sealLog } from '../../support/seal-log.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

const context = { actor: 'cli:grace', $correlationId: 'c', $causationId: 'c' }
const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { app, store, path, http, secretBox, transfers } = service
const merchant = await service.merchant()
const auditor = await signInAs(service, 'auditor')
const administrator = await signInAs(service, 'administrator')
const anotherAdministrator = await signInAs(service, 'administrator')
const { raw } = http.privacy
const signer = (await auditKeyOf(path, raw, secretBox))!
type User = typeof auditor

async function withdrawal(userId: string): Promise<string> {
  const body = createBody('withdrawal', merchant.secretKey, { userId })
  const { result } = (await post(app, paths.withdrawal, body, { key: merchant.webApiKey })).json()
  await transfers.act(result.trackingId, { type: 'Complete' }, context)
  return result.trackingId
}

const seal = () => sealLog(raw, join(path, 'audit'), signer)
const [plain, disclosed, erased] = [await withdrawal('u-1'), await withdrawal('u-2'), await withdrawal('u-3')]
await seal()
const unsealed = await withdrawal('u-4')

const create = (by: User, trackingId: string, body = {}) => by.post(`/audit/evidence/${trackingId}`, body)
const request = (by: User, trackingId: string, body: object) =>
  by.post(`/audit/evidence/${trackingId}/disclosure`, { disclose: ['name'], reason: 'audit of November', ...body })
const decide = (by: User, trackingId: string, requestId: string, approve = true) =>
  by.post(`/audit/evidence/${trackingId}/disclosure/decision`, { requestId, approve })
const shown = async (trackingId: string) => (await auditor.get(`/audit/evidence/${trackingId}`)).json().disclosure
const recorded = async (trackingId: string) => store.readStream(evidenceStream(trackingId))
const evidenceIn = (bytes: Buffer): Evidence => JSON.parse(fileIn(bytes, 'evidence.json').toString())

t.test('an auditor creates a package, which is recorded with the digest of exactly its bytes', async (t) => {
  t.equal(await shown(plain), null)
  const made = await create(auditor, plain.toUpperCase())
  t.equal(made.headers['content-type'], 'application/zip')
  t.match(made.headers['content-disposition'], `attachment; filename="transfer_evidence_${plain}.zip"`)
  const { trackingId, events, disclosed } = evidenceIn(made.rawPayload)
  t.equal(trackingId, plain)
  t.strictSame(disclosed, [], 'without a request nothing is disclosed')
  const [event, ...others] = await recorded(plain)
  t.strictSame(others, [])
  const by = `user:${auditor.userId}`
  t.match(event, { type: 'EvidencePackageCreated', metadata: { actor: by } })
  t.match(event?.data, { trackingId: plain, by, requestId: null, events: events.length })
  t.equal(event?.data.sha256, createHash('sha256').update(made.rawPayload).digest('hex'))
})

t.test('a package discloses exactly what two people agreed to', async (t) => {
  t.same((await request(auditor, disclosed, { disclose: ['name', 'account'] })).json(), { changed: true })
  t.same((await request(auditor, disclosed, { disclose: ['name', 'account'] })).json(), { changed: false }, 'a repeat')
  const { requestId, ...open } = await shown(disclosed)
  t.match(open, {
    ...{ disclose: ['name', 'account'], reason: 'audit of November', state: 'open', isInForce: false },
    ...{ by: `user:${auditor.userId}`, byName: 'The auditor', decidedBy: null, decidedByName: null, decidedAt: null },
  })
  t.match((await create(auditor, disclosed, { requestId })).json(), { error: { code: 40935 } }, 'not approved')
  t.equal((await decide(auditor, disclosed, requestId)).json().error.code, 40306, 'auditors cannot decide')
  t.equal((await decide(administrator, disclosed, randomUUID())).json().error.code, 40415)
  t.same((await decide(administrator, disclosed, requestId)).json(), { changed: true })
  t.same((await decide(administrator, disclosed, requestId)).json(), { changed: false }, 'a repeat')
  t.match(
    (await decide(anotherAdministrator, disclosed, requestId, false)).json(),
    { error: { code: 40935, details: 'The request was already approved or rejected.' } },
    'the decision is final',
  )
  t.match(await shown(disclosed), { state: 'approved', isInForce: true, decidedByName: 'The administrator' })
  const made = await create(auditor, disclosed, { requestId })
  const fields = evidenceIn(made.rawPayload).disclosed.flatMap((each) => each.fields)
  t.strictSame(fields.map(({ field, value }) => [field, JSON.parse(value)]).sort(), [
    ['accountNumber', 'TR330006100519786457841326'],
    ['name', 'Ada Lovelace'],
  ])
  t.match((await recorded(disclosed)).at(-1)?.data, { requestId, by: `user:${auditor.userId}` })
  t.equal((await create(auditor, disclosed, { requestId: randomUUID() })).json().error.code, 40415)
  const without = evidenceIn((await create(auditor, disclosed)).rawPayload)
  t.strictSame(without.disclosed, [], 'an approval alone discloses nothing')
})

t.test('nobody approves their own request, but anyone who decides can reject it', async (t) => {
  await request(administrator, plain, {})
  const { requestId } = await shown(plain)
  const refused = { code: 40935, details: 'A disclosure cannot be requested and approved by the same person.' }
  t.match((await decide(administrator, plain, requestId)).json(), { error: refused })
  t.same((await decide(administrator, plain, requestId, false)).json(), { changed: true })
  t.match(await shown(plain), { state: 'rejected', isInForce: false })
  t.match((await create(administrator, plain, { requestId })).json(), { error: { code: 40935 } })
})

t.test('rejects what it cannot prove, and requests that say nothing', async (t) => {
  const unknown = randomUUID()
  const before = await recorded(unsealed)
  t.equal((await create(auditor, unknown)).json().error.code, 40402)
  t.equal((await request(auditor, unknown, {})).json().error.code, 40402)
  t.equal((await create(auditor, unsealed)).json().error.code, 40928, 'no checkpoint covers it yet')
  for (const reason of ['', '  ', 'a\u202eb', 'a'.repeat(3_000)])
    t.equal((await request(auditor, unsealed, { reason })).json().error.code, 40001, JSON.stringify(reason))
  for (const disclose of [[], ['password'], ['name', 'name'], ['toString']])
    t.equal((await request(auditor, unsealed, { disclose })).json().error.code, 40001, `${disclose}`)
  t.strictSame(await recorded(unsealed), before, 'nothing was recorded')
  for (const role of ['viewer', 'operator', 'approver'] as const) {
    const user = await signInAs(service, role, [merchant.id])
    const asked = [create(user, plain), request(user, plain, {}), decide(user, plain, randomUUID())]
    asked.push(user.get(`/audit/evidence/${plain}`))
    for (const response of asked) t.equal((await response).json().error.code, 40306, role)
  }
})

t.test('after an erasure a package discloses nothing, in spite of an approval', async (t) => {
  await request(auditor, erased, {})
  const { requestId } = await shown(erased)
  await decide(administrator, erased, requestId)
  t.ok(evidenceIn((await create(auditor, erased, { requestId })).rawPayload).disclosed.length > 0)
  const customer = { merchantId: merchant.id, userId: 'u-3', reason: 'request of the customer' }
  t.equal((await administrator.post('/privacy/erase', customer)).statusCode, 200)
  const details = "The customer's data was erased, so it cannot be disclosed."
  t.match((await create(auditor, erased, { requestId })).json(), { error: { code: 40935, details } })
  await seal()
  t.match((await create(auditor, erased, { requestId })).json(), { error: { code: 40935, details } })
  const made = evidenceIn((await create(auditor, erased)).rawPayload)
  t.ok(
    made.events.some(({ leaf }) => leaf.includes('"CustomerErased"')),
    'a package still proves the erasure',
  )
})
