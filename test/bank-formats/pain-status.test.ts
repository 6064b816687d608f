import t from 'tap'
import { only, problemOf, recordsOf } from './bank-files.js'

const group = (status: string, id = 'FILE-1') =>
  `<OrgnlGrpInfAndSts><OrgnlMsgId>${id}</OrgnlMsgId><OrgnlMsgNmId>pain.001</OrgnlMsgNmId>${status}</OrgnlGrpInfAndSts>`
const report = (...parts: string[]) =>
  `<Document><CstmrPmtStsRpt><GrpHdr><MsgId>R</MsgId></GrpHdr>${parts.join('\n')}</CstmrPmtStsRpt></Document>`
const payments = (...parts: string[]) => `<OrgnlPmtInfAndSts>${parts.join('')}</OrgnlPmtInfAndSts>`
const transaction = (id: string, status: string, reason = '') =>
  `<TxInfAndSts>${id && `<OrgnlEndToEndId>${id}</OrgnlEndToEndId>`}<TxSts>${status}</TxSts>${reason}</TxInfAndSts>`
const reason = (text: string) => `<StsRsnInf>${text}</StsRsnInf>`

t.test('a rejection of the file or of its payment information concerns every payment', async (t) => {
  const rejected = `<GrpSts>RJCT</GrpSts>${reason('<Rsn><Cd>AM05</Cd></Rsn><AddtlInf>Duplicate</AddtlInf>')}`
  t.same(await recordsOf(report(group(rejected))), [
    {
      ...{ type: 'status', fileId: 'FILE-1', endToEndId: null, status: 'rejected', statusCode: 'RJCT' },
      ...{ reasonCode: 'AM05', reasonText: 'Duplicate' },
    },
  ])
  const information = payments('<OrgnlPmtInfId>P-1</OrgnlPmtInfId><PmtInfSts>RJCT</PmtInfSts>')
  t.match(
    await recordsOf(report(group(''), information)),
    only({ fileId: 'FILE-1', endToEndId: null, status: 'rejected' }),
  )
  t.match(await recordsOf(report(group('', 'NOTPROVIDED'), information)), only({ fileId: 'P-1', endToEndId: null }))
})

t.test('reads the status of each payment after the status of its group', async (t) => {
  const records = await recordsOf(
    report(
      group('<GrpSts>PART</GrpSts>'),
      payments(
        '<OrgnlPmtInfId>P-1</OrgnlPmtInfId><PmtInfSts>PART</PmtInfSts>',
        transaction(
          'a',
          'RJCT',
          reason('<Rsn><Cd>AC01</Cd></Rsn><AddtlInf>IBAN</AddtlInf><AddtlInf>unknown</AddtlInf>'),
        ),
        transaction('b', 'ACSC'),
      ),
      payments(
        '<OrgnlPmtInfId>P-2</OrgnlPmtInfId>',
        transaction('c', 'PDNG', reason('<Rsn><Prtry>LIMIT</Prtry></Rsn>')),
      ),
    ),
  )
  const columns = records.map(
    (each) =>
      each.type === 'status' && [each.endToEndId, each.status, each.statusCode, each.reasonCode, each.reasonText],
  )
  t.same(columns, [
    [null, 'accepted', 'PART', null, null],
    [null, 'accepted', 'PART', null, null],
    ['a', 'rejected', 'RJCT', 'AC01', 'IBAN unknown'],
    ['b', 'accepted', 'ACSC', null, null],
    ['c', 'pending', 'PDNG', 'LIMIT', null],
  ])
})

t.test('every code of a status has a meaning', async (t) => {
  const statusOf = async (code: string) => (await recordsOf(report(group(''), payments(transaction('a', code)))))[0]
  for (const code of ['PDNG', 'RCVD']) t.match(await statusOf(code), { status: 'pending' }, code)
  for (const code of ['ACTC', 'ACCP', 'ACSP', 'ACSC', 'ACWC', 'PART'])
    t.match(await statusOf(code), { status: 'accepted' }, code)
  for (const code of ['WHAT', 'toString', '']) {
    const problem = await problemOf(report(group(''), payments(transaction('a', code))))
    t.match(problem, [/^bank-value-(unknown|missing)$/, {}], code)
  }
})

t.test('the status of an unnamed payment does not become one of the whole file', async (t) => {
  const [record] = await recordsOf(report(group(''), payments(transaction('', 'RJCT'))))
  t.match(record, { endToEndId: 'NOTPROVIDED', status: 'rejected' })
  t.match(await problemOf(report(group(''), transaction('a', 'RJCT'))), ['bank-file-unrecognised'], 'version 02')
})
