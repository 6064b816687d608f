import { randomUUID } from 'node:crypto'
import { emptyRoot, formatCheckpoint, generateSigner, parseSigner, signNote } from '@transferd/transparency-log'
import t from 'tap'
import { saveIntegrityStatus, verificationRequestedAt } from '../../../src/audit/integrity/integrity-status.js'
import { IntegrityCommands } from '../../../src/commands/integrity/integrity-commands.js'
import { integrityStream } from '../../../src/domain/streams.js'
import { integrityDetails } from '../../../src/operations/audit/audit-tree.js'
import { signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

const responses: { [trackingId: string]: { outcome: 'made'; proof: string } | { outcome: 'not-sealed' } } = {}
const service = await startTestService({
  overrides: {
    proofOf: async (trackingId) => responses[trackingId] ?? { outcome: 'unverified', reason: 'The event was edited.' },
  },
})
t.teardown(() => destroyTestService(service))
const { readModels, store, clock } = service
const commands = new IntegrityCommands(store, clock)
const system = { actor: 'system:integrity', $correlationId: 'c', $causationId: 'c' }
const finding = { kind: 'log', place: 'transfer-1@3', leafIndex: 7, problem: 'The event differs.' } as const
const signer = parseSigner(generateSigner('transferd/test'))
const note = signNote(formatCheckpoint({ origin: signer.name, size: 9, root: emptyRoot() }), [signer])

t.test('shows the state of the tree, and runs one requested verification at a time', async (t) => {
  const auditor = await signInAs(service, 'auditor')
  const nothing = {
    checkpoint: null,
    verifierKey: null,
    verifications: [],
    payoutsStopped: null,
    resumed: null,
    problems: [],
  }
  const fresh = await startTestService()
  t.teardown(() => destroyTestService(fresh))
  t.same((await (await signInAs(fresh, 'auditor')).get('/audit/integrity')).json(), nothing)
  const startedAt = clock()
  const running = {
    occasion: 'requested',
    startedAt,
    finishedAt: null,
    verified: 4,
    treeSize: 9,
    findings: [],
  } as const
  const status = { note, signedAt: startedAt, verifierKey: 'key', witnesses: ['w'], problems: ['The copy is behind.'] }
  await saveIntegrityStatus(readModels, { ...status, verifications: [] })
  t.same((await auditor.post('/audit/verify')).json(), { started: true })
  t.ok(await verificationRequestedAt(readModels))
  await saveIntegrityStatus(readModels, { ...status, verifications: [running] })
  t.same((await auditor.post('/audit/verify')).json(), { started: false })
  const shown = (await auditor.get('/audit/integrity')).json()
  t.match(shown, { verifications: [running], verifierKey: 'key', problems: ['The copy is behind.'] })
  t.same(shown.checkpoint, {
    ...{ origin: 'transferd/test', treeSize: 9, root: emptyRoot().toString('base64') },
    ...{ signedAt: startedAt, note, witnesses: ['w'] },
  })
})

t.test('an administrator with a recent sign-in resumes payouts with a recorded reason', async (t) => {
  const status = { note, signedAt: clock(), verifierKey: 'key', witnesses: [], problems: ['The copy is behind.'] }
  await saveIntegrityStatus(readModels, { ...status, verifications: [] })
  await commands.report([finding, { ...finding, place: 'transfer-2@0' }], 9, system)
  const [detail, problem] = await integrityDetails(commands, readModels)
  t.match(
    detail,
    /^payouts are stopped since .*: transfer-1@3: The event differs\., and 1 more \(transferd audit verify\)$/,
  )
  t.equal(problem, 'The copy is behind.')
  const administrator = await signInAs(service, 'administrator')
  const auditor = await signInAs(service, 'auditor')
  t.match((await auditor.get('/audit/integrity')).json().payoutsStopped.findings, [finding, { place: 'transfer-2@0' }])
  const resume = (by: typeof auditor, reason: string, revision = 1) =>
    by.post('/audit/resume-payouts', { reason, revision })
  t.equal((await resume(auditor, 'no')).statusCode, 403)
  for (const reason of ['', '  ', 'a\u202eb']) {
    t.equal((await resume(administrator, reason)).statusCode, 400)
  }
  t.match((await resume(administrator, 'the disk', 0)).json(), { error: { code: 40911 } }, 'one finding is unseen')
  t.same((await resume(administrator, 'the disk')).json(), { changed: true })
  t.same((await resume(administrator, 'the disk')).json(), { changed: false }, 'a repeat')
  const { payoutsStopped, resumed } = (await auditor.get('/audit/integrity')).json()
  t.equal(payoutsStopped, null)
  t.match(resumed, { by: `user:${administrator.userId}`, byName: 'The administrator', reason: 'the disk' })
  t.same(await integrityDetails(commands, readModels), ['The copy is behind.'])
  await commands.stopPayouts('the bank is closed', { ...system, actor: 'cli:ada' })
  t.match(await integrityDetails(commands, readModels), [
    /^an operator stopped payouts at .*: the bank is closed/,
    'The copy is behind.',
  ])
  t.match((await auditor.get('/audit/integrity')).json().payoutsStopped, {
    findings: [],
    stop: { by: 'cli:ada', reason: 'the bank is closed' },
  })
})

t.test('returns a proof as a file, or the reason for its absence', async (t) => {
  const auditor = await signInAs(service, 'auditor')
  const [made, noProofYet, edited] = [1, 2, 3].map((n) => `6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a1${n}`)
  responses[made!] = { outcome: 'made', proof: '{"proof":1}' }
  responses[noProofYet!] = { outcome: 'not-sealed' }
  const response = await auditor.get(`/audit/proof/${made}`)
  t.equal(response.body, '{"proof":1}')
  t.match(response.headers['content-disposition'], /attachment; filename="proof-6f6a/)
  t.match((await auditor.get(`/audit/proof/${noProofYet}`)).json(), { error: { code: 40928 } })
  t.match((await auditor.get(`/audit/proof/${edited}`)).json(), {
    error: { code: 40929, details: 'The event was edited.' },
  })
})

t.test('states that payouts are stopped because of an unreadable event of the decisions themselves', async (t) => {
  const newerService = await startTestService()
  t.teardown(() => destroyTestService(newerService))
  const newer = { id: randomUUID(), type: 'PayoutsPaused', data: {}, metadata: { schemaVersion: 1 } }
  await newerService.store.append(integrityStream, 'no_stream', [newer])
  const unreadable = new IntegrityCommands(newerService.store, clock)
  const [detail] = await integrityDetails(unreadable, newerService.readModels)
  t.match(detail, /^payouts are stopped since .*, as an event of integrity-log cannot be read/)
})
