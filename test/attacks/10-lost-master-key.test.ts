import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cliItems, cliJson, runCli } from '../cli/in-process.js'
import { runCli as runProgram, startServiceProcess, temporaryDirectory } from '../support/processes.js'

interface Listed {
  readonly keys: readonly { readonly keyId: string; readonly from: string | null }[]
}

/** Returns the commands of the remedy in the runbook, without their comments. */
function remedy(): string[] {
  const text = readFileSync('docs/operating/runbooks.md', 'utf8')
  const [section = ''] = text.split('## The master key is lost\n')[1]!.split('\n## ')
  const [, block = ''] = section.split('**Remedy**')
  const lines = block.split('\n').filter((line) => line.startsWith('    '))
  return lines.map((line) => line.replace(/\s+#.*$/, '').trim())
}

t.test('the runbook for a lost master key works as written, and payouts continue', async (t) => {
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  // A service seals its events when it ends.
  await first.end('SIGTERM')
  writeFileSync(join(directory, 'data/master.key'), `${randomBytes(32).toString('hex')}\n`)
  t.match(await runCli(directory, ['merchants', 'list']), { status: 1 }, 'nothing opens the log')

  const { keys } = await cliJson<Listed>(directory, 'master-keys', 'list')
  const lost = keys.find(({ from }) => from === null)!.keyId
  const commands = remedy()
  t.match(commands[0], /^transferd master-keys give-up /)
  let users: readonly { readonly userId: string }[] = []
  for (const command of commands) {
    const filled = command
      .replace('3f2a91c0', lost)
      .replace('--email … --name …', '--email ada@example.com --name Ada')
      .replace(/"[^"]*"/, 'ticket-204')
    const [program, ...args] = filled.split(/ +/) as [string, ...string[]]
    if (program === 'mv') {
      renameSync(join(directory, args[0]!), join(directory, args[1]!))
      continue
    }
    t.equal(program, 'transferd', command)
    const isOf = (placeholder: string) => args.includes(placeholder)
    if (isOf('create')) users = await cliJson<{ userId: string }[]>(directory, 'users', 'list')
    const ids = isOf('<merchantId>')
      ? (await cliItems<{ id: string }>(directory, 'merchants', 'list')).map(({ id }) => id)
      : isOf('<userId>')
        ? users.map(({ userId }) => userId)
        : ['']
    for (const id of ids) {
      // An operator confirms on a terminal instead.
      const yes = ['give-up', 'rotate-secret', 'reset'].some((each) => args.includes(each)) ? ['--yes'] : []
      const ran = await runCli(directory, [...args.map((arg) => (/^<.*>$/.test(arg) ? id : arg)), ...yes])
      t.match(ran, { status: 0, stderr: '' }, command)
    }
    if (args.includes('give-up'))
      t.match(
        await runProgram(directory, ['serve'], { PORT: '0' }),
        { status: 1, stderr: /the secrets in the log cannot be opened/ },
        'it does not start while the key opens the secrets of no merchant',
      )
  }

  const second = await startServiceProcess(t, { directory })
  await second.end('SIGTERM')
  t.match(await cliJson(directory, 'payouts', 'status'), { stoppedSince: null, findings: [] })
  t.match(await runCli(directory, ['audit', 'verify', '--json']), { status: 0, stdout: /"holds":true.*"unsealed":0/ })
})
