import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { type Wallet, WalletUnavailableError } from '../../src/wallet/wallet.js'

export interface WalletUnderTest {
  readonly wallet: Wallet
  openAccount(account: {
    readonly email: string
    readonly password: string
    readonly phone: string
    readonly balanceMinor: bigint
    readonly sandbox: boolean
  }): Promise<number>
  credit(accountNumber: number, amountMinor: bigint): Promise<void>
  balanceMinor(accountNumber: number): Promise<bigint>
  /** Returns the messages, newest first. */
  messagesTo(to: string): Promise<readonly { readonly code: string | null; readonly link: string | null }[]>
}

const password = '481516'
const unknownAccount = 999_999_999_999
const shop = 'merchant'

/** Tests the rules of every implementation of the wallet port. `start` registers its own teardown. */
export function walletContract(t: Test, start: (t: Test) => Promise<WalletUnderTest>): void {
  let opened = 0
  const account = async (subject: WalletUnderTest, balanceMinor = 0n, sandbox = false) => {
    opened++
    const email = `customer${opened}@example.com`
    const phone = `+1555000${String(opened).padStart(4, '0')}`
    return { email, phone, accountNumber: await subject.openAccount({ email, password, phone, balanceMinor, sandbox }) }
  }
  const payment = (accountNumber: number, amountMinor: bigint, trackingId: string = randomUUID()) => ({
    trackingId,
    accountNumber,
    amountMinor,
    description: 'Shop, order 1',
    sandbox: false,
  })

  t.test('a password opens only its own account, and an unknown account is rejected in the same way', async (t) => {
    const subject = await start(t)
    const { wallet } = subject
    const { email, accountNumber } = await account(subject)
    t.same(await wallet.logIn(email, password, shop), { outcome: 'accepted', accountNumber, sandbox: false })
    t.same(await wallet.logIn(` ${email.toUpperCase()} `, password, shop), {
      outcome: 'accepted',
      accountNumber,
      sandbox: false,
    })
    const wrong = [
      [email, '481517'],
      [email, ''],
      [email, `${password} `],
      ['unknown@example.com', password],
      ['', password],
      ['not an email', password],
    ] as const
    for (const [email, password] of wrong) t.equal((await wallet.logIn(email, password, shop)).outcome, 'refused')
    t.ok(Number.isSafeInteger(accountNumber) && accountNumber > 0 && accountNumber < 10 ** 12)
  })

  t.test('a sandbox account pays sandbox deposits only, and a live account pays live deposits only', async (t) => {
    const subject = await start(t)
    const { wallet } = subject
    for (const sandbox of [true, false]) {
      const { email, accountNumber } = await account(subject, 1_000n, sandbox)
      t.match(await wallet.logIn(email, password, shop), { outcome: 'accepted', accountNumber, sandbox })
      const request = payment(accountNumber, 400n)
      const refused = await wallet.collect({ ...request, sandbox: !sandbox })
      t.same(refused, { outcome: 'refused', reason: 'account-blocked' })
      t.equal(await subject.balanceMinor(accountNumber), 1_000n)
      t.match(await wallet.collect({ ...request, sandbox }), { outcome: 'collected', amountMinor: 400n })
      t.equal(await subject.balanceMinor(accountNumber), 600n)
    }
  })

  t.test('sends a code of six digits to the phone, which is valid for its own challenge only', async (t) => {
    const subject = await start(t)
    const { wallet } = subject
    const { phone, accountNumber } = await account(subject)
    const other = await account(subject)
    const challenge = { id: randomUUID(), accountNumber }
    await wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n })
    await wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n })
    const [second, first] = await subject.messagesTo(phone)
    const code = first?.code ?? ''
    t.match(code, /^\d{6}$/)
    t.equal(second?.code, code, 'a repeat sends the same code')
    t.equal(await wallet.verifyCode(challenge, code), true)
    t.equal(await wallet.verifyCode(challenge, code), true, 'a code can be verified repeatedly')
    const next = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
    for (const wrong of [next, '', code.slice(1), `${code}0`, ` ${code}`, `${code}\n`])
      t.equal(await wallet.verifyCode(challenge, wrong), false, JSON.stringify(wrong))
    // Two codes are equal by chance once in a million.
    t.equal(await wallet.verifyCode({ ...challenge, id: randomUUID() }, code), false)
    t.equal(await wallet.verifyCode({ ...challenge, accountNumber: other.accountNumber }, code), false)
    t.same(await subject.messagesTo(other.phone), [])
  })

  t.test('trusts a device for its own account only', async (t) => {
    const subject = await start(t)
    const { wallet } = subject
    const [a, b] = [await account(subject), await account(subject)]
    t.equal(await wallet.isTrusted(a.accountNumber, 'device-1'), false)
    await wallet.trust(a.accountNumber, 'device-1')
    await wallet.trust(a.accountNumber, 'device-1')
    t.equal(await wallet.isTrusted(a.accountNumber, 'device-1'), true)
    t.equal(await wallet.isTrusted(a.accountNumber, 'device-2'), false)
    t.equal(await wallet.isTrusted(b.accountNumber, 'device-1'), false)
  })

  t.test('a request to trust a device sends the link by email and does not trust the device yet', async (t) => {
    const subject = await start(t)
    const { email, accountNumber } = await account(subject)
    const confirmUrl = 'https://pay.example/device/abc?x=1&y=2'
    await subject.wallet.requestTrust({
      accountNumber,
      confirmUrl,
      merchantName: 'Shop <&> "Söhne"',
      amountMinor: 100n,
    })
    t.match(await subject.messagesTo(email), [{ code: null, link: confirmUrl }])
  })

  t.test('collects money once for a trackingId and returns the same result to a repeat', async (t) => {
    const subject = await start(t)
    const { wallet } = subject
    const { accountNumber } = await account(subject, 10_000n)
    const request = payment(accountNumber, 4_050n)
    t.equal(await wallet.collectionOf(request), undefined)
    const first = await wallet.collect(request)
    t.match(first, { outcome: 'collected', amountMinor: 4_050n })
    t.same(await wallet.collect(request), first)
    t.same(await wallet.collect({ ...request, amountMinor: 9_999n, description: 'another' }), first)
    t.same(await wallet.collectionOf(request), first)
    t.equal(await subject.balanceMinor(accountNumber), 5_950n)
  })

  t.test('rejects a collection beyond the balance, and accepts it once the balance suffices', async (t) => {
    const subject = await start(t)
    const { wallet } = subject
    const { accountNumber } = await account(subject, 100n)
    const request = payment(accountNumber, 101n)
    t.same(await wallet.collect(request), { outcome: 'refused', reason: 'insufficient-balance' })
    t.same(await wallet.collect(request), { outcome: 'refused', reason: 'insufficient-balance' })
    t.equal(await wallet.collectionOf(request), undefined, 'no money is taken')
    t.equal(await subject.balanceMinor(accountNumber), 100n)
    await subject.credit(accountNumber, 1n)
    t.match(await wallet.collect(request), { outcome: 'collected', amountMinor: 101n })
    t.equal(await subject.balanceMinor(accountNumber), 0n)
  })

  t.test('does not exceed the balance in 40 concurrent collections from one account', async (t) => {
    const subject = await start(t)
    const { accountNumber } = await account(subject, 2_599n)
    const requests = Array.from({ length: 40 }, () => payment(accountNumber, 100n))
    const results = await Promise.all(requests.map((request) => subject.wallet.collect(request)))
    t.equal(results.filter(({ outcome }) => outcome === 'collected').length, 25)
    t.equal(results.filter(({ outcome }) => outcome === 'refused').length, 15)
    t.equal(await subject.balanceMinor(accountNumber), 99n)
  })

  t.test(
    'takes money once for 20 concurrent collections with one trackingId and returns the same result to all',
    async (t) => {
      const subject = await start(t)
      const { accountNumber } = await account(subject, 1_000n)
      const request = payment(accountNumber, 400n)
      const results = await Promise.all(Array.from({ length: 20 }, () => subject.wallet.collect(request)))
      for (const result of results) t.match(result, { outcome: 'collected', amountMinor: 400n })
      t.equal(await subject.balanceMinor(accountNumber), 600n)
    },
  )

  t.test('collects and sends nothing for an unknown account', async (t) => {
    const { wallet } = await start(t)
    t.same(await wallet.collect(payment(unknownAccount, 1n)), { outcome: 'refused', reason: 'account-blocked' })
    t.equal(await wallet.collectionOf(payment(unknownAccount, 1n)), undefined)
    t.equal(await wallet.isTrusted(unknownAccount, 'device-1'), false)
    const challenge = { id: randomUUID(), accountNumber: unknownAccount }
    await t.rejects(wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n }), WalletUnavailableError)
    await t.rejects(wallet.trust(unknownAccount, 'device-1'), WalletUnavailableError)
  })
}
