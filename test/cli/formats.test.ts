import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import t from 'tap'
import { buildProgram } from '../../src/cli/program.js'
import { camt053, ntry } from '../bank-formats/bank-files.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { rawCells } from '../support/spreadsheet.js'
import { cliJson, runCli } from './in-process.js'

function lists(command: Command, path: readonly string[] = []): { path: readonly string[]; command: Command }[] {
  const own = command.options.some(({ long }) => long === '--columns') ? [{ path, command }] : []
  return [...own, ...command.commands.flatMap((child) => lists(child, [...path, child.name()]))]
}

const columnsOf = (command: Command) => command.options.find(({ long }) => long === '--columns')!.argChoices!

type Row = { readonly [field: string]: unknown }

/** Returns the rows of a JSON document: the document itself, or its first list. */
function rowsOf(document: object): readonly Row[] {
  return (Array.isArray(document) ? document : Object.values(document).find((each) => Array.isArray(each))) as Row[]
}

const directory = temporaryDirectory(t)
const bankAccount = 'DE89370400440532013000'
const service = await startServiceProcess(t, { directory, seed: true })
await cliJson(directory, 'users', 'create', '--email', 'ada@example.com', '--name', 'Ada, "A"', '--role', 'auditor')
const newest = async (...list: string[]) => rowsOf(await cliJson<object>(directory, ...list, '--limit', '1'))[0] ?? {}
while (!('lastFailure' in (await newest('callbacks', 'list')) && 'amount' in (await newest('transfers', 'list'))));
const arguments_: { readonly [name: string]: unknown } = {
  id: (await newest('merchants', 'list')).id,
  trackingId: (await newest('transfers', 'list')).trackingId,
  account: bankAccount,
}
writeFileSync(join(directory, 'statement.xml'), camt053(ntry()))
await cliJson(directory, 'bank', 'import', 'statement.xml', '--apply')
while (!('paymentId' in (await newest('bank', 'payments'))));
while (!('date' in (await newest('bank', 'days', bankAccount))));
while (rowsOf(await cliJson<object>(directory, 'bank', 'accounts')).length === 0);
// Nothing changes afterwards, except what the commands compute from the clock.
await service.end('SIGTERM')

/** The lists without sample data: every event is readable, and no customer has received a message. */
const empty = ['events problems', 'outbox list']
const all = lists(buildProgram()).map(({ path, command }) => ({
  path: path.join(' '),
  args: [...path, ...command.registeredArguments.map((argument) => String(arguments_[argument.name()]))],
  columns: columnsOf(command),
}))

/** Runs a list as JSON and in another format, again if the result has changed between them, such as the free disk space. */
async function together(args: readonly string[], ...format: string[]) {
  for (;;) {
    const json = await runCli(directory, [...args, '--json'])
    const { stdout } = await runCli(directory, [...args, ...format])
    if ((await runCli(directory, [...args, '--json'])).stdout === json.stdout)
      return { rows: rowsOf(JSON.parse(json.stdout) as object), stdout }
  }
}

t.test(
  'the columns of every list are the fields of its rows, and its CSV contains the values of the JSON',
  async (t) => {
    t.ok(all.length >= 12, String(all.length))
    for (const { path, args, columns } of all) {
      const { rows, stdout } = await together(args, '-o', 'csv')
      t.equal(rows.length === 0, empty.includes(path), path)
      t.same(
        [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((field) => !columns.includes(field)),
        [],
        path,
      )
      const [head, ...lines] = rawCells(stdout, ',')
      t.same([head?.toSorted(), lines.length], [columns.toSorted(), rows.length], path)
      for (const [n, row] of rows.entries())
        for (const [at, field] of head!.entries()) {
          const [value = null, text = ''] = [row[field], lines[n]![at]]
          const parsed = value === null ? text : typeof value === 'string' ? text : JSON.parse(text)
          t.same(parsed, value ?? '', `${path}: ${field}`)
        }
    }
  },
)

t.test('--columns chooses and orders the columns of every list in every format for them', async (t) => {
  for (const { path, args, columns } of all) {
    const chosen = columns.toReversed()
    const csv = await together(args, '-o', 'csv', '--columns', chosen.join(','))
    t.same(rawCells(csv.stdout, ',')[0], chosen, path)
    for (const format of ['table', 'wide']) {
      const { rows, stdout } = await together(args, '-o', format, '--columns', chosen.join(', '))
      const heads = stdout.split('\n')[0]!.trim().split(/ {2,}/)
      if (rows.length > 0) t.equal(new Set(heads).size, columns.length, `${path}: each column has its own head`)
    }
    const json = await runCli(directory, [...args, '--columns', columns[0]!, '--json'])
    t.match([json.status, JSON.parse(json.stderr)], [2, { error: { code: 'wrong-usage', message: /JSON/ } }])
    const unknown = await runCli(directory, [...args, '--columns', `${columns[0]},nonsense`, '--json'])
    const { error } = JSON.parse(unknown.stderr) as { error: { code: string; message: string } }
    t.same([unknown.status, unknown.stdout, error.code], [2, '', 'wrong-usage'])
    for (const word of ['Unknown: nonsense.', ...columns]) t.ok(error.message.includes(word), error.message)
  }
})

t.test('wide prints further columns, whole ids and texts, and times with seconds and zone', async (t) => {
  for (const { path, args } of all.filter(({ path }) => !empty.includes(path))) {
    const { rows, stdout } = await together(args, '-o', 'wide')
    t.notMatch(stdout, '…', path)
    t.equal(stdout.split('\n').length, rows.length + 2, `${path}: one line per row`)
    t.notMatch(stdout, / \d\d:\d\dZ/, `${path}: no time without seconds`)
    for (const { trackingId } of rows) if (trackingId) t.ok(stdout.includes(String(trackingId)), path)
  }
  const [head = '', first = ''] = (await runCli(directory, ['transfers', 'list', '-o', 'wide'])).stdout.split('\n')
  t.match(head, /^TRACKING ID +KIND +STATUS +AMOUNT +REFERENCE +MERCHANT ID +CREATED AT +MOVED +UPDATED AT/)
  t.match(first, / {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}/)
  t.ok(first.length > 100)
})

t.test('prints the cursor and the hint on stderr in every format but JSON', async (t) => {
  for (const format of ['table', 'wide', 'csv']) {
    const { stdout, stderr } = await runCli(directory, ['transfers', 'list', '--limit', '2', '-o', format])
    t.equal(stdout.trimEnd().split('\n').length, 3)
    t.match(stderr, /^transferd: there are more: use --cursor \S+$/m)
  }
})
