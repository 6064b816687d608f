import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { camt053, ntry } from '../bank-formats/bank-files.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'
import { cliItems, cliJson, runCli } from './in-process.js'

const directory = temporaryDirectory(t)
await startServiceProcess(t, { directory })
const account = 'DE89370400440532013000'
const json = <Result>(...args: string[]) => cliJson<Result>(directory, ...args)
const payment = (text: string) =>
  ntry({
    AcctSvcrRef: `<AcctSvcrRef>${text}</AcctSvcrRef>`,
    NtryDtls: `<NtryDtls><TxDtls><RmtInf><Ustrd>${text}</Ustrd></RmtInf></TxDtls></NtryDtls>`,
  })
writeFileSync(join(directory, 'statement.xml'), camt053(payment('one') + payment('two')))

t.test('imports a file, lists its payments, and explains one', async (t) => {
  const preview = await json('bank', 'import', 'statement.xml', '--dry-run')
  t.match(preview, { statements: [{ accountId: account, newEntries: 2 }], counts: { unknown: 2 } })
  t.match(await runCli(directory, ['bank', 'accounts']), { stdout: 'No accounts.\n' }, 'nothing is recorded')
  t.match(await json('bank', 'import', 'statement.xml', '--apply'), { statements: [{ newEntries: 2 }] })
  t.match(await json('bank', 'import', 'statement.xml', '--apply'), { statements: [{ newEntries: 0 }] })
  const open = () => cliItems<{ paymentId: string; amount: number }>(directory, 'bank', 'payments', '--open')
  await until(async () => (await open()).length === 2)
  const [{ paymentId, amount }] = (await open()) as [{ paymentId: string; amount: number }]
  t.equal(amount, 10)
  t.match(await json('bank', 'explain', paymentId, '--reason', 'charges'), { paymentId, explanation: 'charges' })
  await until(async () => (await open()).length === 1)
  t.match(await json('bank', 'show', paymentId), { status: 'explained', explanation: 'charges', proposals: [] })
  t.match(await runCli(directory, ['bank', 'show', 'no-such-payment']), { status: 1, stderr: /was not found/ })
  t.match(await runCli(directory, ['bank', 'use', paymentId, account]), { status: 1 })
  t.match(await json('bank', 'statements', account), [{ format: 'camt.053', entries: 2, newEntries: 2, problems: [] }])
  await until(
    async () =>
      (await cliItems<{ creditExplained: string }>(directory, 'bank', 'days', account))[0]?.creditExplained === '10.00',
  )
  t.match((await runCli(directory, ['bank', 'days', account])).stdout, /2026-03-02 +0\.00/)
})

t.test('sets the merchants of an account', async (t) => {
  const [merchant] = await cliItems<{ id: string }>(directory, 'merchants', 'list')
  t.match(await json('bank', 'assign', account, '--merchant', merchant!.id), { merchantIds: [merchant!.id] })
  t.match(await json('bank', 'assign', account, '--all-merchants'), { merchantIds: null })
  t.match(await runCli(directory, ['bank', 'assign', account]), { status: 2, stderr: /--merchant or --all-merchants/ })
})

t.test('reads CSV files by a mapping that it remembers', async (t) => {
  const csv = ['some;head', 'Tag|Betrag|Text', '02.03.2026|1.234,50|Hallo', '03.03.2026|-5,00|Gebühr', ''].join('\n')
  writeFileSync(join(directory, 'bank.csv'), csv)
  const columns = { date: 'Tag', amount: 'Betrag', remittance: 'Text' }
  const mapping = { separator: '|', decimalMark: ',', dateFormat: 'DD.MM.YYYY', skipLines: 1, columns }
  writeFileSync(join(directory, 'mapping.json'), JSON.stringify(mapping))
  const other = 'DE02120300000000202051'
  const file = ['bank', 'import', 'bank.csv', '--account', other]
  t.match(await runCli(directory, ['bank', 'import', 'bank.csv', '--dry-run']), { status: 1 })
  t.match(await json(...file, '--csv-mapping', 'mapping.json', '--apply'), {
    statements: [{ format: 'csv', creditAmount: undefined, entries: 2 }],
    payments: [
      { amount: 1234.5, direction: 'credit' },
      { amount: 5, direction: 'debit' },
    ],
  })
  t.match(await json(...file, '--apply'), { statements: [{ newEntries: 0 }] }, 'without the mapping')
  writeFileSync(join(directory, 'mapping.json'), '{"separator":"x"}')
  const wrong = await runCli(directory, [...file, '--csv-mapping', 'mapping.json', '--apply'])
  t.match(wrong, { status: 2, stderr: /mapping is invalid at \// })
})

t.test('a file that is not one of a bank ends with the reason', async (t) => {
  writeFileSync(join(directory, 'letter.txt'), 'Dear bank')
  t.match(await runCli(directory, ['bank', 'import', 'letter.txt', '--apply']), {
    status: 1,
    stderr: /cannot be read|can be read/,
  })
  t.match(await runCli(directory, ['bank', 'import', 'missing.xml', '--apply']), { status: 1, stderr: /missing\.xml/ })
  t.match(await runCli(directory, ['bank', 'import', 'statement.xml']), { status: 2, stderr: /--dry-run or --apply/ })
  t.match(readFileSync(join(directory, 'statement.xml'), 'utf8'), /one/, 'the file stays')
})
