import t from 'tap'
import { WalletOutcomeUnknownError, WalletUnavailableError } from '../../../src/wallet/wallet.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import {
  customer,
  enterCode,
  signInToCode,
  signInToWallet,
  startPaymentPage,
} from '../../browser/payment-page-service.js'

const minutes = 60_000
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())

  t.test('explains the next step after an expired code, too many wrong codes and insufficient money', async (t) => {
    const { deposit, open, wallet, time, trustAllDevices } = await startPaymentPage(t, browser)
    trustAllDevices()
    const { url, status } = await deposit('500')
    const { page, problems } = await open(url)
    const alert = (text: string) => page.getByRole('alert').filter({ hasText: text }).waitFor()
    const toCode = () => signInToCode(page)
    await toCode()
    const old = wallet.lastCode()
    time.aheadMs = 6 * minutes
    await enterCode(page, old)
    await alert('no longer valid. Sign in again')

    await toCode()
    const code = wallet.lastCode()
    const wrong = code === '111111' ? '222222' : '111111'
    for (let attempt = 1; attempt <= 5; attempt++) {
      await enterCode(page, wrong)
      await page.locator('#code[aria-invalid]').waitFor()
    }
    await enterCode(page, code)
    await alert('Too many wrong codes. Sign in again')
    t.equal(await status(), 'Pending')

    wallet.accounts.get(100_000)!.balanceMinor = 499_99n
    await toCode()
    await enterCode(page, wallet.lastCode())
    await alert('not enough money')
    t.equal(await status(), 'Pending')
    await page.reload()
    await page.getByLabel('Email').waitFor()
    wallet.accounts.get(100_000)!.balanceMinor = 500_00n
    await toCode()
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(wallet.accounts.get(100_000)!.balanceMinor, 0n)
    t.strictSame(problems, [])
  })

  t.test('handles an unavailable wallet, an unknown outcome and a different amount', async (t) => {
    const { deposit, open, wallet, trustAllDevices } = await startPaymentPage(t, browser)
    trustAllDevices()
    const { url, status } = await deposit('500')
    const { page } = await open(url)
    wallet.before = () => {
      throw new WalletUnavailableError('down')
    }
    await signInToWallet(page)
    await page.getByRole('alert').filter({ hasText: 'not responding right now' }).waitFor()
    wallet.before = (call) => {
      if (call === 'collect' || call === 'collectionOf') throw new WalletOutcomeUnknownError('lost')
    }
    await signInToCode(page)
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Your payment is being checked' }).waitFor()
    t.match(await page.locator('main').innerText(), 'Do not pay again')
    t.equal(await status(), 'ManualControl')

    wallet.before = () => {}
    wallet.taken = () => 95_00n
    const other = await deposit('100')
    await page.goto(other.url)
    await signInToCode(page)
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.match(await page.locator('main').innerText(), /You paid TRY.95\.00[\s\S]*requested amount was TRY.100\.00/)
  })

  t.test('starts over after a confirmation that took too long', async (t) => {
    const { deposit, open, time, wallet, publicUrl } = await startPaymentPage(t, browser)
    const { url } = await deposit('20')
    const { page } = await open(url)
    await signInToCode(page)
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    time.aheadMs = 11 * minutes
    await page.getByRole('alert').filter({ hasText: 'The confirmation took too long. Sign in again' }).waitFor()
    await page.getByLabel('Email').waitFor()
    const mail = await page.context().newPage()
    await mail.goto(`${publicUrl}${new URL(wallet.confirmUrls[0]!).pathname}`)
    await mail.getByRole('heading', { name: 'This confirmation link has expired' }).waitFor()
  })

  t.test('explains unknown and expired links, including a link that expires while the page is open', async (t) => {
    const { deposit, open, time, publicUrl, service } = await startPaymentPage(t, browser)
    const { url } = await deposit('20', { returnUrl: 'http://127.0.0.1:9/' })
    const watching = await open('about:blank')
    await watching.page.clock.install()
    await watching.page.goto(url)
    await signInToWallet(watching.page, { ...customer, password: '000000' })
    await watching.page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
    time.aheadMs = 30 * minutes
    await watching.page.clock.fastForward('30:00')
    await watching.page.getByRole('heading', { name: 'This payment has expired' }).waitFor()
    const answer = await watching.page.goto(url)
    t.equal(answer?.status(), 410)
    t.match(
      await watching.page.locator('main').innerText(),
      /no longer works[\s\S]*start a new payment[\s\S]*reference/,
    )
    await watching.page.getByRole('link', { name: 'Back to Blue Shop' }).waitFor()
    t.strictSame(watching.problems, [])

    const { page } = await open(`${publicUrl}/pay/nothing`)
    t.match(await page.locator('main').innerText(), /Payment not found/)

    time.aheadMs = 0
    const paid = await deposit('20')
    await service.transfers.act(paid.trackingId, { type: 'Complete' }, context)
    time.aheadMs = 25 * 60 * minutes
    const late = await page.goto(paid.url)
    t.equal(late?.status(), 410)
    t.notMatch(await page.content(), /Blue Shop|20\.00|reference/i, 'a day later the page shows nothing of the deposit')
  })

  t.test('shows that the merchant cancelled the deposit, and reports a lost connection', async (t) => {
    const { deposit, open, service } = await startPaymentPage(t, browser)
    const { url, trackingId } = await deposit('20')
    const { page } = await open(url)
    await page.context().setOffline(true)
    await signInToWallet(page)
    await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
    await service.transfers.act(trackingId, { type: 'Cancel', message: 'secret note of the operator' }, context)
    // The page reads the state as soon as it is online.
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'This payment was cancelled' }).waitFor()
    t.notMatch(await page.content(), /secret note/)
  })
}
