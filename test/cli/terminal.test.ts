import { spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { cliJson, runCli, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { onTerminal } from '../support/terminal.js'

const skip = spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'
const transferd = (...args: string[]) => [process.execPath, program, ...args]

async function merchantIn(directory: string): Promise<string> {
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--sandbox']
  return (await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)).id
}

/** The age of a merchant grows during the test. */
const ageless = (text: string) => text.replaceAll(/\b\d+s/g, '0s')
const control = '\u001b'

const isSuspended = async (directory: string, id: string) =>
  (await cliJson<{ suspended: boolean }>(directory, 'merchants', 'show', id)).suspended

t.test('a command that stops a merchant asks for its name on a terminal', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const id = await merchantIn(directory)
  const suspend = transferd('merchants', 'suspend', id)
  for (const answer of ['yes\n', '\n', 'shop\n', '\u0004']) {
    const { status, shown } = await onTerminal(directory, suspend, [['to confirm: ', answer]])
    t.equal(status, 1, JSON.stringify(answer))
    t.match(shown, new RegExp(`All requests of the merchant Shop \\(${id}\\) are rejected[\\s\\S]*not confirmed`))
    t.equal(await isSuspended(directory, id), false)
  }
  const interrupted = await onTerminal(directory, suspend, [['to confirm: ', '\u0003']])
  t.not(interrupted.status, 0)
  t.equal(await isSuspended(directory, id), false, 'Ctrl-C')
  const { status, shown } = await onTerminal(directory, suspend, [['Type Shop to confirm: ', 'Shop\n']])
  t.equal(status, 0, shown)
  t.equal(await isSuspended(directory, id), true)
  const withYes = await onTerminal(directory, transferd('merchants', 'suspend', id, '--yes'))
  t.notMatch(withYes.shown, /to confirm/)
  t.equal(withYes.status, 0)
})

t.test('the text to type is the displayed one', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const id = await merchantIn(directory)
  const erase = transferd('privacy', 'erase', id, 'ada\u202e', '--reason', 'a test')
  const { shown } = await onTerminal(directory, erase, [['Type ada\\u202e to confirm: ', 'ada\\u202e\n']])
  t.notMatch(shown, 'not confirmed')
})

t.test('without a terminal and with --json, it does not ask and needs --yes', async (t) => {
  const directory = temporaryDirectory(t)
  const id = await merchantIn(directory)
  const asking = [
    ['merchants', 'suspend', id],
    ['merchants', 'rotate-secret', id],
    ['merchants', 'rotate-key', id, '--overlap-minutes', '0'],
    ['merchants', 'keys', 'revoke', id, '000000000000'],
    ['users', 'reset', 'x'],
    ['events', 'skip', 'a@0', '--reason', 'a test'],
    ['master-keys', 'give-up', '00000000', '--reason', 'a test'],
    ['audit', 'restart-tree', '--reason', 'a test'],
    ['privacy', 'erase', id, 'ada', '--reason', 'a test'],
    ['privacy', 'retain', '--after', '1d'],
    ['privacy', 'give-up', '--reason', 'a test'],
  ]
  const before = await cliJson(directory, 'merchants', 'show', id)
  for (const args of asking) {
    const text = await runCli(directory, args)
    t.match(text, { status: 2, stdout: '', stderr: /use --yes/ }, args.join(' '))
    const { status, stdout, stderr } = await runCli(directory, [...args, '--json'])
    t.match([status, stdout, JSON.parse(stderr)], [2, '', { error: { code: 'yes-required' } }])
    t.not((await runCli(directory, [...args, '--yes'])).status, 2, 'with --yes')
    if (args[1] === 'suspend') await cliJson(directory, 'merchants', 'resume', id)
  }
  t.match(before, { suspended: false })
  t.equal((await runCli(directory, ['merchants', 'rotate-key', id])).status, 0, 'the previous key stays valid')
  t.equal((await runCli(directory, ['privacy', 'retain', '--after', '1d', '--dry-run'])).status, 0)
})

t.test('with --json, it never asks on a terminal', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const { status, shown } = await onTerminal(directory, transferd('merchants', 'suspend', 'x', '--json'))
  t.equal(status, 2)
  t.match(JSON.parse(shown), { error: { code: 'yes-required' } })
})

t.test('colours only where a terminal shows them, without effect on the widths', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const id = await merchantIn(directory)
  await cliJson(directory, 'merchants', 'suspend', id, '--yes')
  const list = ['merchants', 'list']
  const plain = ageless((await runCli(directory, list)).stdout)
  t.notOk(plain.includes(control))
  const shown = ageless((await onTerminal(directory, transferd(...list))).shown)
  t.match(shown, '\u001b[1mSTATE\u001b[22m')
  t.match(shown, '\u001b[31msuspended\u001b[39m')
  t.equal(stripVTControlCharacters(shown), plain)
  for (const off of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
    t.equal(ageless((await onTerminal(directory, transferd(...list), [], off)).shown), plain, JSON.stringify(off))
  t.equal(ageless((await runCli(directory, list, { FORCE_COLOR: '1' })).stdout), shown)

  const wrong = ['merchants', 'show', '00000000-0000-4000-8000-000000000000']
  t.equal(
    (await onTerminal(directory, transferd(...wrong))).shown,
    '\u001b[31mtransferd: Merchant not found.\n\u001b[39m',
  )
  t.notOk((await runCli(directory, wrong)).stderr.includes(control))
  t.ok((await onTerminal(directory, transferd('nonsense'))).shown.startsWith(`${control}[31merror: unknown command`))
  const help = ['merchants', 'list', '--help']
  const plainHelp = (await runCli(directory, help)).stdout
  t.notOk(plainHelp.includes(control))
  const shownHelp = (await onTerminal(directory, transferd(...help))).shown
  for (const title of ['Usage:', 'Options:', 'Examples:']) t.match(shownHelp, `\u001b[1m${title}\u001b[22m`)
})
