import { randomUUID } from 'node:crypto'
import t from 'tap'
import { WalletUnavailableError } from '../../src/wallet/wallet.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService, type TestService } from '../support/test-service.js'

const password = '246813'

async function world(t: { teardown(work: () => unknown): unknown }) {
  const wallet = new MemoryWallet()
  wallet.open('play@example.com', password, 1_000_00n, true)
  wallet.open('real@example.com', password, 1_000_00n, false)
  const taken: number[] = []
  const takeCode = (accountNumber: number) => {
    taken.push(accountNumber)
    return 0
  }
  const service = await startTestService({ wallet, takeCode })
  t.teardown(() => destroyTestService(service))
  const logIns = async () => (await service.store.readAll({ streamPrefixes: ['walletlogins-'], maxCount: 100 })).events
  return { wallet, service, taken, logIns }
}

type Issued = Awaited<ReturnType<TestService['merchant']>>

async function deposit({ app }: TestService, { webApiKey: key, secretKey }: Issued): Promise<string> {
  const body = createBody('native', secretKey, { referenceId: randomUUID() })
  return (await post(app, paths.native, body, { key })).json().result.trackingId
}

function logIn(
  { app }: TestService,
  { webApiKey: key }: Issued,
  trackingId: string,
  userName: string,
  typed = password,
) {
  return post(app, walletPaths.logIn, JSON.stringify({ trackingId, userName, password: typed }), { key })
}

t.test('lets a sandbox account pay only sandbox deposits, and a live account only live deposits', async (t) => {
  const { service, wallet } = await world(t)
  for (const sandbox of [true, false]) {
    const shop = await service.merchant({ sandbox, allowIps: ['127.0.0.1'] })
    const trackingId = await deposit(service, shop)
    const [own, other] = sandbox ? ['play', 'real'] : ['real', 'play']
    const refused = await logIn(service, shop, trackingId, `${other}@example.com`)
    const wrong = await logIn(service, shop, trackingId, `${own}@example.com`, '000001')
    t.equal(refused.statusCode, 400)
    t.same(refused.json(), wrong.json(), 'the response is the same as for a wrong password')
    t.equal(wallet.codes.size, sandbox ? 0 : 1, 'no code is sent for a rejected login')
    t.equal((await service.collections.load(trackingId)).state.challenges.length, 0)
    t.equal((await logIn(service, shop, trackingId, `${own}@example.com`)).statusCode, 200)
  }
})

t.test('does not take sandbox money for a merchant that goes live between login and payment', async (t) => {
  const { service, wallet } = await world(t)
  const shop = await service.merchant({ sandbox: true })
  const trackingId = await deposit(service, shop)
  const { result: token } = (await logIn(service, shop, trackingId, 'play@example.com')).json()
  const requested: boolean[] = []
  const collect = wallet.collect.bind(wallet)
  wallet.collect = (request) => {
    requested.push(request.sandbox)
    return collect(request)
  }
  wallet.isTrusted = async () => true
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  await service.merchants.execute(shop.id, { type: 'ChangeSettings', changes: { sandbox: false } }, context)
  await service.until(() => service.directory.byId(shop.id)?.settings.sandbox === false)
  await post(service.app, walletPaths.code, JSON.stringify({ trackingId, token, code: wallet.lastCode() }), {
    key: shop.webApiKey,
  })
  t.same(requested, [false], 'the wallet receives the kind of money to take and must reject it')
})

t.test('rejects logins without counting them while the wallet cannot send messages, and logs the cause', async (t) => {
  const { service, wallet, taken, logIns } = await world(t)
  const shop = await service.merchant({ sandbox: false, allowIps: ['127.0.0.1'] })
  const trackingId = await deposit(service, shop)
  wallet.unpreparedReason = () => 'codes cannot be sent by SMS: SMS_URL is not set'
  const responses = await Promise.all(
    Array.from({ length: 25 }, () => logIn(service, shop, trackingId, 'real@example.com')),
  )
  for (const response of responses) {
    t.equal(response.statusCode, 503)
    t.match(response.json(), { error: { code: 50302 } })
    t.notMatch(response.body, 'SMS_URL')
  }
  t.equal(service.logLines.filter((line) => line.includes('SMS_URL is not set')).length, 25)
  t.notMatch(service.logLines.join(''), new RegExp(`${password}|real@example`))
  t.same([...taken, ...(await logIns())], [], 'the failures of the account are not counted')
  t.equal(
    (await service.collections.load(trackingId)).state.challenges.length,
    0,
    'the logins of the deposit are not counted',
  )
  wallet.unpreparedReason = () => undefined
  t.equal((await logIn(service, shop, trackingId, 'real@example.com')).statusCode, 200)
})

t.test('logs the cause if a gateway fails or the wallet core is unavailable at either step', async (t) => {
  const { service, wallet } = await world(t)
  const shop = await service.merchant({ sandbox: false, allowIps: ['127.0.0.1'] })
  const trackingId = await deposit(service, shop)
  const failing = new Set<string>(['sendCode', 'requestTrust'])
  wallet.before = (call) => {
    if (failing.has(call)) throw new WalletUnavailableError(`the gateway of ${call} returned 500`)
  }
  t.equal((await logIn(service, shop, trackingId, 'real@example.com')).statusCode, 503)
  t.equal(service.logLines.filter((line) => line.includes('the gateway of sendCode returned 500')).length, 1)
  failing.delete('sendCode')
  const token: string = (await logIn(service, shop, trackingId, 'real@example.com')).json().result
  const body = JSON.stringify({ trackingId, token, code: wallet.lastCode() })
  t.equal((await post(service.app, walletPaths.code, body, { key: shop.webApiKey })).statusCode, 503)
  t.equal(service.logLines.filter((line) => line.includes('the gateway of requestTrust returned 500')).length, 1)
})
