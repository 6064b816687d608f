import { createHash } from 'node:crypto'
import t from 'tap'
import { temporaryDirectory } from '../support/processes.js'
import { cliJson, runCli } from './in-process.js'

interface Answer {
  readonly id: string
  readonly [field: string]: unknown
}

const live = ['--name', 'Shop', '--callback-url', 'https://shop.example.com/callbacks']

t.test('keys are created, shown once, listed without their values, and revoked', async (t) => {
  const directory = temporaryDirectory(t)
  const { id, webApiKey } = await cliJson<Answer>(directory, 'merchants', 'create', ...live)
  const run = (...args: string[]) => cliJson<Answer>(directory, 'merchants', 'keys', ...args)
  const options = ['--name', 'reports', '--scope', 'read', '--scope', 'deposits', '--scope', 'read']
  const created = await run('create', id, ...options, '--expires', '2126-01-01')
  t.same(Object.keys(created), ['id', 'keyId', 'name', 'scopes', 'validUntil', 'webApiKey'])
  t.match(created, { name: 'reports', scopes: ['read', 'deposits'], validUntil: '2126-01-01T00:00:00.000Z' })
  const { stdout } = await runCli(directory, ['merchants', 'keys', 'list', id, '--json'])
  const keyId = createHash('sha256').update(String(created.webApiKey)).digest('hex').slice(0, 12)
  t.equal(created.keyId, keyId, 'the id derives from the key')
  t.match(JSON.parse(stdout), [
    { name: 'main', scopes: ['read', 'deposits', 'withdrawals'], validUntil: null },
    { keyId, name: 'reports', scopes: ['read', 'deposits'] },
  ])
  for (const key of [webApiKey, created.webApiKey]) t.notOk(stdout.includes(String(key)))
  const duplicate = await runCli(directory, ['merchants', 'keys', 'create', id, '--name', 'reports'])
  t.match(duplicate, { status: 1, stderr: /already has a key with this name/ })
  t.match(await run('create', id, '--name', 'all'), { scopes: ['read', 'deposits', 'withdrawals'], validUntil: null })
  t.match(await run('revoke', id, keyId, '--yes'), { id, keyId, keys: [{ name: 'main' }, { name: 'all' }] })
  t.match(await runCli(directory, ['merchants', 'keys', 'revoke', id, keyId, '--yes']), {
    status: 1,
    stderr: /API key not found/,
  })
  for (const wrong of [
    ['--name', 'a b'],
    ['--name', 'x', '--scope', 'everything'],
    ['--name', 'x', '--expires', '2020-01-01'],
  ]) {
    t.equal((await runCli(directory, ['merchants', 'keys', 'create', id, ...wrong])).status, 2, wrong.join(' '))
  }
})
