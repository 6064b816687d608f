import t from 'tap'
import { signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { until } from '../support/until.js'

// Banks return an id without hyphens and in capitals, mail programs wrap it, databases print capitals. What a transfer is known by outside
// the service finds it again in each of these forms.

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { app } = service
const merchant = await service.merchant()
const key = merchant.webApiKey

async function create(fields: { readonly [field: string]: unknown }): Promise<string> {
  const response = await post(app, paths.withdrawal, createBody('withdrawal', merchant.secretKey, fields), { key })
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json().result.trackingId
}

const accountNumber = 'NL91ABNA0417164300'
const trackingId = await create({ referenceId: 'INV 2026-0042', accountNumber, name: 'Jürgen Straße' })
const spaced = await create({ referenceId: 'Order 12/7', accountNumber: 'nl91 abna 0417 1643 00' })
const symbol = await create({ referenceId: '¨' })
const auditor = await signInAs(service, 'auditor')

const digits = trackingId.replaceAll('-', '')
const forms = {
  stored: trackingId,
  'without hyphens': digits,
  'in capitals': trackingId.toUpperCase(),
  'in capitals without hyphens': digits.toUpperCase(),
  wrapped: `${digits.slice(0, 20)} ${digits.slice(20)}`,
  'with en dashes': trackingId.replaceAll('-', '–'),
  'with hyphens that do not break': `\u200b${trackingId.replaceAll('-', '\u2011')}`,
}

async function found(text: string): Promise<readonly string[]> {
  const { items } = (await auditor.get(`/transfers?text=${encodeURIComponent(text)}`)).json()
  return items.map((each: { trackingId: string }) => each.trackingId)
}

await until(async () => (await found('2026')).length + (await found('¨')).length === 2)

t.test('every form of a trackingId is accepted by every route that takes one', async (t) => {
  const document = (await app.inject({ url: '/documentation/json' })).json()
  const ofTransfer = Object.keys(document.paths).filter(
    (path) => path.includes('{trackingId}') && document.paths[path].get,
  )
  t.ok(ofTransfer.length >= 3, ofTransfer.join())
  for (const [form, id] of Object.entries(forms)) {
    const escaped = encodeURIComponent(id)
    for (const path of ofTransfer) {
      const ask = (each: string) => app.inject({ url: path.replace('{trackingId}', each), headers: { webapikey: key } })
      const answer = await ask(escaped)
      t.equal(answer.statusCode, 200, `${path} ${form}`)
      t.equal(answer.body, (await ask(trackingId)).body, `${path} ${form}`)
    }
    for (const path of [
      ...['/transfers/ID', '/transfers/ID/story', '/callbacks?trackingId=ID'],
      '/audit/state?of=transfer&id=ID',
    ]) {
      const answer = await auditor.get(path.replace('ID', escaped))
      t.equal(answer.statusCode, 200, `${path} ${form}`)
      t.equal(answer.body, (await auditor.get(path.replace('ID', trackingId))).body, `${path} ${form}`)
    }
    t.same(await found(id), [trackingId], form)
    t.same(await found(id.slice(0, 13)), [trackingId], `the beginning of it ${form}`)
  }
})

t.test('a webhookId is accepted without hyphens', async (t) => {
  const resend = (webhookId: string) =>
    post(app, `/v1/transfers/${digits}/callbacks/resend`, JSON.stringify({ webhookId }), { key })
  t.match((await resend('0'.repeat(32))).json(), { error: { code: 40403 } }, 'unknown, but an id')
  t.equal((await resend('0'.repeat(31))).statusCode, 400)
})

t.test('the exact reference finds its transfer, with its words and its beginnings', async (t) => {
  for (const text of ['INV 2026-0042', '2026-0042', 'inv', '0042', 'INV 2026', 'INV 2026-', 'inv2026'])
    t.same(await found(text), [trackingId], text)
  for (const text of ['Order 12/7', '12/7', 'order 12', '7']) t.same(await found(text), [spaced], text)
  t.same(await found('¨'), [symbol])
  t.same(await found('STRASE'), [trackingId], 'the name as the bank prints it')
  const palette = (await auditor.get(`/search?text=${encodeURIComponent('INV 2026-0042')}`)).json()
  t.match(palette.items, [{ type: 'transfer', id: trackingId }])
})

t.test('a text is found as long as a bank prints it, and in its capitals', async (t) => {
  const long = await create({ referenceId: 'Щ'.repeat(100) })
  const printed = 'SHT'.repeat(46)
  await until(async () => (await found(printed)).length > 0)
  t.same(await found(printed), [long])
  t.equal((await auditor.get(`/search?text=${printed}`)).json().items[0]?.id, long)
  t.same(await found('JÜRGEN STRASSE'), [trackingId])
})

t.test('every form of a merchantId is accepted by the dashboard', async (t) => {
  const { id } = merchant
  const own = await signInAs(service, 'viewer', [id])
  for (const form of [id.toUpperCase(), id.replaceAll('-', ''), id.replaceAll('-', ' ').toUpperCase()]) {
    const escaped = encodeURIComponent(form)
    for (const path of [
      '/merchants/ID',
      '/transfers?merchantId=ID',
      '/statement-exact.csv?from=2026-01-01&to=2026-01-02&merchantId=ID',
    ]) {
      const answer = await own.get(path.replace('ID', escaped))
      t.equal(answer.statusCode, 200, `${path} ${form}`)
      t.equal(answer.body, (await own.get(path.replace('ID', id))).body, `${path} ${form}`)
    }
    t.match((await own.get(`/search?text=${escaped}`)).json().items, [{ type: 'merchant', id }])
  }
})

t.test('an account is found in every form in which people write it', async (t) => {
  for (const text of [
    accountNumber,
    'nl91 abna 0417 1643 00',
    'NL91-ABNA-0417-1643-00',
    'NL91ABNA 0417164300',
    'IBAN: NL91 ABNA 0417 1643 00',
  ])
    t.same(await found(text), [spaced, trackingId], text)
})
