import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { deviceIdOf } from '../../src/commands/ids.js'
import type { IssuedCredentials } from '../../src/commands/merchant/merchant-commands.js'
import { paymentStream, transferStream, walletCodesStream } from '../../src/domain/streams.js'
import { needsAttention } from '../../src/domain/transfer/transfer.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { WalletOutcomeUnknownError, WalletUnavailableError } from '../../src/wallet/wallet.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService, type TestService } from '../support/test-service.js'

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

/** Returns functions that send the requests of a merchant's native deposit. */
function flowOf({ app }: TestService, { webApiKey: key, secretKey }: IssuedCredentials) {
  const send = async (url: string, body: object) => {
    const response = await post(app, url, JSON.stringify(body), { key })
    return { status: response.statusCode, body: response.json(), retryAfter: response.headers['retry-after'] }
  }
  return {
    send,
    async create(amountText = '100.50', kind: 'native' | 'hosted' | 'withdrawal' = 'native', userId = '8412') {
      const response = await post(app, paths[kind], createBody(kind, secretKey, { userId }, amountText), { key })
      const body = response.json()
      return String((body.result ?? body).trackingId)
    },
    logIn: (trackingId: string, as = password) =>
      send(walletPaths.logIn, { trackingId, userName: email, password: as }),
    verify: (trackingId: string, token: string, code: string) => send(walletPaths.code, { trackingId, token, code }),
    validate: (trackingId: string, token: string) => send(walletPaths.device, { token, trackingId }),
  }
}

t.test('completes a deposit with a trusted device after login and code, and takes the money once', async (t) => {
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
  t.equal(account.trusted.size, 0, 'opening the link confirms nothing')
  t.same(await service.walletPayments.confirmDevice(link, context), { ok: true })
  t.same(await service.walletPayments.confirmDevice(link, context), { ok: true })
  t.match(await service.walletPayments.deviceConfirmation(link), { state: 'confirmed' })
  const altered = `${link.startsWith('A') ? 'B' : 'A'}${link.slice(1)}`
  t.equal(await service.walletPayments.deviceConfirmation(altered), undefined)
  const done = await flow.validate(trackingId, token)
  t.same(done.body, {
    result: 'Completed',
    targetUrl: null,
    success: true,
    error: null,
    unAuthorizedRequest: false,
    __abp: true,
  })
  t.same((await flow.validate(trackingId, token)).body.result, 'Completed', 'a repeat returns the same result')
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

t.test(
  'reads the payment and the wrong codes once per code, and the transfer only when it can have changed',
  async (t) => {
    const reads: string[] = []
    const { flow, wallet, account, merchant, service } = await scene(t, {
      wrapStore: (store) =>
        new Proxy(store, {
          get(target, name) {
            const value = Reflect.get(target, name)
            if (name !== 'readStream') return typeof value === 'function' ? value.bind(target) : value
            return (stream: string, options: object) => {
              reads.push(stream)
              return target.readStream(stream, options)
            }
          },
        }),
    })
    const trackingId = await flow.create()
    const { transfer } = (await service.transfers.find(trackingId))!
    account.trusted.add(deviceIdOf(createSecretBox(service.masterKey), merchant.id, transfer.userId))
    const { result: token } = (await flow.logIn(trackingId)).body
    reads.length = 0
    t.match(await flow.verify(trackingId, token, wallet.lastCode()), { body: { result: { next_step: 'Completed' } } })
    const times = (stream: string) => reads.filter((read) => read === stream).length
    t.equal(times(paymentStream(trackingId)), 1)
    const accountMac = service.secretBox.mac('wallet account', String(account.accountNumber))
    t.equal(times(walletCodesStream(accountMac)), 1)
    t.equal(times(transferStream(trackingId)), 3, 'at the start, with the recorded collection and with its money')
  },
)

t.test('returns the same response for a wrong password and an unknown account', async (t) => {
  const { flow, service } = await scene(t)
  const trackingId = await flow.create()
  const wrong = await flow.logIn(trackingId, '000000')
  const unknown = await flow.send(walletPaths.logIn, { trackingId, userName: 'unknown@example.com', password })
  t.equal(wrong.status, 400)
  t.match(wrong.body, { success: false, result: null, error: { code: 40006 } })
  t.same(wrong, unknown)
  t.match((await service.transfers.find(trackingId))!.transfer.status, 'Pending')
  t.equal((await flow.logIn(randomUUID())).status, 404)
})

t.test('rejects the sixth code even if it is correct', async (t) => {
  const { wallet, flow, account } = await scene(t)
  const trackingId = await flow.create()
  const token = (await flow.logIn(trackingId)).body.result
  const right = wallet.lastCode()
  const wrong = right === '000000' ? '000001' : '000000'
  for (let n = 0; n < 5; n++) {
    t.match(await flow.verify(trackingId, token, wrong), { status: 400, body: { error: { code: 40010 } } })
  }
  t.match(await flow.verify(trackingId, token, right), {
    status: 400,
    body: { success: false, error: { code: 40011 } },
  })
  t.equal(wallet.compared.length, 5)
  t.equal(account.balanceMinor, 500_00n)
  const again = (await flow.logIn(trackingId)).body.result
  t.equal((await flow.verify(trackingId, again, wallet.lastCode())).status, 200, 'a new login has separate codes')
})

t.test('compares only five of a hundred simultaneous codes', async (t) => {
  const { wallet, flow, service } = await scene(t)
  const trackingId = await flow.create()
  const token = (await flow.logIn(trackingId)).body.result
  const right = wallet.lastCode()
  const guesses = Array.from({ length: 100 }, (_, n) => String((Number(right) + 1 + n) % 1_000_000).padStart(6, '0'))
  const responses = await Promise.all(guesses.map((code) => flow.verify(trackingId, token, code)))
  const codes = responses.map(({ body }) => body.error.code)
  t.equal(codes.filter((code) => code === 40010).length, 5)
  t.equal(codes.filter((code) => code === 40011).length, 95)
  t.equal(wallet.compared.length, 5)
  const { state: payment } = await service.collections.load(trackingId)
  t.equal(payment.challenges[0]?.attempts, 5)
  t.match(await flow.verify(trackingId, token, right), { body: { error: { code: 40011 } } })
})

t.test('accepts one of four simultaneous correct codes and takes the money once', async (t) => {
  const { wallet, flow, account } = await trustedScene(t)
  const trackingId = await flow.create()
  const token = (await flow.logIn(trackingId)).body.result
  const code = wallet.lastCode()
  const responses = await Promise.all(Array.from({ length: 4 }, () => flow.verify(trackingId, token, code)))
  t.equal(responses.filter(({ status }) => status === 200).length, 1)
  for (const { status, body } of responses) {
    if (status !== 200) t.ok([40009, 40905, 40903].includes(body.error.code), String(body.error.code))
  }
  t.equal(wallet.collects, 1)
  t.equal(account.balanceMinor, 500_00n - 100_50n)
  const used = await flow.verify(await flow.create(), token, code)
  t.match(used, { status: 400, body: { error: { code: 40007 } } }, 'the token is not valid for another deposit')
})

/** Returns a scene whose customer already has a trusted device. */
async function trustedScene(t: Test, options: Parameters<typeof startTestService>[0] = {}) {
  const all = await scene(t, options)
  const { merchant, account, service } = all
  const box = createSecretBox(service.masterKey)
  account.trusted.add(deviceIdOf(box, merchant.id, '8412'))
  /** Logs in and sends the correct code. */
  const pay = async (trackingId: string) => {
    const { result } = (await all.flow.logIn(trackingId)).body
    return all.flow.verify(trackingId, result, all.wallet.lastCode())
  }
  const statusOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer
  return { ...all, pay, statusOf }
}

t.test('locks an account for all merchants and all codes after twenty wrong codes', async (t) => {
  const { wallet, flow, service, account, merchant } = await trustedScene(t)
  const other = flowOf(service, await service.merchant())
  const wrongCodes = async (client: typeof flow, times: number) => {
    const trackingId = await client.create()
    const token = (await client.logIn(trackingId)).body.result
    const wrong = wallet.lastCode() === '000000' ? '000001' : '000000'
    for (let n = 0; n < times; n++) t.equal((await client.verify(trackingId, token, wrong)).body.error.code, 40010)
  }
  for (const client of [flow, other, flow, other]) await wrongCodes(client, 5)
  const trackingId = await flow.create()
  const token = (await flow.logIn(trackingId)).body.result
  const locked = await flow.verify(trackingId, token, wallet.lastCode())
  t.match(locked, { status: 429, body: { error: { code: 42903 } } })
  t.ok(Number(locked.retryAfter) > 86_000 && Number(locked.retryAfter) <= 86_400)
  t.equal(wallet.compared.length, 20)
  t.equal(account.balanceMinor, 500_00n)
  wallet
    .open('other@example.com', password, 500_00n)
    .trusted.add(deviceIdOf(createSecretBox(service.masterKey), merchant.id, '8412'))
  const free = await flow.send(walletPaths.logIn, { trackingId, userName: 'other@example.com', password })
  t.equal(
    (await flow.verify(trackingId, free.body.result, wallet.lastCode())).status,
    200,
    'other accounts are not locked',
  )
})

t.test('rejects a token at a different step, transfer or merchant, and after it expires', async (t) => {
  let nowMs = Date.now()
  const { wallet, flow, service } = await scene(t, { clock: () => new Date(nowMs).toISOString() })
  const other = flowOf(service, await service.merchant())
  const [trackingId, second, foreign] = [await flow.create(), await flow.create(), await other.create()]
  const token = (await flow.logIn(trackingId)).body.result
  const code = wallet.lastCode()
  const isBad = (response: object, what: string) =>
    t.match(response, { status: 400, body: { error: { code: 40007 } } }, what)
  isBad(await flow.validate(trackingId, token), 'the token of the first step at the second')
  isBad(await flow.verify(second, token, code), 'the token of another transfer')
  isBad(await other.verify(foreign, token, code), 'the token of another merchant')
  isBad(await flow.verify(trackingId, 'nonsense', code), 'an invalid token')
  for (const response of [await other.verify(trackingId, token, code), await other.logIn(trackingId)]) {
    t.match(response, { status: 404, body: { error: { code: 40402 } } }, 'the transfer of another merchant')
  }
  t.equal(wallet.compared.length, 0, 'no code is compared')
  const device = (await flow.verify(trackingId, token, code)).body.result.token
  isBad(await flow.verify(trackingId, device, code), 'the token of the second step at the first')
  t.match(await other.validate(trackingId, device), { status: 404 })
  t.match(
    await flow.verify(trackingId, token, code),
    { status: 400, body: { error: { code: 40009 } } },
    'a code can be used only once',
  )
  nowMs += 10 * 60_000 + 1_000
  t.match(await flow.validate(trackingId, device), { status: 400, body: { error: { code: 40008 } } })
  const later = (await flow.logIn(trackingId)).body.result
  nowMs += 5 * 60_000
  const late = await flow.verify(trackingId, later, wallet.lastCode())
  t.match(late, { status: 400, body: { error: { code: 40008 } } })
})

t.test('rejects each step if the transfer is not a Pending native deposit', async (t) => {
  let nowMs = Date.now()
  const { flow, service, wallet } = await trustedScene(t, { clock: () => new Date(nowMs).toISOString() })
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  const token = async (trackingId: string) => (await flow.logIn(trackingId)).body.result
  const hosted = await flow.logIn(await flow.create('10', 'hosted'))
  t.match(hosted, { status: 409, body: { error: { code: 40903, details: /hosted/ } } })
  const withdrawal = await flow.logIn(await flow.create('10', 'withdrawal'))
  t.match(withdrawal, { status: 409, body: { error: { code: 40903, details: /withdrawal/ } } })
  for (const status of ['Cancelled', 'Completed', 'ManualControl', 'Failed'] as const) {
    const trackingId = await flow.create()
    const open = await token(trackingId)
    const code = wallet.lastCode()
    if (status === 'Completed') await service.transfers.act(trackingId, { type: 'Complete' }, context)
    else {
      const change = { Cancelled: 'Cancel', ManualControl: 'SendToManualControl', Failed: 'Fail' } as const
      await service.transfers.act(trackingId, { type: change[status], message: null }, context)
    }
    for (const response of [await flow.logIn(trackingId), await flow.verify(trackingId, open, code)]) {
      t.match(response, { status: 409, body: { error: { code: 40903, details: new RegExp(status) } } })
    }
  }
  const trackingId = await flow.create()
  const open = await token(trackingId)
  nowMs += 30 * 60_000
  t.match(await flow.logIn(trackingId), { status: 409, body: { error: { code: 40904 } } })
  t.match(await flow.verify(trackingId, open, wallet.lastCode()), { status: 409, body: { error: { code: 40904 } } })
  t.equal(wallet.collects, 0)
  for (const isSwept of [false, true]) {
    if (isSwept) t.match(await service.transfers.expire(trackingId, context), { accepted: true, changed: true })
    const steps = [
      await flow.logIn(trackingId),
      await flow.verify(trackingId, open, wallet.lastCode()),
      await flow.verify(trackingId, 'no token', '000000'),
      await flow.validate(trackingId, open),
    ]
    for (const step of steps) t.match(step, { status: 409, body: { error: { code: 40904 } } }, `swept: ${isSwept}`)
  }
})

t.test('guesses on other devices do not lock out the customer, and a restart keeps their count', async (t) => {
  const wallet = new MemoryWallet()
  wallet.open(email, password, 500_00n)
  const first = await startTestService({ wallet })
  const merchant = await first.merchant()
  const flow = flowOf(first, merchant)
  t.equal((await flow.logIn(await flow.create())).status, 200)
  const guesser = await flow.create('7.00', 'native', 'guesser')
  const guess = (client: typeof flow, userName: string) =>
    client.send(walletPaths.logIn, { trackingId: guesser, userName, password: '918273' })
  for (const userName of [email, 'ADA@example.com', ' ada@example.com'.trim()]) {
    t.match(await guess(flow, userName), { status: 400, body: { error: { code: 40006 } } })
  }
  t.match(await guess(flow, email), { status: 429, body: { error: { code: 42902 } }, retryAfter: /^1[0-2]$/ })
  for (let n = 0; n < 3; n++) await guess(flow, 'unknown@example.com')
  const [known, unknown] = [await guess(flow, email), await guess(flow, 'unknown@example.com')]
  t.same([known.status, known.body], [unknown.status, unknown.body], 'an unknown email is locked in the same way')
  await first.stop()

  const { path, masterKey } = first
  const second = await startTestService({ wallet, path, masterKey })
  t.teardown(() => destroyTestService(second))
  const again = flowOf(second, merchant)
  t.equal((await guess(again, email)).status, 429)
  t.equal((await again.logIn(guesser)).status, 429, 'the right password is rejected too')
  t.equal((await again.logIn(await again.create())).status, 200, 'the customer can still log in on a known device')
})

t.test('limits the codes of each account, and counts only logins with the right password', async (t) => {
  const taken: number[] = []
  const { flow, service, account } = await scene(t, { takeCode: (number) => (taken.push(number) > 2 ? 7 : 0) })
  const other = flowOf(service, await service.merchant())
  const [mine, theirs] = [await flow.create(), await other.create()]
  t.equal((await flow.logIn(mine)).status, 200)
  t.equal((await other.logIn(theirs, '000000')).status, 400)
  t.equal((await other.logIn(theirs)).status, 200)
  t.match(await flow.logIn(mine), { status: 429, body: { error: { code: 42902 } }, retryAfter: '7' })
  t.same(taken, [account.accountNumber, account.accountNumber, account.accountNumber])
  t.equal((await service.collections.load(mine)).state.challenges.length, 1)
})

t.test('limits other requests, but not polls at one per second', async (t) => {
  const { service, wallet } = await scene(t)
  const merchant = await service.merchant({ rateLimitPerSecond: 1 })
  const flow = flowOf(service, merchant)
  const trackingId = await flow.create()
  const token = (await flow.verify(trackingId, (await flow.logIn(trackingId)).body.result, wallet.lastCode())).body
    .result.token
  // The burst of 5 has 2 requests left, and 2 simultaneous polls are free.
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await flow.validate(trackingId, token)).status)
  t.same(statuses, [200, 200, 200, 200, 429, 429])
  t.equal((await flow.validate(trackingId, 'nonsense')).status, 429, 'a request without a valid token is not a poll')
  t.equal((await flow.send(walletPaths.device, { trackingId })).status, 429, 'a malformed request is not a poll')
})

t.test('leaves the deposit Pending if the balance is too small, and accepts the payment after a top-up', async (t) => {
  const { flow, pay, account, statusOf } = await trustedScene(t)
  const trackingId = await flow.create('500.01')
  t.match(await pay(trackingId), { status: 409, body: { success: false, error: { code: 40906 } } })
  t.equal((await statusOf(trackingId)).status, 'Pending')
  t.equal(account.balanceMinor, 500_00n)
  account.balanceMinor += 1n
  t.match(await pay(trackingId), { status: 200, body: { result: { next_step: 'Completed' } } })
  t.equal((await statusOf(trackingId)).status, 'Completed')
  t.equal(account.balanceMinor, 0n)
})

t.test(
  'completes the deposit with the collected amount, or cancels it if the merchant cancels mismatches',
  async (t) => {
    const { flow, pay, statusOf, wallet, service, account } = await trustedScene(t)
    wallet.taken = (amountMinor) => amountMinor - 50n
    const trackingId = await flow.create()
    t.equal((await pay(trackingId)).body.result.next_step, 'Completed')
    const real = { status: 'Completed', transactionAmountMinor: 100_00n, hasAmountMismatch: true }
    t.match(await statusOf(trackingId), real)
    const strict = await service.merchant({ autoCancelMismatch: true })
    account.trusted.add(deviceIdOf(createSecretBox(service.masterKey), strict.id, '8412'))
    const strictFlow = flowOf(service, strict)
    const cancelled = await strictFlow.create()
    const token = (await strictFlow.logIn(cancelled)).body.result
    const response = await strictFlow.verify(cancelled, token, wallet.lastCode())
    t.match(response, { status: 409, body: { error: { code: 40903, details: /Cancelled/ } } })
    t.match(await statusOf(cancelled), {
      status: 'Cancelled',
      transactionAmountMinor: 100_00n,
      hasAmountMismatch: true,
    })
  },
)

t.test('keeps the money and moves the deposit to ManualControl above the amount for manual review', async (t) => {
  const { service, wallet, account } = await trustedScene(t)
  const merchant = await service.merchant({ manualControlAboveMinor: 100_00n })
  account.trusted.add(deviceIdOf(createSecretBox(service.masterKey), merchant.id, '8412'))
  const flow = flowOf(service, merchant)
  const [exact, above] = [await flow.create('100.00'), await flow.create('100.01')]
  const pay = async (trackingId: string) => {
    const token = (await flow.logIn(trackingId)).body.result
    return flow.verify(trackingId, token, wallet.lastCode())
  }
  t.match(await pay(exact), { status: 200 })
  t.match(await pay(above), { status: 409, body: { error: { code: 40908 } } })
  const headers = { webapikey: merchant.webApiKey }
  const shown = await service.app.inject({ url: `/v1/transfers/${above}`, headers, remoteAddress: '127.0.0.1' })
  t.match(shown.json(), {
    statusDescription: 'ManualControl',
    needsAttention: true,
    lateFunds: 100.01,
    receivedAmount: 100.01,
    transactionAmount: 100.01,
  })
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  await service.transfers.act(above, { type: 'Complete' }, context)
  const done = await service.app.inject({ url: `/v1/transfers/${above}`, headers, remoteAddress: '127.0.0.1' })
  t.match(done.json(), {
    statusDescription: 'Completed',
    needsAttention: false,
    lateFunds: 0,
    transactionAmount: 100.01,
  })
  const events = await service.app.inject({
    url: `/v1/transfers/${above}/events`,
    headers,
    remoteAddress: '127.0.0.1',
  })
  t.match(events.json().items[1], { type: 'LateFundsReceived', data: { receivedAmount: 100.01 } })
})

t.test(
  'moves the deposit to ManualControl if the outcome is unknown, and does not collect the money again',
  async (t) => {
    const { flow, pay, statusOf, wallet } = await trustedScene(t)
    wallet.before = (call) => {
      if (call === 'collect') throw new WalletOutcomeUnknownError('no response in time')
    }
    const trackingId = await flow.create()
    t.match(await pay(trackingId), { status: 409, body: { error: { code: 40908 } } })
    t.match(await statusOf(trackingId), { status: 'ManualControl' })
    wallet.before = () => {}
    t.match(await flow.logIn(trackingId), { status: 409, body: { error: { code: 40903 } } })
    t.equal(wallet.collects, 1)
  },
)

t.test('returns 503 and takes nothing if the wallet is unavailable, and allows a retry', async (t) => {
  const { flow, pay, statusOf, wallet } = await trustedScene(t)
  const trackingId = await flow.create()
  for (const call of ['logIn', 'sendCode', 'verifyCode', 'isTrusted', 'collect'] as const) {
    wallet.before = (now) => {
      if (now === call) throw new WalletUnavailableError('unavailable')
    }
    const response = call === 'logIn' || call === 'sendCode' ? await flow.logIn(trackingId) : await pay(trackingId)
    t.match(response, { status: 503, body: { error: { code: 50302 } }, retryAfter: /^\d+$/ }, call)
  }
  wallet.before = () => {}
  t.match(await statusOf(trackingId), { status: 'Pending' })
  t.match(await pay(trackingId), { status: 200 })
  t.match(await statusOf(trackingId), { status: 'Completed' })
})

t.test('records money for a deposit that ended during the collection, which can then be reopened', async (t) => {
  const { flow, pay, statusOf, wallet, service } = await trustedScene(t)
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  const trackingId = await flow.create()
  wallet.before = async (call) => {
    if (call === 'collect') await service.transfers.act(trackingId, { type: 'Cancel', message: 'manually' }, context)
  }
  t.match(await pay(trackingId), { status: 409, body: { error: { code: 40903, details: /Cancelled/ } } })
  wallet.before = () => {}
  t.match(await statusOf(trackingId), { status: 'Cancelled', transactionAmountMinor: 100_50n })
  const reopened = await service.transfers.act(trackingId, { type: 'Reopen', reason: 'the money arrived' }, context)
  t.match(reopened, { accepted: true, transfer: { status: 'ManualControl', message: 'the money arrived' } })
  const completed = await service.transfers.act(trackingId, { type: 'Complete' }, context)
  t.match(completed, { accepted: true, transfer: { status: 'Completed', transactionAmountMinor: 100_50n } })
  t.equal(needsAttention(await statusOf(trackingId)), false)
})

t.test('does not expire a deposit during collection, and does not collect after the deposit expired', async (t) => {
  let nowMs = Date.now()
  const { flow, pay, statusOf, wallet, service } = await trustedScene(t, { clock: () => new Date(nowMs).toISOString() })
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  const trackingId = await flow.create()
  wallet.before = async (call) => {
    if (call !== 'collect') return
    nowMs += 31 * 60_000
    t.match(await service.transfers.expire(trackingId, context), { accepted: true, changed: false })
  }
  t.match(await pay(trackingId), { status: 200, body: { result: { next_step: 'Completed' } } })
  t.match(await statusOf(trackingId), { status: 'Completed' })
  const late = await flow.create()
  wallet.before = async (call) => {
    if (call === 'isTrusted') nowMs += 31 * 60_000
  }
  t.match(await pay(late), { status: 409, body: { error: { code: 40904 } } })
  t.equal(wallet.collects, 1)
  t.match(await service.transfers.expire(late, context), { accepted: true, changed: true })
})

const wrongs: { readonly [field: string]: readonly unknown[] } = {
  trackingId: [undefined, null, 5, '', 'x', 'urn:uuid:0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60', '../..', [], {}, true],
  userName: [undefined, null, 5, '', 'ada', 'a b@c', `${'x'.repeat(250)}@example.com`, ['a@b'], { $ne: '' }, true],
  password: [
    undefined,
    null,
    734219,
    '',
    '73421',
    '7342190',
    '73421a',
    '７３４２１９',
    ' 73421',
    '734219\n',
    [],
    {},
    true,
  ],
  token: [undefined, null, 5, '', 'x'.repeat(1025), [], {}, true],
  code: [
    undefined,
    null,
    123456,
    '',
    '12345',
    '1234567',
    '12345a',
    '１２３４５',
    '12345½',
    '123456 7',
    ['123456'],
    {},
    true,
  ],
}

const fieldsOf = {
  logIn: ['trackingId', 'userName', 'password'],
  code: ['trackingId', 'token', 'code'],
  device: ['token', 'trackingId'],
}

t.test('accepts an email and a code as customers type them into the form of a merchant', async (t) => {
  const { flow, wallet } = await scene(t)
  const typed = (code: string) => [
    ...[`${code.slice(0, 3)} ${code.slice(3)}`, `${code.slice(0, 3)}-${code.slice(3)}\n`, `\u200b${code}\u00a0`],
    code.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0x660 + Number(digit))),
    code.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  ]
  for (let form = 0; form < typed('123456').length; form++) {
    const trackingId = await flow.create(String(20 + form))
    const login = { trackingId, userName: ` <mailto:${email.toUpperCase()}>\u200b`, password }
    const { result: token } = (await flow.send(walletPaths.logIn, login)).body
    const code = typed(wallet.lastCode())[form]!
    t.match(await flow.verify(trackingId, token, code), { status: 200 }, JSON.stringify(code))
  }
})

t.test('names each field with a wrong or missing value, for every content type', async (t) => {
  const { flow, service, merchant } = await scene(t)
  const trackingId = await flow.create()
  const good = { trackingId, userName: email, password, token: 'x', code: '123456' }
  const before = (await service.log()).length
  for (const [step, fields] of Object.entries(fieldsOf) as [keyof typeof walletPaths, string[]][]) {
    for (const field of fields) {
      for (const value of wrongs[field]!) {
        for (const contentType of ['application/json', 'application/json-patch+json']) {
          const body = JSON.stringify({
            ...Object.fromEntries(Object.entries(good).filter(([name]) => fields.includes(name))),
            [field]: value,
          })
          const response = await post(service.app, walletPaths[step], body, { key: merchant.webApiKey, contentType })
          const what = `${step} ${field} ${JSON.stringify(value)}`.slice(0, 80)
          t.match(response.json(), { success: false, result: null, error: { code: 40001 }, __abp: true }, what)
          t.same(response.json().error.validationErrors[0].members, [field], what)
          t.notOk(
            typeof value === 'string' && value.length > 4 && response.body.includes(value),
            'the response does not repeat the value',
          )
        }
      }
    }
    for (const body of ['', 'null', '[]', '{', `{"trackingId":"${trackingId}","trackingId":"${trackingId}"}`]) {
      const response = await post(service.app, walletPaths[step], body, { key: merchant.webApiKey })
      t.equal(response.statusCode, 400, `${step} ${body}`)
    }
    const plain = await post(service.app, walletPaths[step], '{}', {
      key: merchant.webApiKey,
      contentType: 'text/plain',
    })
    t.equal(plain.statusCode, 415)
    const large = await post(service.app, walletPaths[step], JSON.stringify({ pad: 'x'.repeat(17_000) }), {
      key: merchant.webApiKey,
    })
    t.equal(large.statusCode, 413)
    t.equal((await post(service.app, walletPaths[step], '{}')).statusCode, 401)
    t.equal(
      (await post(service.app, walletPaths[step], '{}', { key: merchant.webApiKey, address: '10.0.0.1' })).statusCode,
      403,
    )
  }
  t.equal((await service.log()).length, before)
  t.same((await service.collections.load(trackingId)).state.challenges, [])
})

t.test('accepts a trackingId in upper case and ignores unknown fields', async (t) => {
  const { flow, wallet, account } = await trustedScene(t)
  const trackingId = await flow.create()
  const shouted = trackingId.toUpperCase()
  const body = { trackingId: shouted, userName: email, password, more: { nested: true } }
  const token = (await flow.send(walletPaths.logIn, body)).body.result
  t.equal((await flow.verify(shouted, token, wallet.lastCode())).status, 200)
  t.equal(account.balanceMinor, 399_50n)
})

t.test('returns 404 for the transfer of another merchant, regardless of the body', async (t) => {
  const { flow, service, wallet } = await scene(t)
  const other = flowOf(service, await service.merchant())
  const trackingId = await flow.create()
  const token = (await flow.logIn(trackingId)).body.result
  const code = wallet.lastCode()
  const device = (await flow.verify(trackingId, token, code)).body.result.token
  const missing = randomUUID()
  const before = await service.store.readStream(`payment-${trackingId}`)
  for (const id of [trackingId, missing]) {
    const responses = [
      await other.logIn(id),
      await other.verify(id, token, code),
      await other.verify(id, device, code),
      await other.validate(id, device),
    ]
    for (const { status, body } of responses) {
      t.equal(status, 404)
      t.match(body, { result: null, success: false, error: { code: 40402 } })
    }
  }
  t.equal((await service.store.readStream(`payment-${trackingId}`)).length, before.length, 'no event is recorded')
})

t.test('writes no password or code to log lines, responses, metrics or files', async (t) => {
  const { flow, service, wallet, pay, account } = await trustedScene(t)
  const canary = '918273'
  const bodies: string[] = []
  const send = flow.send
  const keep = async (url: string, body: object) => {
    const response = await send(url, body)
    bodies.push(JSON.stringify(response.body))
    return response
  }
  const secrets = new Set([canary, password])
  const trackingId = await flow.create()
  await keep(walletPaths.logIn, { trackingId, userName: email, password: canary })
  await keep(walletPaths.logIn, { trackingId, userName: `${canary}`, password: canary })
  wallet.before = (call) => {
    if (call === 'collect' || call === 'logIn') throw new Error('the wallet failed')
  }
  t.equal((await keep(walletPaths.logIn, { trackingId, userName: email, password })).status, 500)
  wallet.before = () => {}
  const token = (await flow.logIn(trackingId)).body.result
  await keep(walletPaths.code, { trackingId, token, code: canary })
  await keep(walletPaths.code, { trackingId, token: `${canary}.${canary}.${canary}`, code: canary })
  wallet.before = (call) => {
    if (call === 'collect') throw new Error('the wallet failed')
  }
  const code = wallet.lastCode()
  t.equal((await keep(walletPaths.code, { trackingId, token, code })).status, 500)
  wallet.before = () => {}
  account.balanceMinor = 0n
  await pay(await flow.create())
  for (const each of wallet.codes.values()) secrets.add(each)
  bodies.push((await service.app.inject('/metrics')).body)

  const files = readdirSync(service.path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
  t.ok(
    files.length >= 2 && files.some((text) => text.includes('WalletCodeAttempted')),
    'the files contain the events of the payment',
  )
  for (const secret of secrets) {
    // Only separate six-digit numbers count, because longer numbers and ids can contain any six digits.
    const alone = new RegExp(`(?<![0-9A-Za-z.-])${secret}(?![0-9A-Za-z-])`)
    for (const text of [...service.logLines, ...bodies, ...files]) t.notMatch(text, alone)
  }
})
