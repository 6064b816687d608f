import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import t from 'tap'
import { failureCodes } from '../../src/cli/failures.js'
import { formats } from '../../src/cli/output.js'
import { buildProgram } from '../../src/cli/program.js'
import { ruleTexts } from '../../src/domain/rule-texts.js'
import { runCli as runProcess, temporaryDirectory } from '../support/processes.js'
import { runCli } from './in-process.js'

function leaves(command: Command, path: string[] = []): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path: path.join(' '), command }]
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]))
}

const commands = leaves(buildProgram())

const hasOption = (name: string, { options }: Command) => options.some(({ long }) => long === name)

t.test('every command takes --json and --output json, and a list all formats and --columns', async (t) => {
  t.ok(commands.length > 20)
  for (const { path, command } of commands) {
    t.ok(hasOption('--json', command), path)
    const { argChoices } = command.options.find(({ long }) => long === '--output')!
    t.same(argChoices, hasOption('--columns', command) ? formats : ['json'], path)
  }
})

t.test('the reference lists the commands that take --watch', async (t) => {
  const [, section = ''] = readFileSync('docs/reference/cli.md', 'utf8').split('### Watching\n')
  const [, names = ''] = /exit with status 0: ([^.]*)\./.exec(section) ?? []
  const listed = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.replaceAll(/\s+/g, ' '))
  const watched = commands.flatMap(({ path, command }) => (hasOption('--watch', command) ? [path] : []))
  t.same(listed.toSorted(), watched.toSorted())
})

t.test('the last format option counts, also for the errors of the parser', async (t) => {
  const cases: [args: string, isJson: boolean][] = [
    ['--json', true],
    ['-o json', true],
    ['-ojson', true],
    ['--output json', true],
    ['--output=json', true],
    ['--json -o csv', false],
    ['-o csv --json', true],
    ['-o table -o json', true],
    ['', false],
    ['-o', false],
    ['--columns json', false],
  ]
  for (const [args, isJson] of cases) {
    const { status, stderr } = await runCli(temporaryDirectory(t), [
      'merchants',
      'list',
      '--nonsense',
      ...args.split(' '),
    ])
    t.equal(status, 2)
    t.equal(stderr.startsWith('{"error":'), isJson, args)
  }
})

/** Returns the words of a command regardless of their order, number and verb form. */
function wordsOf(path: string): string {
  const stems = path.split(/[ -]/).map((word) => word.replace(/(ing|ed|es|s|e)$/, ''))
  return [...new Set(stems)].sort().join(' ')
}

/** Returns the pairs of commands that differ only by the order or the form of their words, or by a group. */
function confusable(paths: readonly string[]): string[] {
  return paths.flatMap((path) =>
    paths
      .filter((other) => other !== path)
      .filter((other) => [other, other.slice(other.indexOf(' ') + 1)].some((each) => wordsOf(each) === wordsOf(path)))
      .map((other) => `${path} / ${other}`),
  )
}

t.test('no two commands differ only by the order or the form of their words, or by a group', async (t) => {
  // Each rejects the other kind of transfer: deposits are returned to customers, and payouts come back.
  const exempt = 'transfers returned'
  t.same(confusable(commands.map(({ path }) => path).filter((path) => path !== exempt)), [])
  t.same(confusable(['merchants rotate-key', 'keys rotate', 'merchants keys list', 'merchants list']), [
    'keys rotate / merchants rotate-key',
  ])
  t.same(confusable(['backup', 'events backup', 'events copy']), ['backup / events backup'])
  t.same(confusable(['key rotated', 'rotating keys']).length, 2)
})

t.test('--version prints the version of the package', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  t.same(await runProcess(temporaryDirectory(t), ['--version']), { status: 0, stdout: `${version}\n`, stderr: '' })
})

/** The options that the reference explains for all commands together. */
const explainedOnce = ['--json', '--output', '--columns', '--watch']

t.test('docs/reference/cli.md lists exactly the existing commands and options', async (t) => {
  const page = readFileSync('docs/reference/cli.md', 'utf8')
  const sections = new Map(
    [...page.matchAll(/^### `transferd ([^`]+)`\n([\s\S]*?)(?=^##|$(?![\s\S]))/gm)].map(([, usage = '', text = '']) => [
      usage.replace(/ [<[].*/, ''),
      { usage, text },
    ]),
  )
  t.same([...sections.keys()].sort(), commands.map(({ path }) => path).sort())
  for (const { path, command } of commands) {
    const { usage, text } = sections.get(path)!
    const args = command.registeredArguments.map((argument) => `<${argument.name()}>`)
    t.equal(usage, [path, ...args].join(' '))
    const documented = [...text.matchAll(/^\| `(--[a-z-]+)/gm)].map(([, option]) => option)
    const options = command.options.flatMap(({ long }) => (long && !explainedOnce.includes(long) ? [long] : []))
    t.same(documented.sort(), options.sort(), `options of ${path}`)
  }
})

t.test('the help of every option and argument that takes a time or a day names the zone', async (t) => {
  let found = 0
  for (const { path, command } of commands)
    for (const description of [
      ...command.options.flatMap(({ flags, description }) => (/<(time|day|date)>/.test(flags) ? [description] : [])),
      ...command.registeredArguments.flatMap(({ description }) =>
        /<(time|day|date)>/.test(description) ? [description] : [],
      ),
    ]) {
      found++
      t.match(description, /UTC|Frankfurt|as the bank states it/, path)
    }
  t.ok(found >= 9, String(found))
})

t.test('wrong usage exits with status 2 and the reason on stderr, and opens no store', async (t) => {
  const directory = temporaryDirectory(t)
  const noCheckpoint = join(directory, 'text')
  writeFileSync(noCheckpoint, 'text')
  const wrong: [string[], RegExp][] = [
    [['nonsense'], /unknown command/],
    [['merchants', 'create', '--json'], /--name/],
    [
      ['merchants', 'create', '--name', 'A', '--callback-url', 'https://a.example', '--rate-limit', '0'],
      /whole number/,
    ],
    [
      ['merchants', 'create', '--name', 'A', '--callback-url', 'https://a.example', '--allow-ip', '10.0.0.0/33'],
      /CIDR/,
    ],
    [['transfers', 'complete'], /trackingId/],
    [['transfers', 'complete', 'x', '--amount', '1.005'], /amount/],
    [['transfers', 'complete', 'x', '--amount', '1e2'], /amount/],
    [['transfers', 'complete', 'x', '--receipt-url', 'file:///etc/passwd'], /URL/],
    [['transfers', 'list', '--status', 'Done'], /Pending/],
    [['transfers', 'list', '--limit', '1001'], /1 to 1000/],
    [['transfers', 'list', '--from', 'yesterday'], /time such as/],
    [['transfers', 'list', '--to', '2026-02-30'], /time such as/],
    [['merchants', 'list', '--cursor', 'next'], /nextCursor of an earlier page/],
    [['transfers', 'cancel', 'x', '--message', 'paid to 12\u202e34'], /direction-changing/],
    [['merchants', 'create', '--name', 'A\u200b', '--callback-url', 'https://a.example'], /invisible/],
    [['wallets', 'credit', '1000001', '--amount', '1', '--reference', 'a\u0007'], /control/],
    [['merchants', 'rotate-secret', 'x', '--only', 'apiKey'], /secretKey/],
    [['events', 'show', 'x', 'y'], /too many arguments/],
    [['serve', '--roles', ''], /must name at least one role/],
    [['serve', '--roles', 'api,worker'], /one of api, projections, callbacks, not "worker"/],
    [['serve', '--roles'], /argument missing/],
    [['callbacks', 'list', '--nonsense'], /unknown option/],
    [['audit', 'verify', '--key', 'not-a-key'], /--key: /],
    [['audit', 'verify', '--from', 'none'], /none cannot be read: ENOENT/],
    [['audit', 'verify', '--older', noCheckpoint], /text is not a checkpoint: /],
    [['audit', 'export', '--out', ''], /must not be empty/],
    [['audit', 'prove', 'x', '--out', ''], /must not be empty/],
    [['audit', 'evidence', 'x', '--out', ''], /must not be empty/],
    [['audit', 'disclosure', 'request', 'x', '--disclose', 'name'], /--reason/],
    [['audit', 'disclosure', 'request', 'x', '--disclose', 'password', '--reason', 'a'], /Unknown: password/],
    [['audit', 'disclosure', 'approve', 'x'], /requestId/],
    [['backup', ''], /must not be empty/],
    [['restore', 'x', '--to', ''], /must not be empty/],
    [['restore', 'x', '--to', 'y', '--key', 'not-a-key'], /--key: /],
    [['restore', 'x', '--to', 'y', '--checkpoint', noCheckpoint], /text is not a checkpoint: /],
    [['restore', 'x', '--to', 'y', '--checkpoint', 'none'], /none cannot be read: ENOENT/],
  ]
  await Promise.all(
    wrong.map(async ([args, reason]) => {
      const { status, stdout, stderr } = await runCli(directory, args)
      t.equal(status, 2, args.join(' '))
      t.equal(stdout, '')
      t.match(stderr, reason)
    }),
  )
  t.equal((await runProcess(directory, [])).status, 2, 'a call without a command is wrong usage')
  t.equal((await runProcess(directory, ['--help'])).status, 0, 'a request for help succeeds')
  t.match(
    await runProcess(directory, wrong[0]![0]),
    { status: 2, stdout: '', stderr: wrong[0]![1] },
    'a process behaves like the call in this process',
  )
  t.throws(() => readFileSync(`${directory}/data/events.db`))
})

t.test('an invalid configuration exits with status 2 and names every problem', async (t) => {
  const environment = { PORT: 'x', EVENT_STORE_URL: 'kafka://localhost', LOG_LEVEL: 'loud' }
  for (const args of [['serve'], ['transfers', 'list', '--json']]) {
    const { status, stdout, stderr } = await runCli(temporaryDirectory(t), args, environment)
    t.equal(status, 2)
    t.equal(stdout, '')
    for (const variable of Object.keys(environment)) t.match(stderr, variable)
  }
})

t.test('without a log, a query is rejected and creates nothing', async (t) => {
  const directory = temporaryDirectory(t)
  for (const args of [
    ['transfers', 'list'],
    ['transfers', 'show', 'x'],
    ['events', 'show', 'x'],
    ['merchants', 'list'],
    ['callbacks', 'list'],
    ['projections', 'status'],
    ['master-keys', 'rotate'],
    ['backup', '../backup'],
    ['events', 'save', 'copy.db'],
    ['events', 'copy', '--from', 'embedded:./data', '--to', 'embedded:./copy'],
  ]) {
    const { status, stdout, stderr } = await runCli(directory, [...args, '--json'])
    t.same([status, stdout], [1, ''])
    t.match(stderr, /there is no log in .*data: run this in the service's directory/)
  }
  t.same(readdirSync(directory), [])
})

t.test('a rejected restore does not block the next one', async (t) => {
  const directory = temporaryDirectory(t)
  for (let time = 1; time <= 2; time++)
    t.match(await runCli(directory, ['restore', 'backup', '--to', 'data']), {
      status: 1,
      stderr: /backup not found: /,
    })
  t.same(readdirSync(directory), [])
})

t.test('the reference explains every code of an error', async (t) => {
  const codesIn = (page: string, heading: string) =>
    [
      ...readFileSync(page, 'utf8')
        .split(`${heading}\n`)[1]!
        .split(/^#/m)[0]!
        .matchAll(/^\| `([a-z0-9-]+)` \|/gm),
    ].map(([, code]) => code)
  t.same(codesIn('docs/reference/cli.md', '### Errors'), failureCodes)
  t.same(codesIn('docs/reference/errors.md', '## Rules'), Object.keys(ruleTexts))
  for (const code of failureCodes) t.notOk(code in ruleTexts, `${code} has one meaning`)
})

/** Splits the words of a command as a shell does. */
function shellWords(line: string): string[] {
  const output = execFileSync('bash', ['-c', `set -- ${line.replace(/ [>|] .*/, '')}; printf '%s\\0' "$@"`])
  return output.toString().split('\0').slice(0, -1)
}

t.test('the help of every command ends with at least two different examples that it accepts', async (t) => {
  for (const { path, command } of commands) {
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
    const examples = help.split('\nExamples:\n')[1]?.trimEnd().split('\n') ?? []
    t.ok(new Set(examples).size >= 2, path)
    for (const example of examples) {
      t.ok(`${example} `.startsWith(`  transferd ${path} `), example)
      const program = buildProgram({ writeErr: (text) => t.fail(`${example}: ${text}`) })
      const ran: string[] = []
      for (const leaf of leaves(program)) leaf.command.action(() => void ran.push(leaf.path))
      await program.parseAsync(['node', ...shellWords(example)])
      t.same(ran, [path], example)
    }
  }
})
