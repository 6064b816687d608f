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
  /** Newest first. */
  messagesTo(to: string): Promise<readonly { readonly code: string | null; readonly link: string | null }[]>
}

const password = '481516'
const nobody = 999_999_999_999
const shop = 'merchant'

/** The rules of every implementation of the wallet port. `start` registers its own teardown. */
export function walletContract(t: Test, start: (t: Test) => Promise<WalletUnderTest>): void {
  let opened = 0
  const account = async (under: WalletUnderTest, balanceMinor = 0n, sandbox = false) => {
    opened++
    const email = `customer${opened}@example.com`
    const phone = `+1555000${String(opened).padStart(4, '0')}`
    return { email, phone, accountNumber: await under.openAccount({ email, password, phone, balanceMinor, sandbox }) }
  }
  const payment = (accountNumber: number, amountMinor: bigint, trackingId: string = randomUUID()) => ({
    trackingId,
    accountNumber,
    amountMinor,
    description: 'Shop, order 1',
    sandbox: false,
  })

  t.test('a password opens only its own account, and unknown accounts are refused in the same way', async (t) => {
    const under = await start(t)
    const { wallet } = under
    const { email, accountNumber } = await account(under)
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
      ['nobody@example.com', password],
      ['', password],
      ['not an e-mail', password],
    ] as const
    for (const [email, password] of wrong) t.equal((await wallet.logIn(email, password, shop)).outcome, 'refused')
    t.ok(Number.isSafeInteger(accountNumber) && accountNumber > 0 && accountNumber < 10 ** 12)
  })

  t.test(
    'a sandbox account is marked and pays sandbox deposits only, and a live account live deposits only',
    async (t) => {
      const under = await start(t)
      const { wallet } = under
      for (const sandbox of [true, false]) {
        const { email, accountNumber } = await account(under, 1_000n, sandbox)
        t.match(await wallet.logIn(email, password, shop), { outcome: 'accepted', accountNumber, sandbox })
        const request = payment(accountNumber, 400n)
        const refused = await wallet.collect({ ...request, sandbox: !sandbox })
        t.same(refused, { outcome: 'refused', reason: 'account-blocked' })
        t.equal(await under.balanceMinor(accountNumber), 1_000n)
        t.match(await wallet.collect({ ...request, sandbox }), { outcome: 'collected', amountMinor: 400n })
        t.equal(await under.balanceMinor(accountNumber), 600n)
      }
    },
  )

  t.test('sends a code of six digits to the phone, which is valid for its own challenge only', async (t) => {
    const under = await start(t)
    const { wallet } = under
    const { phone, accountNumber } = await account(under)
    const other = await account(under)
    const challenge = { id: randomUUID(), accountNumber }
    await wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n })
    await wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n })
    const [second, first] = await under.messagesTo(phone)
    const code = first?.code ?? ''
    t.match(code, /^\d{6}$/)
    t.equal(second?.code, code, 'a repeat sends the same')
    t.equal(await wallet.verifyCode(challenge, code), true)
    t.equal(await wallet.verifyCode(challenge, code), true, 'verifying uses nothing up')
    const next = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
    for (const wrong of [next, '', code.slice(1), `${code}0`, ` ${code}`, `${code}\n`])
      t.equal(await wallet.verifyCode(challenge, wrong), false, JSON.stringify(wrong))
    // Two codes are equal by chance once in a million.
    t.equal(await wallet.verifyCode({ ...challenge, id: randomUUID() }, code), false)
    t.equal(await wallet.verifyCode({ ...challenge, accountNumber: other.accountNumber }, code), false)
    t.same(await under.messagesTo(other.phone), [])
  })

  t.test('trusts a device for its own account only', async (t) => {
    const under = await start(t)
    const { wallet } = under
    const [a, b] = [await account(under), await account(under)]
    t.equal(await wallet.isTrusted(a.accountNumber, 'device-1'), false)
    await wallet.trust(a.accountNumber, 'device-1')
    await wallet.trust(a.accountNumber, 'device-1')
    t.equal(await wallet.isTrusted(a.accountNumber, 'device-1'), true)
    t.equal(await wallet.isTrusted(a.accountNumber, 'device-2'), false)
    t.equal(await wallet.isTrusted(b.accountNumber, 'device-1'), false)
  })

  t.test('a request to trust a device sends the link by email and does not trust the device yet', async (t) => {
    const under = await start(t)
    const { email, accountNumber } = await account(under)
    const confirmUrl = 'https://pay.example/device/abc?x=1&y=2'
    await under.wallet.askToTrust({ accountNumber, confirmUrl, merchantName: 'Shop <&> "Söhne"', amountMinor: 100n })
    t.match(await under.messagesTo(email), [{ code: null, link: confirmUrl }])
  })

  t.test('collects money once for a trackingId and repeats the answer', async (t) => {
    const under = await start(t)
    const { wallet } = under
    const { accountNumber } = await account(under, 10_000n)
    const request = payment(accountNumber, 4_050n)
    t.equal(await wallet.collectionOf(request), undefined)
    const first = await wallet.collect(request)
    t.match(first, { outcome: 'collected', amountMinor: 4_050n })
    t.same(await wallet.collect(request), first)
    t.same(await wallet.collect({ ...request, amountMinor: 9_999n, description: 'another' }), first)
    t.same(await wallet.collectionOf(request), first)
    t.equal(await under.balanceMinor(accountNumber), 5_950n)
  })

  t.test('refuses a collection beyond the balance, and accepts it once the balance suffices', async (t) => {
    const under = await start(t)
    const { wallet } = under
    const { accountNumber } = await account(under, 100n)
    const request = payment(accountNumber, 101n)
    t.same(await wallet.collect(request), { outcome: 'refused', reason: 'insufficient-balance' })
    t.same(await wallet.collect(request), { outcome: 'refused', reason: 'insufficient-balance' })
    t.equal(await wallet.collectionOf(request), undefined, 'no money was taken')
    t.equal(await under.balanceMinor(accountNumber), 100n)
    await under.credit(accountNumber, 1n)
    t.match(await wallet.collect(request), { outcome: 'collected', amountMinor: 101n })
    t.equal(await under.balanceMinor(accountNumber), 0n)
  })

  t.test('answers 40 concurrent collections from one account without exceeding the balance', async (t) => {
    const under = await start(t)
    const { accountNumber } = await account(under, 2_599n)
    const requests = Array.from({ length: 40 }, () => payment(accountNumber, 100n))
    const answers = await Promise.all(requests.map((request) => under.wallet.collect(request)))
    t.equal(answers.filter(({ outcome }) => outcome === 'collected').length, 25)
    t.equal(answers.filter(({ outcome }) => outcome === 'refused').length, 15)
    t.equal(await under.balanceMinor(accountNumber), 99n)
  })

  t.test(
    'takes money once for 20 concurrent collections with one trackingId and gives all the same answer',
    async (t) => {
      const under = await start(t)
      const { accountNumber } = await account(under, 1_000n)
      const request = payment(accountNumber, 400n)
      const answers = await Promise.all(Array.from({ length: 20 }, () => under.wallet.collect(request)))
      for (const answer of answers) t.match(answer, { outcome: 'collected', amountMinor: 400n })
      t.equal(await under.balanceMinor(accountNumber), 600n)
    },
  )

  t.test('collects and sends nothing for an unknown account', async (t) => {
    const { wallet } = await start(t)
    t.same(await wallet.collect(payment(nobody, 1n)), { outcome: 'refused', reason: 'account-blocked' })
    t.equal(await wallet.collectionOf(payment(nobody, 1n)), undefined)
    t.equal(await wallet.isTrusted(nobody, 'device-1'), false)
    const challenge = { id: randomUUID(), accountNumber: nobody }
    await t.rejects(wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n }), WalletUnavailableError)
    await t.rejects(wallet.trust(nobody, 'device-1'), WalletUnavailableError)
  })
}
