import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createBackup } from '../../src/operations/backup/create-backup.js'
import { restoreBackup } from '../../src/operations/backup/restore-backup.js'
import type { Document } from '../../src/read-models/read-models.js'
import { password, signIn, signInAs } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/processes.js'
import { startTestService, type TestService, type TestServiceOptions } from '../support/test-service.js'

const minuteMs = 60_000
const nothing = async () => []
const restoring = { at: '2026-11-22T12:00:00.000Z', inspect: async () => ({ lostEvents: null }) }

async function start(t: Test, options: TestServiceOptions): Promise<TestService> {
  const service = await startTestService({ ...options, configuration: { dataDirectory: options.path! } })
  t.teardown(() => service.stop())
  return service
}

const sessionsOf = (service: TestService) => service.readModels.collection('sessions')

async function put(service: TestService, document: Document): Promise<void> {
  const filter = { _id: document._id }
  await sessionsOf(service).bulkWrite([{ replaceOne: { filter, replacement: document, upsert: true } }])
}

t.test('a session with any changed field is not a session, nor is one that was inserted', async (t) => {
  const service = await start(t, { path: temporaryDirectory(t) })
  const auditor = await signInAs(service, 'auditor')
  const administrator = await signInAs(service, 'administrator')
  const genuine = (await sessionsOf(service).findOne({ userId: auditor.userId }))!
  const other = (await sessionsOf(service).findOne({ userId: administrator.userId }))!
  const later = (at: unknown) => new Date(Date.parse(String(at)) + minuteMs).toISOString()
  const changes: { readonly [field: string]: unknown } = {
    ...{ userId: administrator.userId, epoch: 1, epochStartedAt: later(genuine.epochStartedAt) },
    ...{ createdAt: later(genuine.createdAt), lastSeenAt: later(genuine.lastSeenAt) },
    ...{ expiresAt: later(genuine.expiresAt), authenticatedAt: later(genuine.authenticatedAt) },
    ...{
      address: '203.0.113.7',
      userAgent: 'another',
      offeredSecret: 'v1.x',
      mac: randomBytes(32).toString('base64url'),
    },
  }
  t.strictSame(
    Object.keys(genuine)
      .filter((field) => !['_id', 'endsAt'].includes(field))
      .sort(),
    Object.keys(changes).sort(),
    'every stored field is changed below',
  )
  for (const [field, value] of Object.entries(changes)) {
    await put(service, { ...genuine, [field]: value })
    t.equal((await auditor.get('/session')).statusCode, 401, field)
  }
  const { mac: _, ...withoutMac } = genuine
  for (const forged of [withoutMac, { ...withoutMac, userId: administrator.userId }, { ...other, _id: genuine._id }]) {
    await put(service, forged as Document)
    t.equal((await auditor.get('/users')).statusCode, 401)
  }
  const listed = (await administrator.get('/sessions')).json<{ items: unknown[] }>().items
  t.equal(listed.length, 1, 'a forged session is not listed either')
  await put(service, { ...genuine, endsAt: later(genuine.endsAt) })
  t.equal((await auditor.get('/session')).statusCode, 200, 'the stored end only finds expired sessions')
})

t.test('concurrent changes of a session leave it valid, with all of them', async (t) => {
  const time = { ms: Date.parse('2026-03-01T08:00:00.000Z') }
  const service = await start(t, { path: temporaryDirectory(t), clock: () => new Date(time.ms).toISOString() })
  const user = await signInAs(service, 'administrator')
  time.ms += 11 * minuteMs
  const confirm = user.post('/session/confirm', { password })
  const answers = await Promise.all([confirm, user.get('/session'), user.get('/users'), user.get('/sessions')])
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200],
  )
  t.equal((await user.post('/session/second-factor')).statusCode, 200, 'the confirmation counts')
  const stored = await sessionsOf(service).findOne({ userId: user.userId })
  t.match(stored, { lastSeenAt: service.clock(), authenticatedAt: service.clock(), offeredSecret: /^v1\./ })
})

t.test('no session survives a restore, not even one from the time that the restore has lost', async (t) => {
  const root = temporaryDirectory(t)
  const [data, target, to] = ['data', 'target', 'restored'].map((name) => join(root, name)) as [string, string, string]
  const masterKey = randomBytes(32)
  const before = await start(t, { path: data, masterKey })
  const kept = await signInAs(before, 'administrator')
  const sources = {
    dataDirectory: data,
    auditDirectory: join(data, 'audit'),
    log: data,
    readModels: data,
    receipts: data,
    keys: data,
  }
  const at = '2026-11-22T10:00:00.000Z'
  await createBackup({ sources, target, encryptTo: undefined, withReadModels: true, at, verify: nothing })
  const changed = await kept.put('/session/password', { current: password, next: 'a different passphrase' })
  t.equal(changed.statusCode, 200)
  const [lost] = await sessionsOf(before).find({ userId: kept.userId })
  const lostCookie = changed.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  await before.stop()
  await restoreBackup({ backup: target, to, openWith: undefined, ...restoring })

  const restored = await start(t, { path: to, masterKey })
  await put(restored, lost!)
  for (const cookie of [kept.cookie, lostCookie]) {
    const headers = { cookie }
    t.equal((await restored.app.inject({ url: '/dashboard/api/session', headers })).statusCode, 401)
  }
  const { email } = kept
  const again = await signIn(restored.app, { email, password })
  t.equal((await again.get('/session')).statusCode, 200)
  const types = (await restored.store.readStream(`user-${kept.userId}`)).map(({ type, metadata }) => [
    type,
    metadata.actor,
  ])
  t.match(types, [['UserCreated'], ['UserSignedIn'], ['UserSessionsEnded', 'system:restore'], ['UserSignedIn']])
  await restored.stop()

  const next = await start(t, { path: to, masterKey })
  const headers = { cookie: again.cookie }
  t.equal(
    (await next.app.inject({ url: '/dashboard/api/session', headers })).statusCode,
    200,
    'later starts end nothing',
  )
})
