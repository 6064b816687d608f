import t from 'tap'
import { createBody, manualDeposits, paths, paymentMethods, post, walletPaths } from '../support/merchant-requests.js'
import { readDrawing } from '../support/qr-reader.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const service = await startTestService({ configuration: { paymentMethods: [...paymentMethods, manualDeposits] } })
t.teardown(() => destroyTestService(service))
const { app } = service
const text = 'To <b>Bank of Examples</b> & Co,\nIBAN DE89 3704'
const { webApiKey: key, secretKey } = await service.merchant({ paymentInstructions: [{ paymentMethod: 7, text }] })

async function hosted(paymentMethod: number, secret = secretKey, webApiKey = key) {
  const response = await post(app, paths.hosted, createBody('hosted', secret, { paymentMethod }, '1234.5'), {
    key: webApiKey,
  })
  const { url, trackingId, referenceId } = response.json()
  return { path: new URL(url).pathname, trackingId: String(trackingId), referenceId: String(referenceId) }
}

t.test('shows the instructions, amount and reference of a manual deposit, but no login', async (t) => {
  const { path, referenceId } = await hosted(7)
  for (const [language, heading, method] of [
    ['en', 'How to pay', 'Bank transfer'],
    ['tr', 'Ödeme bilgileri', 'Banka havalesi'],
  ] as const) {
    const { body } = await app.inject(`${path}?lang=${language}`)
    t.match(body, heading)
    t.match(
      body,
      'To &#60;b&#62;Bank of Examples&#60;/b&#62; &#38; Co,\nIBAN DE89 3704',
      'the instructions are escaped and keep their lines',
    )
    t.match(body, method)
    t.match(body, referenceId)
    t.match(body, language === 'en' ? '1,234.50' : '1.234,50')
    t.notMatch(body, /step-login|type="password"|<noscript/)
    t.match(body, '"isManual":true')
  }
  const wallet = await app.inject((await hosted(1)).path)
  t.match(wallet.body, /step-login/)
  t.notMatch(wallet.body, 'Bank of Examples')
})

t.test('asks the customer to contact the merchant if there are no instructions', async (t) => {
  const other = await service.merchant({ name: 'Quiet', allowIps: ['127.0.0.1'] })
  const { path } = await hosted(7, other.secretKey, other.webApiKey)
  t.match((await app.inject(path)).body, /Ask Quiet how to pay/)
})

const account = { name: 'Blue & Söhne', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' }
const withAccount = { paymentMethods: [...paymentMethods, { ...manualDeposits, account }] }
const euro = { code: 'EUR', decimals: 2 } as const
/** Returns the lines of the code on a page. */
const codeOn = (body: string) => {
  const [drawing] = /<svg.*<\/svg>/s.exec(body) ?? []
  return drawing && readDrawing(drawing)?.content.split('\n')
}

t.test('shows the account of the method, and in euros a code of the missing amount, in both languages', async (t) => {
  const node = await service.otherNode({ ...withAccount, currency: euro })
  const quiet = await service.merchant({ name: 'Quiet euro', allowIps: ['127.0.0.1'] })
  const { path, trackingId, referenceId } = await hosted(7, quiet.secretKey, quiet.webApiKey)
  const expected = [
    'BCD',
    '002',
    '1',
    'SCT',
    account.bic,
    account.name,
    account.iban,
    'EUR1234.50',
    '',
    '',
    referenceId,
  ]
  for (const [language, intro, label] of [
    ['en', 'Make a bank transfer to this account.', 'QR code of the transfer'],
    ['tr', 'Bu hesaba banka transferi yapın.', 'Transferin QR kodu'],
  ] as const) {
    const { body } = await node.inject(`${path}?lang=${language}`)
    t.match(body, intro)
    t.match(body, '<dd>Blue &#38; Söhne</dd>')
    t.match(body, '<dt>IBAN</dt><dd>DE89 3704 0044 0532 0130 00</dd>')
    t.match(body, '<dt>BIC</dt><dd>COBADEFFXXX</dd>')
    t.match(body, `role="img" aria-label="${label}"`)
    t.same(codeOn(body), expected)
  }
  const part = { receivedAmountMinor: 1_000_00n, reference: 'FT-1' }
  await service.transfers.act(trackingId, { type: 'ReceivePart', ...part }, context)
  t.equal(codeOn((await node.inject(path)).body)?.[7], 'EUR234.50')
  await service.transfers.act(trackingId, { type: 'ReceivePart', ...part, reference: 'FT-2' }, context)
  t.equal(codeOn((await node.inject(path)).body), undefined, 'too much has arrived, so nothing is missing')
})

t.test('shows the account without a code in another currency, and neither next to a different IBAN', async (t) => {
  const node = await service.otherNode(withAccount)
  const { path } = await hosted(7)
  const { body } = await node.inject(path)
  t.match(body, 'DE89 3704 0044 0532 0130 00')
  t.notMatch(body, '<svg')
  for (const [iban, isShown] of [
    ['DE89 3704 0044 0532 0130 00', true],
    ['GB29NWBK60161331926819', false],
  ] as const) {
    const paymentInstructions = [{ paymentMethod: 7, text: `Our bank: ${iban}` }]
    const own = await service.merchant({ name: iban, allowIps: ['127.0.0.1'], paymentInstructions })
    const inEuro = await service.otherNode({ ...withAccount, currency: euro })
    const page = (await inEuro.inject((await hosted(7, own.secretKey, own.webApiKey)).path)).body
    t.equal(page.includes(account.bic), isShown, iban)
    t.equal(page.includes('<svg'), isShown, iban)
  }
})

t.test('rejects the wallet steps of a manual deposit with a separate code, on its page and in the API', async (t) => {
  const before = (await service.log()).length
  const native = await post(app, paths.native, createBody('native', secretKey, { paymentMethod: 7 }), { key })
  const { trackingId } = native.json().result
  for (const [url, fields] of [
    [walletPaths.logIn, { userName: 'ada@example.com', password: '123456' }],
    [walletPaths.code, { token: 't', code: '123456' }],
    [walletPaths.device, { token: 't' }],
  ] as const) {
    const refused = await post(app, url, JSON.stringify({ trackingId, ...fields }), { key })
    t.equal(refused.statusCode, 409, url)
    t.match(refused.json(), { success: false, error: { code: 40910 } })
  }
  const { path } = await hosted(7)
  for (const [step, fields] of [
    ['login', { email: 'ada@example.com', password: '123456' }],
    ['code', { token: 't', code: '123456' }],
    ['device', { token: 't' }],
  ] as const) {
    const headers = { origin: 'https://pay.example' }
    const refused = await post(app, `${path}/${step}`, JSON.stringify(fields), {
      contentType: 'application/json',
      headers,
    })
    t.equal(refused.statusCode, 409, step)
  }
  const since = (await service.log()).slice(before).filter(({ stream }) => !stream.startsWith('hash-'))
  t.strictSame(
    since.map(({ type }) => type),
    ['DepositCreated', 'DepositCreated'],
    'the steps append no other event',
  )
})

t.test('shows on the page that an operator completed the deposit', async (t) => {
  const { path, trackingId } = await hosted(7)
  t.match((await app.inject(`${path}/state`)).json(), { phase: 'open' })
  await service.transfers.act(trackingId, { type: 'Complete' }, context)
  t.match((await app.inject(`${path}/state`)).json(), { phase: 'paid', paid: /1,234\.50/ })
  t.match((await app.inject(path)).body, /You paid/)
})

t.test('applies the current catalogue to a deposit whose method was removed or became manual', async (t) => {
  const { path } = await hosted(1)
  const gone = await service.otherNode({ paymentMethods: [] })
  t.match((await gone.inject(path)).body, /step-login/, 'a started deposit can be completed')
  const manual = await service.otherNode({ paymentMethods: [{ ...manualDeposits, code: 1 }] })
  t.notMatch((await manual.inject(path)).body, /step-login/)
})
