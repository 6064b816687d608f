import t from 'tap'
import { temporaryDirectory } from '../support/processes.js'
import { cliJson, runCli } from './in-process.js'

interface Shown {
  readonly userId: string
  readonly password: string
}

t.test('creates, lists, changes, disables, enables and resets a user', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1']
  const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
  const ada = ['--email', 'Ada@Example.com', '--name', 'Ada Lovelace']
  const operator = ['--role', 'operator', '--merchant', id]
  const issued = await cliJson<Shown>(directory, 'users', 'create', ...ada, ...operator)
  const { userId } = issued
  t.match(issued.password, /^[a-z2-9]{20}$/)
  const shown = {
    ...{ userId, email: 'ada@example.com', name: 'Ada Lovelace', role: 'operator', merchantIds: [id] },
    ...{ disabled: false, mustChangePassword: true, hasSecondFactor: false, lastSignInAt: null },
  }
  const [listed] = await cliJson<object[]>(directory, 'users', 'list')
  t.match(listed, shown)
  t.notMatch(JSON.stringify(listed), /argon2|password"/)

  const change = (...args: string[]) => cliJson<Shown>(directory, 'users', ...args)
  t.match(await change('role', userId, '--role', 'auditor'), { role: 'auditor', merchantIds: null, changed: true })
  t.match(await change('role', userId, '--role', 'auditor'), { changed: false })
  t.match(await change('disable', userId), { disabled: true, changed: true })
  t.match(await change('disable', userId), { disabled: true, changed: false })
  t.match(await change('enable', userId), { disabled: false, changed: true })
  t.not((await change('reset', userId, '--yes')).password, issued.password)
  const table = await runCli(directory, ['users', 'list'])
  t.match(table.stdout, /USER ID +ROLE +STATE +REV +LAST SIGN-IN +EMAIL\n.* auditor +enabled +4 .*ada@example.com/)
})

t.test('rejects invalid input and creates no user', async (t) => {
  const directory = temporaryDirectory(t)
  const create = (email: string, ...rest: string[]) =>
    runCli(directory, ['users', 'create', '--email', email, '--name', 'A', ...rest])
  t.match(await create('not-an-email', '--role', 'auditor'), { status: 2, stderr: /email address/ })
  t.match(await create('a@example.com'), { status: 2, stderr: /--role/ })
  t.match(await create('a@example.com', '--role', 'king'), { status: 2, stderr: /Allowed choices/ })
  t.match(await create('a@example.com', '--role', 'viewer'), { status: 1, stderr: /requires one or more merchants/ })
  t.match(await create('a@example.com', '--role', 'viewer', '--merchant', 'x'), {
    status: 1,
    stderr: /Merchant not found/,
  })
  t.same(await cliJson(directory, 'users', 'list'), [])
  t.equal((await create('a@example.com', '--role', 'administrator')).status, 0)
  t.match(await create('A@example.com', '--role', 'auditor'), { status: 1, stderr: /already in use/ })
  t.match(await runCli(directory, ['users', 'disable', 'unknown']), { status: 1, stderr: /User not found/ })
  const [admin] = await cliJson<Shown[]>(directory, 'users', 'list')
  const last = { status: 1, stderr: /last administrator/ }
  t.match(await runCli(directory, ['users', 'disable', admin!.userId]), last)
  t.match(await runCli(directory, ['users', 'role', admin!.userId, '--role', 'auditor']), last)
})
