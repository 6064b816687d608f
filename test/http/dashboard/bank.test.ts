import t from 'tap'
import { eraseCounterparty, eraseCustomer } from '../../../src/privacy/customer-erasure.js'
import { exportCustomer } from '../../../src/privacy/customer-export.js'
import { camt053, ntry } from '../../bank-formats/bank-files.js'
import { depositRequest, withdrawalRequest } from '../../domain/transfer-samples.js'
import { signInAs } from '../../support/dashboard.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'
import { until } from '../../support/until.js'

const manual = { code: 7, name: 'Bank transfer', kinds: ['deposit', 'withdrawal'], paidBy: 'manual' } as const
const service = await startTestService({
  projections: true,
  configuration: {
    currency: { code: 'EUR', decimals: 2 },
    paymentMethods: [{ ...manual, minAmountMinor: 1n, maxAmountMinor: 999_999_99n }],
  },
})
t.teardown(() => destroyTestService(service))
const { app, transfers, bank, readModels } = service
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const account = 'DE89370400440532013000'
const [{ id: merchantId }, { id: other }] = [await service.merchant(), await service.merchant()]
const operator = await signInAs(service, 'operator', [merchantId, other])
const bound = await signInAs(service, 'operator', [merchantId])
const viewer = await signInAs(service, 'viewer', [merchantId, other])
const auditor = await signInAs(service, 'auditor')

async function deposit(referenceId: string, userId = 'customer-1') {
  const request = { ...depositRequest, merchantId, referenceId, userId, amountMinor: 10_00n, paymentMethod: 7 }
  const result = await transfers.create({ ...request, expiryMinutes: 10_000 }, context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  const { trackingId } = result.transfer
  await until(async () => (await readModels.collection('transfers').findOne({ _id: trackingId })) !== null)
  return trackingId
}

const credit = (text: string, name = 'Ada Lovelace', reference = text) =>
  ntry({
    AcctSvcrRef: `<AcctSvcrRef>${reference}</AcctSvcrRef>`,
    NtryDtls: `<NtryDtls><TxDtls><RltdPties><Dbtr><Nm>${name}</Nm></Dbtr><DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id></DbtrAcct></RltdPties><RmtInf><Ustrd>${text}</Ustrd></RmtInf></TxDtls></NtryDtls>`,
  })

function upload(file: string, mode: string, who = operator, query = '') {
  const headers = { cookie: who.cookie, origin: 'https://pay.example', 'x-csrf-token': who.csrfToken }
  const url = `/dashboard/api/bank/files?mode=${mode}${query}`
  return app.inject({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/octet-stream' },
    payload: file,
  })
}
const paymentsOf = async (who: typeof operator, query = 'show=open') =>
  (await who.get(`/bank/payments?${query}`)).json()
const listed = (count: number) =>
  until(async () => (await readModels.collection('bank_payments').countDocuments({})) === count)

t.test('a file is previewed, applied, and its open payments are decided one by one', async (t) => {
  const trackingId = await deposit('ORDER-77812')
  const file = camt053(credit('ORDER-77812') + credit('thanks', 'Somebody') + credit('fee', 'Bank'))
  const preview = await upload(file, 'preview')
  t.match(preview.json(), {
    counts: { certain: 1, unknown: 2, applied: 0 },
    statements: [{ accountId: account, entries: 3 }],
  })
  t.match((await paymentsOf(operator)).items, { length: 0 }, 'a preview records nothing')
  const applied = await upload(file, 'apply')
  t.match(applied.json(), {
    counts: { certain: 1, applied: 1 },
    payments: [{ applied: [{ effect: 'received', refusal: null }] }],
  })
  t.equal((await transfers.find(trackingId))!.transfer.status, 'Completed')
  await listed(3)
  const { items } = await paymentsOf(operator)
  t.equal(items.length, 2)
  const [fee, thanks] = items as [{ paymentId: string }, { paymentId: string }]
  const explained = await operator.post(`/bank/payments/${fee.paymentId}/explain`, { explanation: 'charges' })
  t.match(explained.json(), { status: 'explained', explanation: 'charges', explainedBy: 'The operator' })
  const second = await deposit('ORDER-77813')
  const uses = { items: [{ paymentId: thanks.paymentId, trackingId: second }] }
  t.match((await operator.post('/bank/uses', uses)).json(), {
    items: [{ effect: 'received', payment: { status: 'used' } }],
  })
  t.match(
    (await operator.post('/bank/uses', uses)).json(),
    { items: [{ effect: 'received' }] },
    'a repeat changes nothing',
  )
  const elsewhere = { items: [{ paymentId: thanks.paymentId, trackingId }] }
  t.match((await operator.post('/bank/uses', elsewhere)).json(), {
    items: [{ effect: null, refusal: { rule: 'bank-payment-used' } }],
  })
  t.match((await viewer.get(`/bank/accounts/${account}/statements`)).json(), {
    items: [{ entries: 3, newEntries: 3, problems: [] }],
  })
  await until(async () => (await viewer.get('/bank/days')).json().items[0]?.creditReceivedMinor === '2000')
  t.match((await viewer.get('/bank/days')).json(), {
    items: [{ date: '2026-03-02', creditBookedMinor: '3000', creditReceivedMinor: '2000', creditOpenMinor: '0' }],
  })
})

t.test(
  'users see an account only with all of its merchants, and change it only if they settle transfers',
  async (t) => {
    const { items } = await paymentsOf(auditor, 'show=all')
    t.equal(items.length, 3, 'an auditor sees every account')
    const [{ paymentId }] = items
    t.match(await paymentsOf(bound, 'show=all'), { items: { length: 0 } })
    t.equal((await bound.get(`/bank/payments/${paymentId}`)).statusCode, 404)
    t.equal((await bound.get(`/bank/accounts/${account}/statements`)).statusCode, 404)
    t.equal((await bound.post(`/bank/payments/${paymentId}/explain`, { explanation: 'x' })).statusCode, 404)
    const uses = { items: [{ paymentId, trackingId: await deposit('ORDER-9') }] }
    t.equal((await bound.post('/bank/uses', uses)).statusCode, 404)
    t.match((await upload(camt053(credit('x')), 'apply', bound)).json(), { error: { rule: 'bank-account-forbidden' } })
    for (const who of [viewer, auditor]) t.equal((await upload(camt053(credit('x')), 'preview', who)).statusCode, 403)
  },
)

t.test('a file that cannot be read or needs an account is rejected with the reason, and records nothing', async (t) => {
  t.match((await upload('nothing', 'apply')).json(), { error: { code: 42201, rule: 'bank-file-unrecognised' } })
  t.match((await upload(camt053('<Ntry>'), 'apply')).json(), { error: { code: 42201 } })
  const csv = 'Date,Amount,Description\n2026-03-02,5.00,hello\n2026-03-03,-1.25,fee\n'
  t.match((await upload(csv, 'preview')).json(), { error: { validationErrors: [{ rule: 'bank-account-needed' }] } })
  t.equal((await upload(csv, 'preview', operator, `&account=${account}`)).statusCode, 200)
  t.match((await operator.post('/bank/files?mode=preview', {})).json(), { error: { code: 41503 } })
})

t.test('erasing a customer erases the counterparty of its payments, in events and lists', async (t) => {
  const trackingId = await deposit('ORDER-55555', 'erased-1')
  await upload(
    camt053(credit('ORDER-55555', 'Hidden Person', 'E1') + credit('private note', 'Hidden Person', 'E2')),
    'apply',
  )
  await listed(5)
  const { transfer } = (await transfers.find(trackingId))!
  const { bankPaymentId } = transfer.bankPayments[0]!
  t.match((await bank.payment(bankPaymentId))!.payment, { name: 'Hidden Person' })
  const customer = { merchantId, userId: 'erased-1' }
  const exported = JSON.stringify(await exportCustomer(service.http.privacy, customer))
  t.match(exported, /Hidden Person/, 'an access request shows the payment')
  t.notMatch(exported, /private note/, 'but no other payment of the same amount')
  const erased = await eraseCustomer(service.http.privacy, { merchantId, userId: 'erased-1' }, 'request', context)
  t.match(erased, { accepted: true })
  t.match((await bank.payment(bankPaymentId))!.payment, {
    name: '[erased]',
    accountNumber: '[erased]',
    remittance: '[erased]',
  })
  const all = readModels.collection('bank_payments')
  await until(async () => !JSON.stringify(await all.find({})).includes('Hidden Person'))
  t.notMatch(
    JSON.stringify(await all.find({})),
    /private note/,
    'also in the payments of the same account that no transfer uses',
  )
  const again = await upload(camt053(credit('ORDER-55555', 'Hidden Person', 'E1')), 'preview')
  t.match(again.json(), { statements: [{ newEntries: 0 }] }, 'the entry is still recognised')
  const { personId } = (await bank.payment(bankPaymentId))!.payment
  t.equal(await eraseCounterparty(service.http.privacy, personId, 'again', context), undefined)
})

t.test('a rejection of the bank is on the page of the withdrawal', async (t) => {
  const request = { ...withdrawalRequest, merchantId, referenceId: 'W-1', amountMinor: 10_00n, paymentMethod: 7 }
  const result = await transfers.create(request, context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  const { trackingId } = result.transfer
  const file = { format: 'csv', trackingIds: [trackingId], timeZone: 'UTC', underClaim: false } as const
  const produced = await transfers.produceBankFile(file, { code: 'EUR', decimals: 2 }, context)
  t.match(produced, { accepted: true })
  await until(async () => (await readModels.collection('transfers').findOne({ _id: trackingId })) !== null)
  const id = trackingId.replaceAll('-', '')
  const pain = `<Document><CstmrPmtStsRpt><OrgnlGrpInfAndSts><OrgnlMsgId>${produced.accepted && produced.messageId}</OrgnlMsgId></OrgnlGrpInfAndSts><OrgnlPmtInfAndSts><TxInfAndSts><OrgnlEndToEndId>${id}</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts></OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
  t.match((await upload(pain, 'preview')).json(), {
    rejections: [{ isApplied: false, proposals: [{ trackingId, isCertain: true }] }],
  })
  t.match((await upload(pain, 'apply')).json(), { rejections: [{ reasonCode: 'AC04', isApplied: true }] })
  t.match((await transfers.find(trackingId))!.transfer, { rejection: { reasonCode: 'AC04' } })
})
