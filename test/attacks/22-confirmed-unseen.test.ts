import t, { type Test } from 'tap'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import type { Finding } from '../../src/domain/integrity.js'
import type { MerchantItem, UserItem } from '../../src/http/dashboard/api.js'
import { runCli } from '../cli/in-process.js'
import { signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const system = { actor: 'system:integrity', $correlationId: 'c', $causationId: 'c' }
const conflict = { code: 40911, rule: 'changed-meanwhile' }

async function service(t: Test) {
  const started = await startTestService()
  t.teardown(() => destroyTestService(started))
  const merchant = await started.merchant({ approvalAboveMinor: 100_00n })
  const [alice, bob] = [await signInAs(started, 'administrator'), await signInAs(started, 'administrator')]
  const { id } = merchant
  const shown = async () => (await bob.get(`/merchants/${id}`)).json<MerchantItem>()
  const change = async (by: typeof alice, settings: object) =>
    by.patch(`/merchants/${id}`, { ...settings, revision: (await shown()).revision })
  const userShown = async (userId: string) => {
    const { items } = (await bob.get('/users')).json<{ items: readonly UserItem[] }>()
    return items.find((user) => user.userId === userId)!
  }
  return { ...started, ...merchant, alice, bob, shown, change, userShown }
}

t.test('a confirmation applies the threshold that the page showed, or none', async (t) => {
  const { id, alice, bob, shown, change, directory } = await service(t)
  const threshold = () => directory.byId(id)?.settings.approvalAboveMinor
  await change(alice, { approvalAboveMinor: 101_00 })
  const seen = await shown()
  t.match(seen.proposedThreshold, { approvalAboveMinor: 101_00 })
  await change(alice, { approvalAboveMinor: null })
  const confirm = (body: object) => bob.post(`/merchants/${id}/confirm-threshold`, body)
  t.equal((await confirm({})).statusCode, 400)
  t.match((await confirm({ revision: seen.revision })).json().error, {
    ...conflict,
    values: { changes: [{ type: 'ApprovalThresholdProposed', by: 'The administrator' }] },
  })
  t.equal(threshold(), 100_00n)
  const { revision } = await shown()
  t.equal((await confirm({ revision })).statusCode, 200)
  t.equal(threshold(), null)
  t.equal((await confirm({ revision })).statusCode, 200, 'a repeat after a lost response is harmless')
  t.equal((await shown()).revision, revision + 1)
})

t.test('the same threshold of another administrator is another proposal', async (t) => {
  const running = await service(t)
  const { id, alice, bob, shown, change, directory } = running
  await change(alice, { approvalAboveMinor: 200_00 })
  const { revision } = await shown()
  const carol = await signInAs(running, 'administrator')
  await change(carol, { approvalAboveMinor: 200_00 })
  t.match((await bob.post(`/merchants/${id}/confirm-threshold`, { revision })).json().error, conflict)
  t.equal(directory.byId(id)?.settings.approvalAboveMinor, 100_00n)
})

t.test('a confirmation gives the access that the page showed, or none', async (t) => {
  const { id, alice, bob, userShown, path, masterKey, users } = await service(t)
  const request = { email: 'new@example.com', name: 'New', role: 'approver', merchantIds: [id] }
  const { user } = (await alice.post('/users', request)).json<{ user: UserItem }>()
  const { userId, revision } = user
  t.same(await userShown(userId), user, 'the list shows what the first administrator saw')
  await alice.put(`/users/${userId}/role`, { role: 'administrator', revision })
  const confirm = (body: object) => bob.post(`/users/${userId}/confirm`, body)
  t.equal((await confirm({})).statusCode, 400)
  t.match((await confirm({ revision })).json().error, {
    ...conflict,
    values: { changes: [{ type: 'UserRoleChanged' }, { type: 'UserAccessHeld' }] },
  })
  t.match(await userShown(userId), { role: 'administrator', heldBy: ['The administrator', 'The administrator'] })

  const data = `embedded:${path}`
  const environment = { EVENT_STORE_URL: data, READ_MODEL_URL: data, TRANSFERD_MASTER_KEY: masterKey.toString('hex') }
  const run = (...command: string[]) => runCli(path, [...command, '--json'], environment)
  const onMachine = await run('users', 'confirm', userId, '--revision', String(revision))
  t.match(onMachine, { status: 1, stderr: /user:.* changed it at/ }, 'nor on the command line')
  const listed = JSON.parse((await run('users', 'list')).stdout) as readonly UserItem[]
  t.equal(listed.find((each) => each.userId === userId)?.revision, (await userShown(userId)).revision)

  const seen = await userShown(userId)
  t.match((await confirm({ revision: seen.revision })).json(), { role: 'administrator', heldBy: [] })
  t.equal((await confirm({ revision: seen.revision })).statusCode, 200, 'a repeat after a lost response is harmless')
  t.equal((await users.history(userId)).filter(({ event }) => event.type === 'UserAccessConfirmed').length, 1)
})

t.test('neither a role nor an enabling overwrites a change that its administrator has not seen', async (t) => {
  const { id, alice, bob, userShown } = await service(t)
  const request = { email: 'new@example.com', name: 'New', role: 'operator', merchantIds: [id] }
  const { user } = (await alice.post('/users', request)).json<{ user: UserItem }>()
  const { userId, revision } = user
  await alice.put(`/users/${userId}/role`, { role: 'viewer', merchantIds: [id], revision })
  const role = await bob.put(`/users/${userId}/role`, { role: 'operator', merchantIds: [id], revision })
  t.match(role.json().error, conflict)
  t.equal((await bob.put(`/users/${userId}/role`, { role: 'auditor' })).statusCode, 400)
  const { revision: disabled } = (await bob.post(`/users/${userId}/disable`)).json()
  await alice.put(`/users/${userId}/role`, { role: 'operations', revision: disabled })
  t.match((await bob.post(`/users/${userId}/enable`, { revision: disabled })).json().error, conflict)
  t.equal((await bob.post(`/users/${userId}/enable`, {})).statusCode, 400)
  t.match(await userShown(userId), { role: 'operations', disabled: true })
})

t.test('saved settings do not restore an address that another administrator has removed', async (t) => {
  const { id, alice, bob, shown, change } = await service(t)
  await change(alice, { allowIps: ['127.0.0.1', '203.0.113.7'] })
  const { revision } = await shown()
  await change(alice, { allowIps: ['127.0.0.1'] })
  const allowIps = ['127.0.0.1', '203.0.113.7', '203.0.113.8']
  t.match((await bob.patch(`/merchants/${id}`, { allowIps, revision })).json().error, conflict)
  t.equal((await bob.patch(`/merchants/${id}`, { allowIps })).statusCode, 400)
  t.same((await shown()).settings.allowIps, ['127.0.0.1'])
})

t.test('a resumption of payouts covers neither a later finding nor a later stop', async (t) => {
  const { alice, bob, store } = await service(t)
  const commands = new IntegrityCommands(store, () => new Date().toISOString())
  const finding = (place: string): Finding => ({ kind: 'log', place, leafIndex: 1, problem: 'The event differs.' })
  const stopped = async () => (await bob.get('/audit/integrity')).json().payoutsStopped
  const resume = (by: typeof alice, revision: number) =>
    by.post('/audit/resume-payouts', { reason: 'reviewed', revision })
  await commands.report([finding('transfer-1@0')], 9, system)
  const seen = await stopped()
  t.equal((await resume(alice, seen.revision)).statusCode, 200)
  await commands.report([finding('transfer-2@0')], 9, system)
  t.equal((await stopped()).findings.length, seen.findings.length, 'the number of findings is the same')
  t.match((await resume(bob, seen.revision)).json().error, {
    ...conflict,
    values: { changes: [{ type: 'PayoutsResumed' }, { type: 'IntegrityViolated' }] },
  })
  const next = await stopped()
  await commands.stopPayouts('fraud at the bank', { ...system, actor: 'cli:ada' })
  t.match((await resume(bob, next.revision)).json().error, conflict)
  t.match(await stopped(), { findings: [{ place: 'transfer-2@0' }], stop: { reason: 'fraud at the bank' } })
  const now = await stopped()
  t.same((await resume(bob, now.revision)).json(), { changed: true })
  t.same((await resume(bob, now.revision)).json(), { changed: false }, 'a repeat after a lost response is harmless')
})

t.test('a reason for a second bank file covers no file that its operator has not seen', async (t) => {
  const running = await service(t)
  const { app, directory, id, secretKey, webApiKey, transfers, merchants } = running
  await merchants.execute(id, { type: 'ChangeSettings', changes: { approvalAboveMinor: null } }, system)
  await running.until(() => directory.byId(id)?.settings.approvalAboveMinor === null)
  const operator = await signInAs(running, 'operator', [id])
  const body = createBody('withdrawal', secretKey)
  const { trackingId } = (await post(app, paths.withdrawal, body, { key: webApiKey })).json().result
  await operator.post(`/transfers/${trackingId}/claim`, { revision: 0 })
  const produce = (more: object = {}) =>
    operator.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [trackingId], ...more })
  const fileShown = async () => (await operator.get(`/transfers/${trackingId}`)).json().bankFile.messageId as string
  t.equal((await produce()).statusCode, 200)
  const first = await fileShown()
  const repeat = { reason: 'the bank lost the first file', files: [first] }
  t.equal((await produce({ repeat })).statusCode, 200)
  const second = await fileShown()
  t.match((await produce({ repeat })).json().error.validationErrors, [
    { rule: 'in-bank-file', values: { file: second } },
  ])
  const files = (await transfers.history(trackingId)).filter(({ event }) => event.type === 'WithdrawalAddedToBankFile')
  t.equal(files.length, 2, 'a request that is sent twice makes no third file')
  t.equal((await produce({ repeat: 'the bank lost the first file' })).statusCode, 400)
})
