import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { watchDirectory } from '../../src/bank/bank-work.js'
import { fileAt, importFile } from '../../src/bank/import-path.js'
import { bankWorld, bankContext as context } from './bank-world.js'

const folder = 'test/fixtures/bank'
const files = readdirSync(folder).filter((name) => !name.endsWith('.md'))
const ownAccount = (name: string) => (name.endsWith('.csv') ? 'DE89370400440532013000' : undefined)

t.test('each file of the samples imports twice, and the second time changes nothing', async (t) => {
  t.ok(files.length >= 12)
  const world = await bankWorld(t)
  const importSample = async (name: string) => {
    const request = { mode: 'apply', account: ownAccount(name), merchantIds: null } as const
    const result = await importFile(world.sources, fileAt(join(folder, name)), request, context)
    if (!result.accepted) throw new Error(`${name}: ${result.refusal.rule}`)
    return result
  }
  for (const name of files) {
    const first = await importSample(name)
    const again = await importSample(name)
    t.equal(again.statements.length, first.statements.length, name)
    for (const { newEntries } of again.statements) t.equal(newEntries, 0, name)
    t.ok(name.startsWith('pain002') || first.statements.length > 0, name)
    const count = ({ counts }: typeof first) => counts.certain + counts.uncertain + counts.unknown
    t.equal(count(again), count(first), name)
  }
})

t.test('the same day in camt.053, camt.054 and MT940 is recorded once', async (t) => {
  for (const order of [
    ['german-camt053-v08.xml', 'german-mt940.sta'],
    ['german-mt940.sta', 'german-camt053-v08.xml'],
    ['german-camt053-v08.xml', 'german-camt054-v08.xml', 'german-mt940.sta'],
  ]) {
    const world = await bankWorld(t)
    const recorded: number[] = []
    for (const name of order) {
      const result = await importFile(
        world.sources,
        fileAt(join(folder, name)),
        { mode: 'record', merchantIds: null },
        context,
      )
      if (!result.accepted) throw new Error(result.refusal.rule)
      recorded.push(...result.statements.map(({ newEntries }) => newEntries))
    }
    t.ok(recorded[0]! > 2)
    t.same(
      recorded.slice(1),
      recorded.slice(1).map(() => 0),
      order.join(', then '),
    )
  }
})

t.test('a bank file of ours, answered by a statement, completes everything and balances', async (t) => {
  const world = await bankWorld(t)
  const amounts = [10_00n, 20_50n, 300_01n]
  const ids = await Promise.all(amounts.map((amountMinor, n) => world.withdrawal(`W-${n}`, amountMinor)))
  const debtor = { name: 'Blue Ltd', iban: 'DE89370400440532013000', bic: undefined, address: undefined }
  const request = { format: 'pain.001', trackingIds: ids, debtor, timeZone: 'UTC', underClaim: false } as const
  const file = await world.transfers.produceBankFile(
    request,
    { code: 'EUR', decimals: 2 },
    { ...context, actor: 'user:grace' },
  )
  if (!file.accepted) throw new Error(file.problems[0]!.rule)
  const payments = [...file.text.matchAll(/<EndToEndId>(.*?)<.*?<InstdAmt Ccy="EUR">(.*?)<.*?<IBAN>(.*?)</g)]
  t.equal(payments.length, ids.length)
  const entries = payments.map(([, id, amount, iban]) => camtEntry({ id: id!, amount: amount!, iban: iban! }))
  const statement = camtOf({ opening: '1000.00', closing: '669.49', entries })
  const result = await importText(statement)
  t.match(result, { counts: { applied: 3 }, statements: [{ problems: [], entries: 3 }] })
  for (const id of ids) t.equal(await world.statusOf(id), 'Completed')

  async function importText(text: string) {
    await world.caughtUp(['transfers'])
    const bytes = async function* () {
      yield Buffer.from(text)
    }
    const result = await importFile(world.sources, { bytes }, { mode: 'apply', merchantIds: null }, context)
    if (!result.accepted) throw new Error(result.refusal.rule)
    return result
  }
})

t.test('complete files of a watched directory are imported once, and damaged ones are set aside', async (t) => {
  const world = await bankWorld(t)
  const directory = join(world.directory, 'inbox')
  mkdirSync(directory)
  const lines: string[] = []
  const logger = pino({}, { write: (line: string) => lines.push(line) })
  const watch = watchDirectory({ ...world.sources, directory, logger })
  const statement = readFileSync(join(folder, 'german-camt053-v08.xml'))
  writeFileSync(join(directory, 'statement.xml'), statement.subarray(0, 500))
  writeFileSync(join(directory, '.part'), 'x')
  await watch()
  writeFileSync(join(directory, 'statement.xml'), statement)
  writeFileSync(join(directory, 'damaged.xml'), '<Document><BkToCstmrStmt>')
  await watch()
  t.same(readdirSync(directory).sort(), ['.part', 'damaged.xml', 'statement.xml'], 'a growing file is left')
  await watch()
  t.same(readdirSync(directory).sort(), ['.part', 'failed', 'imported'])
  t.match(readdirSync(join(directory, 'failed')), [/damaged\.xml$/])
  t.match(readdirSync(join(directory, 'imported')), [/statement\.xml$/])
  t.match(lines.join(''), /a bank file was imported/)
  t.match(lines.join(''), /bank-file-/)
  writeFileSync(join(directory, 'damaged.xml'), '<Document><BkToCstmrStmt>')
  await watch()
  await watch()
  t.equal(readdirSync(join(directory, 'failed')).length, 2, 'a file of the same name replaces no other')
  rmSync(directory, { recursive: true })
  await watch()
  await watch()
  t.equal(
    lines.filter((line) => line.includes('cannot be read or changed')).length,
    1,
    'a missing directory is logged once',
  )
  const { statements } = await world.bank.account('DE89370400440532013000')
  t.match(statements, [{ by: 'system:bank' }])
})

const camtEntry = ({ id, amount, iban }: { readonly id: string; readonly amount: string; readonly iban: string }) =>
  `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt>
<BkTxCd/><NtryDtls><TxDtls><Refs><EndToEndId>${id.toUpperCase()}</EndToEndId></Refs><Amt Ccy="EUR">${amount}</Amt>
<RltdPties><CdtrAcct><Id><IBAN>${iban}</IBAN></Id></CdtrAcct></RltdPties></TxDtls></NtryDtls></Ntry>`

function camtOf({
  opening,
  closing,
  entries,
}: {
  readonly opening: string
  readonly closing: string
  readonly entries: readonly string[]
}) {
  const balance = (code: string, amount: string) =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-03-02</Dt></Dt></Bal>`
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>1</Id><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id><Ccy>EUR</Ccy></Acct>
${balance('OPBD', opening)}${balance('CLBD', closing)}${entries.join('')}</Stmt></BkToCstmrStmt></Document>`
}
