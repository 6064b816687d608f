import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchBrowser } from '../../browser/launch-browser.js'
import { customer, giveCode, logIn, logInToCode, phone, startWorld } from '../../browser/payment-page-service.js'
import { paymentMethods } from '../../support/test-service.js'

const audit = readFileSync('test/browser/accessibility-audit.js', 'utf8')
const smallest = { width: 320, height: 640 }

/** As it is, at the smallest width (which is what zoom to 400 % leaves of a desktop), and with letters twice as large. */
async function accessible(t: Test, page: Page, what: string): Promise<void> {
  t.strictSame(await page.evaluate(audit), [], what)
  await page.setViewportSize(smallest)
  t.strictSame(await page.evaluate(audit), [], `${what}, 320 px wide`)
  await page.evaluate("document.documentElement.style.fontSize = '200%'")
  t.strictSame(await page.evaluate(audit), [], `${what}, 320 px wide, letters twice as large`)
  await page.evaluate("document.documentElement.style.fontSize = ''")
  await page.setViewportSize(phone)
}

const focusedText = (page: Page) => page.evaluate('document.activeElement.textContent')

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())

  t.test('every step is accessible as far as a program can tell, in both languages', async (t) => {
    const { deposit, open, wallet, service, publicUrl, outbox } = await startWorld(t, browser, {
      paymentMethods: [...paymentMethods, { ...paymentMethods[0]!, code: 7, paidBy: 'manual' }],
    })
    const { url } = await deposit('1234.5', { returnUrl: 'http://127.0.0.1:9/' })
    for (const lang of ['en', 'tr']) {
      const { page, problems } = await open(`${url}?lang=${lang}`)
      await accessible(t, page, `log-in in ${lang}`)
      t.equal(await page.locator('html').getAttribute('lang'), lang)
      await page.locator('button[type=submit]').click()
      await page.locator('#email[aria-invalid]').waitFor()
      t.equal(await page.evaluate('document.activeElement.id'), 'email', 'the first field that is wrong has the focus')
      await accessible(t, page, `errors in ${lang}`)
      t.strictSame(problems, [])
    }

    const { page } = await open(url)
    const role = (name: string) => page.getByRole('textbox', { name, exact: true })
    t.match(await role('E-mail').getAttribute('autocomplete'), 'username')
    t.equal(await page.getByRole('timer').getAttribute('aria-live'), 'off', 'the clock does not speak every second')
    t.equal(await page.getByRole('button').count(), 1)
    await logIn(page, { ...customer, password: '999999' })
    await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
    await accessible(t, page, 'wrong log-in')
    await logIn(page)
    await role('Code').waitFor()
    t.equal(await focusedText(page), 'Enter the code we sent you', 'the next step has the focus')
    t.equal(await role('Code').getAttribute('autocomplete'), 'one-time-code')
    t.equal(await role('Code').getAttribute('inputmode'), 'numeric')
    await giveCode(page, '12345')
    t.match(await page.locator('#code').getAttribute('aria-describedby'), /code-error/)
    await page.locator('#code-error', { hasText: '6 digits' }).waitFor()
    await accessible(t, page, 'code')
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    t.equal(await focusedText(page), 'Confirm that this is you')
    await accessible(t, page, 'device')
    const confirm = new URL(wallet.confirmUrls.at(-1)!).pathname
    const mail = (await open(`${publicUrl}${confirm}`)).page
    await accessible(t, mail, 'confirmation')
    await mail.getByRole('button').click()
    await mail.getByRole('heading', { name: 'Confirmed' }).waitFor()
    await accessible(t, mail, 'confirmed')
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(await focusedText(page), 'Paid', 'the result has the focus')
    t.match(await page.title(), /^Paid – /)
    await accessible(t, page, 'paid')
    outbox.push({ kind: 'sms', to: '+905550000000', code: '123456', link: null, at: '2026-03-01T10:00:00.000Z' })
    await accessible(t, (await open(`${publicUrl}/sandbox/outbox?token=x`)).page, 'outbox')
    await accessible(t, (await open(`${publicUrl}/pay/nothing`)).page, 'a link that leads nowhere')
    const paymentInstructions = [{ paymentMethod: 7, text: 'IBAN DE89 3704 0044 0532 0130 00' }]
    const manual = await deposit('7', { paymentInstructions }, { paymentMethod: 7 })
    await accessible(t, (await open(manual.url)).page, 'how to pay by hand')
    for (const change of ['SendToManualControl', 'Cancel'] as const) {
      const other = await deposit('7')
      const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
      await service.transfers.changeStatus(other.trackingId, change, null, context)
      await accessible(t, (await open(other.url)).page, change)
    }
  })

  t.test('the time left is said now and then, and nothing moves for who asked for that', async (t) => {
    const { deposit, open, wallet } = await startWorld(t, browser)
    const { url } = await deposit()
    const watching = (await open('about:blank')).page
    await watching.clock.install()
    await watching.goto(url)
    t.equal(await watching.getByRole('status').innerText(), '')
    await watching.clock.fastForward('25:30')
    await watching.getByRole('status').filter({ hasText: '5 minutes left to pay' }).waitFor()

    const { page } = await open(url, { reducedMotion: 'reduce' })
    await logInToCode(page)
    await giveCode(page, wallet.lastCode())
    await page.locator('.pulse').waitFor()
    t.equal(await page.evaluate("getComputedStyle(document.querySelector('.pulse')).animationName"), 'none')
  })

  t.test('without JavaScript it says so, and shows the state', async (t) => {
    const { deposit, open, service } = await startWorld(t, browser)
    const { url, trackingId } = await deposit()
    const { page } = await open(url, { javaScriptEnabled: false })
    const text = await page.locator('body').innerText()
    t.match(text, /Payment to Blue Shop[\s\S]*1,234\.50[\s\S]*30 minutes[\s\S]*needs JavaScript/)
    const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
    await service.transfers.complete(trackingId, {}, context)
    await page.getByRole('link', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
  })
}
