import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchBrowser } from '../../browser/launch-browser.js'
import {
  customer,
  enterCode,
  phone,
  signInToCode,
  signInToWallet,
  startPaymentPage,
} from '../../browser/payment-page-service.js'
import { manualDeposits, paymentMethods } from '../../support/merchant-requests.js'

const audit = readFileSync('test/browser/accessibility-audit.js', 'utf8')
const smallest = { width: 320, height: 640 }

/**
 * Checks the page at its current width, at the smallest width (a desktop zoomed to 400 %), and with text twice as
 * large.
 */
async function checkPage(t: Test, page: Page, what: string): Promise<void> {
  t.strictSame(await page.evaluate(audit), [], what)
  await page.setViewportSize(smallest)
  t.strictSame(await page.evaluate(audit), [], `${what}, 320 px wide`)
  await page.evaluate("document.documentElement.style.fontSize = '200%'")
  t.strictSame(await page.evaluate(audit), [], `${what}, 320 px wide, text twice as large`)
  await page.evaluate("document.documentElement.style.fontSize = ''")
  await page.setViewportSize(phone)
}

const focusedText = (page: Page) => page.evaluate('document.activeElement.textContent')

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())

  t.test('the accessibility audit finds no faults in any step, in both languages', async (t) => {
    const { deposit, open, wallet, service, publicUrl, outbox } = await startPaymentPage(t, browser, {
      paymentMethods: [...paymentMethods, { ...paymentMethods[0]!, code: 7, paidBy: 'manual' }],
    })
    const { url } = await deposit('1234.5', { returnUrl: 'http://127.0.0.1:9/' })
    for (const lang of ['en', 'tr']) {
      const { page, problems } = await open(`${url}?lang=${lang}`)
      await checkPage(t, page, `sign-in in ${lang}`)
      t.equal(await page.locator('html').getAttribute('lang'), lang)
      await page.locator('button[type=submit]').click()
      await page.locator('#email[aria-invalid]').waitFor()
      t.equal(await page.evaluate('document.activeElement.id'), 'email', 'the first invalid field has the focus')
      await checkPage(t, page, `errors in ${lang}`)
      t.strictSame(problems, [])
    }

    const { page } = await open(url)
    const role = (name: string) => page.getByRole('textbox', { name, exact: true })
    t.match(await role('Email').getAttribute('autocomplete'), 'username')
    t.equal(await page.getByRole('timer').getAttribute('aria-live'), 'off', 'the clock is not announced every second')
    t.equal(await page.getByRole('button').count(), 1)
    await signInToWallet(page, { ...customer, password: '999999' })
    await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
    await checkPage(t, page, 'wrong sign-in')
    await signInToWallet(page)
    await role('Code').waitFor()
    t.equal(await page.evaluate('document.activeElement.id'), 'code', 'the code field has the focus')
    t.equal(await role('Code').getAttribute('autocomplete'), 'one-time-code')
    t.equal(await role('Code').getAttribute('inputmode'), 'numeric')
    await enterCode(page, '12345')
    t.match(await page.locator('#code').getAttribute('aria-describedby'), /code-error/)
    await page.locator('#code-error', { hasText: '6 digits' }).waitFor()
    await checkPage(t, page, 'code')
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    t.equal(await focusedText(page), 'Confirm that this is you')
    await checkPage(t, page, 'device')
    const confirm = new URL(wallet.confirmUrls.at(-1)!).pathname
    const mail = (await open(`${publicUrl}${confirm}`)).page
    await checkPage(t, mail, 'confirmation')
    await mail.getByRole('button').click()
    await mail.getByRole('heading', { name: 'Confirmed' }).waitFor()
    await checkPage(t, mail, 'confirmed')
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(await focusedText(page), 'Paid', 'the result has the focus')
    t.match(await page.title(), /^Paid – /)
    await checkPage(t, page, 'paid')
    outbox.push({ kind: 'sms', to: '+905550000000', code: '123456', link: null, at: '2026-03-01T10:00:00.000Z' })
    await checkPage(t, (await open(`${publicUrl}/sandbox/outbox?token=x`)).page, 'outbox')
    await checkPage(t, (await open(`${publicUrl}/pay/nothing`)).page, 'an unknown link')
    const paymentInstructions = [{ paymentMethod: 7, text: 'IBAN DE89 3704 0044 0532 0130 00' }]
    const manual = await deposit('7', { paymentInstructions }, { paymentMethod: 7 })
    await checkPage(t, (await open(manual.url)).page, 'manual payment')
    const account = { name: 'Blue Shop Ltd', iban: 'DE89370400440532013000' }
    const euro = await startPaymentPage(t, browser, {
      paymentMethods: [{ ...manualDeposits, account }],
      currency: { code: 'EUR', decimals: 2 },
    })
    const scanned = await euro.deposit('7', {}, { paymentMethod: 7 })
    await checkPage(t, (await euro.open(scanned.url)).page, 'manual payment with a code')
    for (const change of ['SendToManualControl', 'Cancel'] as const) {
      const other = await deposit('7')
      const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
      await service.transfers.act(other.trackingId, { type: change, message: null }, context)
      await checkPage(t, (await open(other.url)).page, change)
    }
  })

  t.test('announces the remaining time occasionally, and respects reduced motion', async (t) => {
    const { deposit, open, wallet } = await startPaymentPage(t, browser)
    const { url } = await deposit()
    const watching = (await open('about:blank')).page
    await watching.clock.install()
    await watching.goto(url)
    t.equal(await watching.getByRole('status').innerText(), '')
    await watching.clock.fastForward('25:30')
    await watching.getByRole('status').filter({ hasText: '5 minutes left to pay' }).waitFor()

    const { page } = await open(url, { reducedMotion: 'reduce' })
    await signInToCode(page)
    await enterCode(page, wallet.lastCode())
    await page.locator('.pulse').waitFor()
    t.equal(await page.evaluate("getComputedStyle(document.querySelector('.pulse')).animationName"), 'none')
  })

  t.test('without JavaScript the page shows a notice and the state of the payment', async (t) => {
    const { deposit, open, service } = await startPaymentPage(t, browser)
    const { url, trackingId } = await deposit()
    const { page } = await open(url, { javaScriptEnabled: false })
    const text = await page.locator('body').innerText()
    t.match(text, /Payment to Blue Shop[\s\S]*1,234\.50[\s\S]*30 minutes[\s\S]*needs JavaScript/)
    const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    await page.getByRole('link', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
  })
}
