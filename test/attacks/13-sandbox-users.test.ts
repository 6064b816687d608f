import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import type { Role } from '../../src/domain/user/permissions.js'
import { closeSandbox, offerSandboxUsers, sandboxActor } from '../../src/sandbox/sandbox.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { password, signIn } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/processes.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const operator = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }
const sandbox = { ...operator, actor: sandboxActor }

t.test('everyone who got access from a user of the sandbox ends with it, and everyone else remains', async (t) => {
  const service = await startTestService()
  t.teardown(() => destroyTestService(service))
  const { app, users, merchants, directory, secretBox: box } = service
  const settings = { ...defaultSettings(true), name: 'Sandbox', callbackUrl: 'http://127.0.0.1:9', allowIps: [] }
  await merchants.register(settings, sandbox)
  await directory.catchUp()
  const parts = { directory, merchants, users, box, context: sandbox, logger: pino({ level: 'silent' }) }
  const offered = await offerSandboxUsers(parts)
  t.equal(offered.length, 6)

  const { email, password: shownPassword } = offered.find(({ role }) => role === 'administrator')!
  const admin = await signIn(app, { email, password: shownPassword })
  let numbered = 0
  const person = (role: Role) => ({ email: `user-${++numbered}@example.com`, name: 'A user', role })
  const onMachine = async (role: Role) => {
    const created = await users.create({ ...person(role), merchantIds: null }, operator, password)
    if (!created.accepted) throw new Error(created.refusal.rule)
    return created.user.userId
  }
  const onDashboard = async (by: { post: typeof admin.post }, role: Role) => {
    const who = person(role)
    const { user, password: first } = (await by.post('/users', who)).json()
    const { put } = await signIn(app, { email: who.email, password: first })
    await put('/session/password', { current: first, next: password })
    return { userId: user.userId as string, ...(await signIn(app, { email: who.email, password })) }
  }
  const made = await onDashboard(admin, 'administrator')
  const madeByMade = await onDashboard(made, 'auditor')
  const reset = await onMachine('auditor')
  t.equal((await admin.post(`/users/${reset}/reset`)).statusCode, 200)
  const promoted = await onMachine('auditor')
  t.equal((await made.put(`/users/${promoted}/role`, { role: 'administrator', revision: 0 })).statusCode, 200)
  const adopted = await onDashboard(admin, 'auditor')
  await users.reset(adopted.userId, operator)
  const renamed = await onDashboard(admin, 'auditor')
  await users.changeRole(renamed.userId, { role: 'operations', merchantIds: null }, operator)
  const own = await onMachine('administrator')
  const resetAgain = await onMachine('auditor')
  t.equal((await admin.post(`/users/${resetAgain}/reset`)).statusCode, 200)
  await users.reset(resetAgain, operator)

  const folder = mkdtempSync(join(tmpdir(), 'transferd-sandbox-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const close = () => closeSandbox(folder, { merchants, users }, directory.all(), operator)
  const closed = await close()
  const shown = await Promise.all(offered.map(async ({ email }) => (await users.findByEmail(email))!.userId))
  const ended = [...shown, made.userId, madeByMade.userId, reset, promoted, renamed.userId]
  t.strictSame([...closed.users].sort(), ended.sort())
  const isDisabled = async (userId: string) => (await users.find(userId))?.disabled
  for (const userId of ended) t.equal(await isDisabled(userId), true)
  for (const userId of [adopted.userId, own, resetAgain]) t.equal(await isDisabled(userId), false)
  t.equal((await made.get('/session')).statusCode, 401)
  t.strictSame((await close()).users, [], 'a repeat ends no one')
  await users.enable(reset, operator)
  await close()
  t.equal(await isDisabled(reset), false, 'an operator has enabled the user since')
})

t.test('going live lists the users who remain', async (t) => {
  const directory = temporaryDirectory(t)
  const live = ['merchants', 'create', '--name', 'Live', '--callback-url', 'https://example.com/callbacks']
  const ada = ['users', 'create', '--email', 'ada@example.com', '--name', 'Ada', '--role', 'administrator']
  const { userId } = await cliJson<{ userId: string }>(directory, ...ada)
  t.match(await runCli(directory, live), {
    status: 0,
    stderr: `the user ${userId} remains: ada@example.com, administrator (users disable)`,
  })
  t.notMatch((await runCli(directory, live)).stderr, /remains/, 'only the first live merchant ends the sandbox')
  const empty = temporaryDirectory(t)
  t.match((await runCli(empty, live)).stderr, /no user of the dashboard remains \(users create\)/)
})
