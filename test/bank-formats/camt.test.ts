import t from 'tap'
import { maxPaymentsOfEntry } from '../../src/domain/bank/bank-records.js'
import { camt053, entriesOf, ntry, only, problemOf, recordsOf, withDetails } from './bank-files.js'

const entryOf = async (entry: string) => (await entriesOf(camt053(entry)))[0]!
const paymentOf = async (details: string) => (await entryOf(withDetails(details))).payments[0]!

t.test('detects the format by the local name of the message, in any namespace and with any prefix', async (t) => {
  const file = (message: string, part: string, prefix = '') =>
    `<${prefix}Document xmlns${prefix && ':x'}="urn:any"><${prefix}${message}><${prefix}${part}><${prefix}Acct><${prefix}Id>` +
    `<${prefix}IBAN>DE89370400440532013000</${prefix}IBAN></${prefix}Id></${prefix}Acct></${prefix}${part}></${prefix}${message}></${prefix}Document>`
  const formatOf = async (text: string) => (await recordsOf(text)).map((each) => 'format' in each && each.format)[0]
  t.equal(await formatOf(file('BkToCstmrAcctRpt', 'Rpt')), 'camt.052')
  t.equal(await formatOf(file('BkToCstmrStmt', 'Stmt', 'x:')), 'camt.053')
  t.equal(await formatOf(file('BkToCstmrDbtCdtNtfctn', 'Ntfctn')), 'camt.054')
  t.equal(await formatOf(`<Envelope><AppHdr/>${file('BkToCstmrStmt', 'Stmt')}</Envelope>`), 'camt.053')
  const two = `<E>${file('BkToCstmrStmt', 'Stmt')}${file('BkToCstmrAcctRpt', 'Rpt')}</E>`
  t.same(await problemOf(two), ['bank-file-unrecognised', {}])
})

t.test('reads the account, its number and the balances of a statement', async (t) => {
  const balance = (code: string, amount: string, sign = 'CRDT') =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${sign}</CdtDbtInd><Dt><DtTm>2026-03-02T10:00:00Z</DtTm></Dt></Bal>`
  const ends = async (...balances: string[]) => {
    const end = (await recordsOf(camt053('', balances.join('')))).at(-1)!
    return end.type === 'statement-end' && [end.opening?.amountMinor, end.closing?.amountMinor]
  }
  t.same(await ends(balance('OPBD', '1.00', 'DBIT'), balance('CLBD', '2.5')), [-100n, 250n])
  t.same(await ends(balance('PRCD', '1'), balance('CLAV', '9'), balance('FWAV', '9')), [100n, undefined])
  t.same(await ends(balance('PRCD', '1'), balance('OPBD', '2'), balance('ITBD', '9')), [200n, undefined])
  const page = (number: number, last: boolean) =>
    `<StmtPgntn><PgNb>${number}</PgNb><LastPgInd>${last}</LastPgInd></StmtPgntn>`
  t.same(await ends(page(1, false), balance('OPBD', '1'), balance('ITBD', '2')), [100n, 200n], 'first page')
  t.same(await ends(page(2, false), balance('ITBD', '2'), balance('ITBD', '3')), [200n, 300n], 'page between')
  t.same(await ends(page(3, true), balance('ITBD', '3'), balance('CLBD', '4')), [300n, 400n], 'last page')
  t.same(await ends(page(3, true), balance('ITBD', '3')), [undefined, undefined], 'an interim balance alone')

  const start = async (extra: string) => (await recordsOf(camt053('', extra)))[0]
  t.match(await start(`<LglSeqNb>18</LglSeqNb>${page(2, false)}`), {
    number: '18/2',
    statementId: 'S-1',
    currency: 'EUR',
  })
  t.match(await start(`<ElctrncSeqNb>5</ElctrncSeqNb>${page(1, true)}`), { number: '5' })
  const other = '<D><BkToCstmrStmt><Stmt><Acct><Id><Othr><Id>8601 11</Id></Othr></Id></Acct></Stmt></BkToCstmrStmt></D>'
  t.match((await recordsOf(other))[0], { account: '860111', currency: null, statementId: null, number: null })
  const none = '<D><BkToCstmrStmt>\n<Stmt><Id>1</Id></Stmt></BkToCstmrStmt></D>'
  t.match(await problemOf(none), ['bank-value-missing', { name: 'Acct' }])
})

t.test('reads the status in the form of every version', async (t) => {
  const status = async (sts: string) => (await entryOf(ntry({ Sts: sts }))).status
  t.equal(await status('<Sts>BOOK</Sts>'), 'booked')
  t.equal(await status('<Sts><Cd>BOOK</Cd></Sts>'), 'booked')
  for (const code of ['PDNG', 'INFO', 'FUTR']) t.equal(await status(`<Sts><Cd>${code}</Cd></Sts>`), 'pending')
  t.match(await problemOf(camt053(ntry({ Sts: '<Sts>GONE</Sts>' }))), ['bank-value-unknown', { name: 'Sts' }])
})

t.test('takes the day of the booking as the bank writes it, or else the day of the value', async (t) => {
  const date = async (BookgDt: string, ValDt = '') => (await entryOf(ntry({ BookgDt, ValDt }))).date
  t.equal(await date('<BookgDt><DtTm>2026-03-02T23:30:00-05:00</DtTm></BookgDt>'), '2026-03-02')
  t.equal(await date('', '<ValDt><Dt>2026-03-05</Dt></ValDt>'), '2026-03-05')
  t.match(await problemOf(camt053(ntry({ BookgDt: '' }))), ['bank-value-missing', { name: 'BookgDt' }])
  const invalid = ntry({ BookgDt: '<BookgDt><Dt>2026-02-30</Dt></BookgDt>' })
  t.match(await problemOf(camt053(invalid)), ['bank-date-invalid', {}])
})

t.test('reads exact amounts only', async (t) => {
  const amount = (text: string) => camt053(ntry({ Amt: `<Amt Ccy="EUR">${text}</Amt>` }))
  for (const [text, minor] of [
    ['7', 700n],
    ['7.5', 750n],
    ['0.07', 7n],
    ['7.50000', 750n],
    ['9007199254740993.01', 900719925474099301n],
  ] as const)
    t.equal((await entriesOf(amount(text)))[0]!.amountMinor, minor, text)
  for (const text of ['7.505', '-7', '+7', ' 7', '7 ', '7e2', '1,000.00', '7,5', '.5', '5.', '', 'x', '٧'])
    t.match(await problemOf(amount(text)), ['bank-amount-invalid', { place: /^2:\d+$/ }], text)
  t.match(await problemOf(camt053(ntry({ Amt: '<Amt>7</Amt>' }))), ['bank-value-missing', { name: 'Amt Ccy' }])
  t.match(await problemOf(camt053(ntry({ Amt: '<Amt Ccy="eur">7</Amt>' }))), ['bank-value-unknown', { name: 'Ccy' }])
})

t.test('keeps the direction of a reversal', async (t) => {
  const reversal = (direction: string) =>
    ntry({ CdtDbtInd: `<CdtDbtInd>${direction}</CdtDbtInd><RvslInd>true</RvslInd>` })
  t.match(await entryOf(reversal('CRDT')), { direction: 'credit', isReversal: true })
  t.match(await entryOf(reversal('DBIT')), { direction: 'debit', isReversal: true })
  t.match(await entryOf(ntry({ RvslInd: '<RvslInd>false</RvslInd>' })), { isReversal: false })
  t.match(await problemOf(camt053(ntry({ CdtDbtInd: '' }))), ['bank-value-unknown', { name: 'CdtDbtInd' }])
})

t.test('reads an entry without details', async (t) => {
  const domain = '<Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn>'
  const proprietary = '<Prtry><Cd>NTRF+166</Cd></Prtry>'
  const kind = async (code: string) => (await entryOf(ntry({ BkTxCd: `<BkTxCd>${code}</BkTxCd>` }))).kind
  t.equal(await kind(domain + proprietary), 'PMNT-RCDT-ESCT')
  t.equal(await kind(proprietary), 'NTRF+166')
  t.equal(await kind(''), null)
  const bare = await entryOf(
    ntry({ Ref: '<AcctSvcrRef>B-1</AcctSvcrRef>', Info: '<AddtlNtryInf> Fee </AddtlNtryInf>' }),
  )
  t.match(bare, { number: 1, bankReference: 'B-1', text: 'Fee', fileId: null, paymentCount: null, payments: only() })
})

t.test('reads the file and the number of payments of a batch', async (t) => {
  const batch = '<Btch><MsgId>M1</MsgId><PmtInfId>P1</PmtInfId><NbOfTxs>2</NbOfTxs></Btch>'
  const details = (id: string, amount: string) =>
    `<TxDtls><Refs><EndToEndId>${id}</EndToEndId></Refs>${amount}</TxDtls>`
  const amount = '<Amt Ccy="EUR">4.00</Amt>'
  const entry = await entryOf(
    ntry({ NtryDtls: `<NtryDtls>${batch}${details('a', amount)}</NtryDtls><NtryDtls>${details('b', '')}</NtryDtls>` }),
  )
  t.match(entry, { fileId: 'M1', paymentCount: 2 })
  t.same(
    entry.payments.map((each) => [each.endToEndId, each.amountMinor]),
    [
      ['a', 400n],
      ['b', null],
    ],
  )

  t.match(await entryOf(ntry({ NtryDtls: `<NtryDtls>${batch}</NtryDtls>` })), { fileId: 'M1', payments: only() })
  const onlyFile = await entryOf(withDetails('<Refs><PmtInfId>P2</PmtInfId></Refs>'))
  t.match(onlyFile, { fileId: 'P2', payments: only() }, 'details that name only the file')
  const single = await entryOf(withDetails('<Refs><PmtInfId>P2</PmtInfId><EndToEndId>a</EndToEndId></Refs>'))
  t.match(single, { fileId: null, payments: [{ endToEndId: 'a' }] }, 'a payment that was booked alone')
  const wrong = withDetails('', '<Btch><NbOfTxs>many</NbOfTxs></Btch>')
  t.match(await problemOf(camt053(wrong)), ['bank-value-unknown', { name: 'NbOfTxs' }])
})

t.test('takes the amount of a payment in the currency of the entry', async (t) => {
  const amount = (name: string, currency: string, value: string) =>
    `<${name}><Amt Ccy="${currency}">${value}</Amt></${name}>`
  const details = (...parts: string[]) => paymentOf(`<AmtDtls>${parts.join('')}</AmtDtls>`)
  t.match(await paymentOf('<Amt Ccy="EUR">9.00</Amt>'), { amountMinor: 900n })
  t.match(await details(amount('TxAmt', 'EUR', '9.00')), { amountMinor: 900n, instructed: null })
  t.match(await details(amount('InstdAmt', 'EUR', '10.00')), { amountMinor: 1000n, instructed: null })
  t.match(await details(amount('InstdAmt', 'USD', '11.00'), amount('TxAmt', 'EUR', '10.00')), {
    amountMinor: 1000n,
    instructed: { amountMinor: 1100n, currency: 'USD' },
  })
  t.match(await details(amount('InstdAmt', 'EUR', '12.00'), amount('TxAmt', 'EUR', '10.00')), {
    amountMinor: 1000n,
    instructed: { amountMinor: 1200n, currency: 'EUR' },
  })
  t.match(await details(amount('TxAmt', 'USD', '11.00')), { amountMinor: 1000n }, 'the amount of the entry')
})

t.test('adds the included charges in the form of every version', async (t) => {
  const charges = async (text: string) => (await paymentOf(text)).chargesMinor
  const charge = (amount: string, extra = '') => `<Amt Ccy="EUR">${amount}</Amt>${extra}`
  t.equal(await charges(''), null)
  t.equal(await charges(`<Chrgs>${charge('1.00')}</Chrgs><Chrgs>${charge('0.50')}</Chrgs>`), 150n, 'version 02')
  const records = (...texts: string[]) =>
    `<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">9</TtlChrgsAndTaxAmt>${texts.map((text) => `<Rcrd>${text}</Rcrd>`).join('')}</Chrgs>`
  const excluded = charge('3', '<ChrgInclInd>false</ChrgInclInd>')
  t.equal(await charges(records(charge('2', '<ChrgInclInd>true</ChrgInclInd>'), excluded)), 200n, 'later versions')
  t.equal(await charges(records(charge('2'), charge('0.5', '<CdtDbtInd>CRDT</CdtDbtInd>'))), 150n, 'a discount')
  t.equal(await charges(records()), 900n, 'only a total')
  t.equal(await charges(records('<Amt Ccy="USD">2</Amt>')), null, 'a different currency')
  const ofEntry = ntry({ Chrgs: records(charge('2')), NtryDtls: '<NtryDtls><TxDtls/></NtryDtls>' })
  t.equal((await entryOf(ofEntry)).payments[0]!.chargesMinor, 200n, 'of the entry')
})

t.test('reads the reason of a return', async (t) => {
  const returned = async (text: string) => (await paymentOf(`<RtrInf>${text}</RtrInf>`)).returned
  t.same(await returned('<Rsn><Cd>AC04</Cd></Rsn><AddtlInf>Account</AddtlInf><AddtlInf>closed</AddtlInf>'), {
    ...{ reasonCode: 'AC04', reasonText: 'Account closed', originalEndToEndId: null },
  })
  t.match(await returned('<Rsn><Prtry>own reason</Prtry></Rsn>'), { reasonCode: null, reasonText: 'own reason' })
  t.match(await returned(''), { reasonCode: null, reasonText: null })
  t.equal((await paymentOf('<Refs/>')).returned, null)
})

t.test('names the other party', async (t) => {
  const own = '<Id><IBAN>DE89370400440532013000</IBAN></Id>'
  const other = '<Id><IBAN>BE68 5390 0754 7034</IBAN></Id>'
  const parties = (text: string, extra = '') => paymentOf(`<RltdPties>${text}</RltdPties>${extra}`)
  const party = (role: string, name: string) => `<${role}><Pty><Nm>${name}</Nm></Pty></${role}>`
  const payer = `${party('Dbtr', 'Ada')}<DbtrAcct>${other}</DbtrAcct>`
  t.match(await parties(payer + party('Cdtr', 'We')), { name: 'Ada', account: 'BE68539007547034' })
  t.match(await parties('<Dbtr><Nm>Ada</Nm></Dbtr>'), { name: 'Ada', account: null }, 'version 02')
  t.match(await parties('<Dbtr/><UltmtDbtr><Nm>Ultimate</Nm></UltmtDbtr>'), { name: 'Ultimate' })
  t.match(await parties(party('Dbtr', 'Ada') + party('UltmtDbtr', 'Ultimate')), { name: 'Ada' })
  const withNumber = '<DbtrAcct><Id><Othr><Id>12 34</Id></Othr></Id></DbtrAcct>'
  t.match(await parties(withNumber), { name: null, account: '1234' })

  // A returned payout is a credit whose payee is the other party.
  const rtr = '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>'
  t.match(await parties(party('Dbtr', 'We') + party('Cdtr', 'Bora'), rtr), { name: 'Bora' }, 'kept roles')
  const turned = `${party('Dbtr', 'Bora')}<CdtrAcct>${own}</CdtrAcct>`
  t.match(await parties(turned, rtr), { name: 'Bora' }, 'turned roles')
  t.match(await parties(party('Dbtr', 'Bora'), rtr), { name: 'Bora' }, 'one party')
  const debit = ntry({
    CdtDbtInd: '<CdtDbtInd>DBIT</CdtDbtInd>',
    NtryDtls: `<NtryDtls><TxDtls><RltdPties>${party('Dbtr', 'We')}${party('Cdtr', 'Bora')}</RltdPties></TxDtls></NtryDtls>`,
  })
  t.match((await entryOf(debit)).payments[0], { name: 'Bora' })
})

t.test('reads the references and the remittance information as the file splits it', async (t) => {
  const refs = (id: string) => `<Refs><AcctSvcrRef>B-2</AcctSvcrRef><EndToEndId>${id}</EndToEndId></Refs>`
  const lines = '<RmtInf><Ustrd>one</Ustrd><Ustrd> </Ustrd><Ustrd>two &amp; three</Ustrd></RmtInf>'
  t.match(await paymentOf(refs('E-1') + lines), {
    ...{ endToEndId: 'E-1', bankReference: 'B-2', remittance: only('one', 'two & three') },
  })
  for (const none of ['NOTPROVIDED', 'NOT PROVIDED', 'notprovided', ' '])
    t.equal((await paymentOf(refs(none))).endToEndId, null)
  const structured =
    '<RmtInf><Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf><AddtlRmtInf>note</AddtlRmtInf></Strd></RmtInf>'
  t.match(await paymentOf(structured), { creditorReference: 'RF18539007547034', remittance: only('note') })
})

t.test('numbers the entries of each statement, and limits the payments of an entry', async (t) => {
  const statement = camt053(ntry() + ntry()).replace(/^<Document><BkToCstmrStmt>|<\/BkToCstmrStmt><\/Document>$/g, '')
  const entries = await entriesOf(`<Document><BkToCstmrStmt>${statement}${statement}</BkToCstmrStmt></Document>`)
  t.same(
    entries.map(({ number }) => number),
    [1, 2, 1, 2],
  )
  const many = (count: number) => camt053(ntry({ NtryDtls: `<NtryDtls>${'<TxDtls/>'.repeat(count)}</NtryDtls>` }))
  t.equal((await entriesOf(many(maxPaymentsOfEntry)))[0]!.payments.length, maxPaymentsOfEntry)
  t.match(await problemOf(many(maxPaymentsOfEntry + 1)), ['bank-entry-too-large', { most: maxPaymentsOfEntry }])
  const early = camt053(`<Ntry><NtryDtls><TxDtls/></NtryDtls></Ntry>`)
  t.match(await problemOf(early), ['bank-value-missing', { name: 'Amt Ccy' }], 'details before the amount')
})
