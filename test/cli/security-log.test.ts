import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { buildProgram } from '../../src/cli/program.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { securityEvents } from '../../src/security/security-log.js'
import { temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { cliJson, runCli } from './in-process.js'

interface Line {
  readonly event: string
  readonly command: string
  readonly subject: string | null
  readonly outcome: string
}

function linesIn(directory: string): Line[] {
  const text = readFileSync(join(directory, 'data', 'security.log'), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

t.test('every command that can change something logs one line with actor, command, subject and outcome', async (t) => {
  const directory = temporaryDirectory(t)
  const live = ['--name', 'A', '--callback-url', 'https://a.example', '--allow-ip', '10.0.0.1']
  const merchant = await cliJson<{ id: string; webApiKey: string; secretKey: string }>(
    directory,
    'merchants',
    'create',
    ...live,
  )
  await cliJson(directory, 'merchants', 'list')
  await cliJson(directory, 'merchants', 'show', merchant.id)
  await cliJson(directory, 'merchants', 'suspend', merchant.id, '--yes')
  const wallet = ['--email', 'ada@example.com', '--password', '734219', '--phone', '+905551234567']
  const account = await cliJson<{ accountNumber: number }>(directory, 'wallets', 'open', ...wallet)
  await runCli(directory, ['merchants', 'resume', 'unknown'])
  await runCli(directory, ['merchants', 'resume', merchant.webApiKey])
  await cliJson(directory, 'callbacks', 'replay-parked', '--merchant', merchant.id)
  const lines = linesIn(directory)
  t.match(
    lines.map(({ command, subject, outcome }) => [command, subject, outcome]),
    [
      ['merchants create', merchant.id, 'done'],
      ['merchants suspend', merchant.id, 'done'],
      ['wallets open', String(account.accountNumber), 'done'],
      ['merchants resume', 'unknown', 'refused'],
      ['merchants resume', 'tk_…', 'refused'],
      ['callbacks replay-parked', merchant.id, 'done'],
    ],
  )
  for (const line of lines) {
    const names = ['time', 'event', ...securityEvents['security.operator_command'], 'line', 'previous']
    t.strictSame(Object.keys(line), names)
    t.match(line, { time: /Z$/, event: 'security.operator_command', actor: `cli:${userInfo().username}` })
  }
  const path = join(directory, 'data', 'security.log')
  t.equal(statSync(path).mode & 0o777, 0o600)
  const text = readFileSync(path, 'utf8')
  for (const canary of [merchant.webApiKey, merchant.secretKey, '734219', 'ada@example.com', '+905551234567']) {
    t.notOk(text.includes(canary), canary)
  }
})

t.test('only read-only commands log nothing', async (t) => {
  const leaves = (command: ReturnType<typeof buildProgram>): string[] =>
    command.commands.length === 0 ? [command.name()] : command.commands.flatMap((each) => leaves(each))
  const names = new Set(leaves(buildProgram()))
  for (const reading of ['list', 'show', 'status']) t.ok(names.has(reading), reading)
  for (const changing of ['create', 'set', 'complete', 'rebuild', 'credit']) t.ok(names.has(changing), changing)
})

t.test('events serve-grpc logs its start and rejected logins without the entered text', async (t) => {
  const directory = temporaryDirectory(t)
  const child = spawn(
    process.execPath,
    [program, 'events', 'serve-grpc', '--data', directory, '--writable', '--port', '0', '--json'],
    { env: { PATH: process.env.PATH, EVENTS_USER: 'reader', EVENTS_PASSWORD: 'right-password-5521' } },
  )
  t.teardown(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  const guess = async (login: string, password: string) => {
    const store = openEventStoreDb({ url: url.replace('//', `//${login}:${password}@`) })
    await t.rejects(store.readStream('x'))
    await store.close()
  }
  await guess('reader', 'canary-1177')
  await guess('canary-1178', 'right-password-5521')
  child.kill('SIGTERM')
  await once(child, 'exit')
  const lines = stderr
    .split('\n')
    .filter((text) => text.includes('security.'))
    .map((text) => JSON.parse(text) as { event: string; login: string | null; address: string })
  t.ok(lines.length >= 2)
  t.match(lines[0], { event: 'security.events_login_failed', login: 'reader', address: '127.0.0.1' })
  t.match(lines.at(-1), { event: 'security.events_login_failed', login: null })
  for (const canary of ['canary', 'right-password']) t.notMatch(stderr, canary)
  const log = readFileSync(join(directory, 'security.log'), 'utf8')
  t.match(JSON.parse(log), { command: 'events serve-grpc', outcome: 'done' })
  t.notMatch(log, 'right-password')
})
