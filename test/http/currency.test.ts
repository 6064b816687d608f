import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Currency } from '../../src/domain/money.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { type CreateKind, createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const yen: Currency = { code: 'JPY', decimals: 0 }
const customer = { email: 'ada@example.com', password: '246813' }
const wallet = new MemoryWallet()
const account = wallet.open(customer.email, customer.password, 10_000_00n)
wallet.isTrusted = async () => true
const time = { aheadMs: 0 }
const clock = () => new Date(Date.now() + time.aheadMs).toISOString()
const service = await startTestService({ wallet, clock })
t.teardown(() => destroyTestService(service))
const { app } = service
const { webApiKey: key, secretKey } = await service.merchant({ name: 'Blue Shop' })
const inYen = await service.otherNode({ currency: yen })
const kinds = Object.keys(paths) as CreateKind[]

async function hosted(amountText = '1234.5') {
  const response = await post(app, paths.hosted, createBody('hosted', secretKey, {}, amountText), { key })
  const { url, trackingId, referenceId } = response.json()
  return { path: new URL(url).pathname, trackingId: String(trackingId), referenceId: String(referenceId) }
}

async function pay(path: string) {
  const step = async (name: string, body: object) => {
    const headers = { origin: 'https://pay.example' }
    return (
      await post(app, `${path}/${name}`, JSON.stringify(body), { contentType: 'application/json', headers })
    ).json()
  }
  const { token } = await step('login', customer)
  return step('code', { token, code: wallet.lastCode() })
}

/** Replaces the narrow and non-breaking spaces in formatted amounts with plain ones. */
const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ')

t.test('shows amounts on the page in the currency, formatted for each language', async (t) => {
  const { path } = await hosted()
  t.match(plain((await app.inject(`${path}?lang=en`)).body), 'TRY 1,234.50')
  t.match(plain((await app.inject(`${path}?lang=tr`)).body), '₺1.234,50')
  const whole = await hosted('1234')
  t.match(plain((await inYen.inject(`${whole.path}?lang=en`)).body), '¥1,234<')
})

t.test('the bodies of the specification contain no currency', async (t) => {
  for (const kind of kinds) {
    const response = await post(app, paths[kind], createBody(kind, secretKey), { key })
    t.notMatch(response.body, /TRY|currency/i, kind)
  }
})

t.test(
  'requires whole amounts in a currency without decimals, but accepts a repeat of an earlier amount',
  async (t) => {
    for (const kind of kinds) {
      const newBody = (amountText: string) => createBody(kind, secretKey, { referenceId: randomUUID() }, amountText)
      for (const amountText of ['100', '100.0', '100.00']) {
        t.equal((await post(inYen, paths[kind], newBody(amountText), { key })).statusCode, 200, `${kind} ${amountText}`)
      }
      for (const amountText of ['100.5', '100.01', '0.10']) {
        const refused = await post(inYen, paths[kind], newBody(amountText), { key })
        t.match(refused.json(), { error: { code: 40001, validationErrors: [{ members: ['amount'], message: /JPY/ }] } })
      }
      const body = newBody('100.50')
      const first = await post(app, paths[kind], body, { key })
      t.equal((await post(inYen, paths[kind], body, { key })).body, first.body)
    }
  },
)

t.test('shows a paid deposit with its reference, its time and only the last digits of the account', async (t) => {
  const { path, referenceId } = await hosted()
  const paidAt = Date.parse(clock())
  t.match(await pay(path), { next: 'result' })
  const state = (await app.inject(`${path}/state`)).json()
  const digits = String(account.accountNumber).slice(-4)
  t.match(state, { phase: 'paid', accountDigits: digits })
  t.ok(Math.abs(Date.parse(state.paidAt) - paidAt) < 60_000)
  for (const [language, ending] of [
    ['en', `ending in ${digits}`],
    ['tr', `${digits} ile biten`],
  ]) {
    const { body } = await app.inject(`${path}?lang=${language}`)
    t.match(body, ending)
    t.match(body, referenceId)
    t.match(body, `datetime="${state.paidAt}"`)
    t.notMatch(body, String(account.accountNumber))
  }
})

t.test(
  'shows no account if an operator completed the deposit, and keeps the time of payment if more money arrives',
  async (t) => {
    const { path, trackingId } = await hosted()
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    const state = (await app.inject(`${path}/state`)).json()
    t.match(state, { phase: 'paid', accountDigits: null })
    time.aheadMs = 60_000
    const late = { receivedAmountMinor: 1n, receiptUrl: null }
    await service.transfers.receiveFunds(trackingId, 1, late, context)
    t.equal((await app.inject(`${path}/state`)).json().paidAt, state.paidAt)
    const { body } = await app.inject(path)
    t.match(body, /<div id="account" hidden>/)
  },
)
