import t from 'tap'
import { WalletOutcomeUnknownError, WalletUnavailableError } from '../../../src/wallet/wallet.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { customer, giveCode, logIn, logInToCode, startWorld } from '../../browser/payment-page-service.js'

const minutes = 60_000
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())

  t.test('a code that is too old, too many wrong ones, too little money: each says what to do next', async (t) => {
    const { deposit, open, wallet, time, trustEverything } = await startWorld(t, browser)
    trustEverything()
    const { url, status } = await deposit('500')
    const { page, problems } = await open(url)
    const alert = (text: string) => page.getByRole('alert').filter({ hasText: text }).waitFor()
    const toCode = () => logInToCode(page)
    await toCode()
    const old = wallet.lastCode()
    time.aheadMs = 6 * minutes
    await giveCode(page, old)
    await alert('no longer valid. Log in again')

    await toCode()
    const code = wallet.lastCode()
    const wrong = code === '111111' ? '222222' : '111111'
    for (let attempt = 1; attempt <= 5; attempt++) {
      await giveCode(page, wrong)
      await page.locator('#code[aria-invalid]').waitFor()
    }
    await giveCode(page, code)
    await alert('Too many wrong codes. Log in again')
    t.equal(await status(), 'Pending')

    wallet.accounts.get(100_000)!.balanceMinor = 499_99n
    await toCode()
    await giveCode(page, wallet.lastCode())
    await alert('not enough money')
    t.equal(await status(), 'Pending')
    await page.reload()
    await page.getByLabel('E-mail').waitFor()
    wallet.accounts.get(100_000)!.balanceMinor = 500_00n
    await toCode()
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(wallet.accounts.get(100_000)!.balanceMinor, 0n)
    t.strictSame(problems, [])
  })

  t.test('a wallet that is away, an outcome nobody knows, another amount', async (t) => {
    const { deposit, open, wallet, trustEverything } = await startWorld(t, browser)
    trustEverything()
    const { url, status } = await deposit('500')
    const { page } = await open(url)
    wallet.before = () => {
      throw new WalletUnavailableError('away')
    }
    await logIn(page)
    await page.getByRole('alert').filter({ hasText: 'not responding right now' }).waitFor()
    wallet.before = (call) => {
      if (call === 'collect' || call === 'collectionOf') throw new WalletOutcomeUnknownError('lost')
    }
    await logInToCode(page)
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Your payment is being checked' }).waitFor()
    t.match(await page.locator('main').innerText(), 'Do not pay again')
    t.equal(await status(), 'ManualControl')

    wallet.before = () => {}
    wallet.taken = () => 95_00n
    const other = await deposit('100')
    await page.goto(other.url)
    await logInToCode(page)
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.match(await page.locator('main').innerText(), /You paid TRY.95\.00[\s\S]*requested was TRY.100\.00/)
  })

  t.test('a confirmation that takes too long: the page says so and begins again', async (t) => {
    const { deposit, open, time, wallet, publicUrl } = await startWorld(t, browser)
    const { url } = await deposit('20')
    const { page } = await open(url)
    await logInToCode(page)
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    time.aheadMs = 11 * minutes
    await page.getByRole('alert').filter({ hasText: 'The confirmation took too long. Log in again' }).waitFor()
    await page.getByLabel('E-mail').waitFor()
    const mail = await page.context().newPage()
    await mail.goto(`${publicUrl}${new URL(wallet.confirmUrls[0]!).pathname}`)
    await mail.getByRole('heading', { name: 'This confirmation link is too old' }).waitFor()
  })

  t.test('a link whose time is over, before and while it is looked at; one that nobody made', async (t) => {
    const { deposit, open, time, publicUrl, service } = await startWorld(t, browser)
    const { url } = await deposit('20', { returnUrl: 'http://127.0.0.1:9/' })
    const watching = await open('about:blank')
    await watching.page.clock.install()
    await watching.page.goto(url)
    await logIn(watching.page, { ...customer, password: '000000' })
    await watching.page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
    time.aheadMs = 30 * minutes
    await watching.page.clock.fastForward('30:00')
    await watching.page.getByRole('heading', { name: 'The time for this payment is over' }).waitFor()
    const answer = await watching.page.goto(url)
    t.equal(answer?.status(), 410)
    t.match(
      await watching.page.locator('main').innerText(),
      /no longer works[\s\S]*start a new payment[\s\S]*reference/,
    )
    await watching.page.getByRole('link', { name: 'Back to Blue Shop' }).waitFor()
    t.strictSame(watching.problems, [])

    const { page } = await open(`${publicUrl}/pay/nothing`)
    t.match(await page.locator('main').innerText(), /does not lead to a payment/)

    time.aheadMs = 0
    const paid = await deposit('20')
    await service.transfers.complete(paid.trackingId, {}, context)
    time.aheadMs = 25 * 60 * minutes
    const late = await page.goto(paid.url)
    t.equal(late?.status(), 410)
    t.notMatch(await page.content(), /Blue Shop|20\.00|reference/i, 'a day later nothing is told any more')
  })

  t.test('what the merchant ends meanwhile is seen by the customer; a lost connection is said', async (t) => {
    const { deposit, open, service } = await startWorld(t, browser)
    const { url, trackingId } = await deposit('20')
    const { page } = await open(url)
    await page.context().setOffline(true)
    await logIn(page)
    await page.getByRole('alert').filter({ hasText: 'no connection' }).waitFor()
    await page.context().setOffline(false)
    await service.transfers.changeStatus(trackingId, 'Cancel', 'secret note of the operator', context)
    await logIn(page)
    await page.getByRole('heading', { name: 'This payment was cancelled' }).waitFor()
    t.notMatch(await page.content(), /secret note/)
  })
}
