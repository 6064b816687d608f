import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { IssuedCredentials } from '../../src/commands/merchants.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import {
  createBody,
  destroyTestService,
  paths,
  post,
  startTestService,
  type TestService,
  walletPaths,
} from '../support/test-service.js'

const email = 'ada@example.com'
const password = '734219'

async function scene(t: Test, options: Parameters<typeof startTestService>[0] = {}) {
  const wallet = new MemoryWallet()
  const account = wallet.open(email, password, 500_00n)
  const service = await startTestService({ wallet, ...options })
  t.teardown(() => destroyTestService(service))
  const merchant = await service.merchant()
  return { ...service, service, wallet, account, merchant, flow: flowOf(service, merchant) }
}

/** The four requests of a merchant's native deposit. */
function flowOf({ app }: TestService, { webApiKey: key, secretKey }: IssuedCredentials) {
  const send = async (url: string, body: object) => {
    const answer = await post(app, url, JSON.stringify(body), { key })
    return { status: answer.statusCode, body: answer.json(), retryAfter: answer.headers['retry-after'] }
  }
  return {
    send,
    async create(amountText = '100.50', kind: 'native' | 'hosted' | 'withdrawal' = 'native') {
      const answer = await post(app, paths[kind], createBody(kind, secretKey, {}, amountText), { key })
      const body = answer.json()
      return String((body.result ?? body).trackingId)
    },
    logIn: (trackingId: string, as = password) =>
      send(walletPaths.logIn, { trackingId, userName: email, password: as }),
    verify: (trackingId: string, token: string, code: string) => send(walletPaths.code, { trackingId, token, code }),
    validate: (trackingId: string, token: string) => send(walletPaths.device, { token, trackingId }),
  }
}

t.test('a trusted device: log-in, code, Completed; the money is taken once', async (t) => {
  const { wallet, account, merchant, flow, service } = await scene(t)
  const trackingId = await flow.create()
  const { transfer } = (await service.transfers.find(trackingId))!
  t.equal(transfer.userId, '8412')
  const loggedIn = await flow.logIn(trackingId)
  t.equal(loggedIn.status, 200)
  t.match(loggedIn.body, { targetUrl: null, success: true, error: null, unAuthorizedRequest: false, __abp: true })
  t.match(loggedIn.body.result, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  const verified = await flow.verify(trackingId, loggedIn.body.result, wallet.lastCode())
  t.match(verified, {
    status: 200,
    body: { success: true, result: { next_step: 'ValidateUserDevice', account_number: account.accountNumber } },
  })
  const { token } = verified.body.result
  const pending = await flow.validate(trackingId, token)
  t.match(pending, { status: 200, body: { success: false, result: null, error: { code: 20001 }, __abp: true } })
  t.equal(wallet.confirmUrls.length, 1)
  const link = wallet.confirmUrls[0]!.split('/').at(-1)!
  t.match(wallet.confirmUrls[0], /^https:\/\/pay\.example\/device\//)
  const context = { actor: 'customer', $correlationId: 'test', $causationId: 'test' }
  t.match(await service.walletPayments.deviceConfirmation(link), { state: 'open', merchantName: 'Shop' })
  t.equal(account.trusted.size, 0, 'looking confirms nothing')
  t.same(await service.walletPayments.confirmDevice(link, context), { ok: true })
  t.same(await service.walletPayments.confirmDevice(link, context), { ok: true })
  t.match(await service.walletPayments.deviceConfirmation(link), { state: 'confirmed' })
  t.equal(await service.walletPayments.deviceConfirmation(`${link.slice(0, -1)}_`), undefined)
  const done = await flow.validate(trackingId, token)
  t.same(done.body, {
    result: 'Completed',
    targetUrl: null,
    success: true,
    error: null,
    unAuthorizedRequest: false,
    __abp: true,
  })
  t.same((await flow.validate(trackingId, token)).body.result, 'Completed', 'asked again')
  t.match((await service.transfers.find(trackingId))!.transfer, {
    status: 'Completed',
    transactionAmountMinor: 100_50n,
  })
  t.equal(account.balanceMinor, 399_50n)

  const second = await flow.create('20')
  const again = await flow.logIn(second)
  const completed = await flow.verify(second, again.body.result, wallet.lastCode())
  t.match(completed, {
    status: 200,
    body: { result: { next_step: 'Completed', account_number: account.accountNumber } },
  })
  t.equal(account.balanceMinor, 379_50n)
  t.equal(merchant.id, (await service.transfers.find(second))!.transfer.merchantId)
})

t.test('a wrong password and an unknown account are told alike', async (t) => {
  const { flow, service } = await scene(t)
  const trackingId = await flow.create()
  const wrong = await flow.logIn(trackingId, '000000')
  const unknown = await flow.send(walletPaths.logIn, { trackingId, userName: 'nobody@example.com', password })
  t.equal(wrong.status, 400)
  t.match(wrong.body, { success: false, result: null, error: { code: 40006 } })
  t.same(wrong, unknown)
  t.match((await service.transfers.find(trackingId))!.transfer.status, 'Pending')
  t.equal((await flow.logIn(randomUUID())).status, 404)
})
