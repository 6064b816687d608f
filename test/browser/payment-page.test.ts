import { readFileSync } from 'node:fs'
import t from 'tap'
import { launchBrowser } from './launch-browser.js'
import {
  customer,
  desktop,
  giveCode,
  liveCustomer,
  logIn,
  logInToCode,
  phone,
  startShop,
  startWorld,
} from './payment-page-service.js'
import { until } from './watched-page.js'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())

  t.test('on a phone: wrong password, wrong code, a device confirmed from the e-mail, paid, and back', async (t) => {
    const { deposit, open, wallet, service } = await startWorld(t, browser)
    const { url, trackingId, referenceId, status } = await deposit('1234.5', {
      returnUrl: 'http://127.0.0.1:9/back?a=1',
    })
    const { page, problems } = await open(url, { viewport: phone, isMobile: true, hasTouch: true })
    t.equal(await page.title(), 'Log in to your wallet – Payment to Blue Shop')
    t.match(await page.locator('dl').innerText(), /1,234\.50[\s\S]*(30:00|29:\d\d)[\s\S]*until \d\d:\d\d/)

    await page.getByRole('button', { name: 'Continue' }).click()
    t.match(await page.locator('#email-error').innerText(), /Enter the e-mail address/)
    t.match(await page.locator('#password-error').innerText(), /6 digits/)

    const unknown = 'nobody@example.com'
    const told: string[] = []
    for (const email of [unknown, customer.email]) {
      await logIn(page, { email, password: '000000' })
      await until(page, "document.querySelector('form:has(#password:focus) .trouble')?.textContent")
      told.push(await page.getByRole('alert').innerText())
    }
    t.match(told[0], /is wrong/)
    t.equal(told[0], told[1], 'it does not tell whether there is such an account')

    await logInToCode(page)
    const device = (await page.context().cookies()).map(({ name, httpOnly, sameSite }) => ({
      name,
      httpOnly,
      sameSite,
    }))
    t.same(device, [{ name: 'wallet-device', httpOnly: true, sameSite: 'Strict' }], 'kept by the browser')
    const wrong = wallet.lastCode() === '111111' ? '222222' : '111111'
    await giveCode(page, wrong)
    await page.locator('#code-error', { hasText: 'is wrong' }).waitFor()
    const code = wallet.lastCode()
    await giveCode(page, `${code.slice(0, 3)} ${code.slice(3)}`)

    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    t.equal(await status(), 'Pending')
    const link = new URL(wallet.confirmUrls[0]!)
    // A mail scanner's look.
    for (const method of ['GET', 'HEAD'] as const) await service.app.inject({ method, url: link.pathname })
    await page.getByRole('button', { name: 'I have confirmed' }).click()
    await page.getByRole('alert').filter({ hasText: 'Not confirmed yet' }).waitFor()
    const mail = await page.context().newPage()
    await mail.goto(new URL(link.pathname, url).href)
    t.match(await mail.locator('main').innerText(), /pay Blue Shop[\s\S]*1,234\.50/)
    await mail.getByRole('button', { name: 'Yes, it is me' }).click()
    await mail.getByRole('heading', { name: 'Confirmed' }).waitFor()
    await mail.goto(new URL(link.pathname, url).href)
    await mail.getByRole('heading', { name: 'Already confirmed' }).waitFor()

    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(await status(), 'Completed')
    t.match(
      await page.locator('main').innerText(),
      /You paid TRY.1,234\.50 to Blue Shop[\s\S]*Paid on\s+\d{1,2} \w+ 20\d\d, \d\d:\d\d\s+From account\s+ending in 0000/,
    )
    const back = page.getByRole('link', { name: 'Back to Blue Shop' })
    t.equal(
      await back.getAttribute('href'),
      `http://127.0.0.1:9/back?a=1&trackingId=${trackingId}&referenceId=${referenceId}`,
    )
    await page.reload()
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.strictSame(problems, [])
  })

  t.test('in a frame of another origin: paid, and the shop is told, in words of one shape only', async (t) => {
    const { deposit, open, wallet, trustEverything } = await startWorld(t, browser)
    trustEverything()
    const shop = await startShop(t)
    const live = { sandbox: false, frameAncestors: [shop] }
    const { url, trackingId, referenceId, status } = await deposit('20', live)
    const { page, problems } = await open(`${shop}/?frame=${encodeURIComponent(url)}`, { viewport: desktop })
    const frame = page.frameLocator('iframe')
    await logInToCode(frame, liveCustomer)
    await giveCode(frame, wallet.lastCode())
    await frame.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(await status(), 'Completed')
    const messages = await page.evaluate('window.messages')
    const told = (status: string) => ({
      data: { source: 'transferd', trackingId, referenceId, status },
      origin: new URL(url).origin,
    })
    t.strictSame(messages, [told('Pending'), told('Completed')])
    t.strictSame(problems, [])

    const other = await startShop(t)
    const stranger = await open(`${other}/?frame=${encodeURIComponent((await deposit('20', live)).url)}`)
    await until(stranger.page, "document.querySelector('iframe').contentDocument === null")
    t.equal(
      await stranger.page.frameLocator('iframe').getByLabel('E-mail').count(),
      0,
      'another origin may not frame it',
    )
    t.match(stranger.problems.join(), /frame-ancestors/)
  })

  t.test('the frame of the guide works as pasted, and its example is what is really sent', async (t) => {
    const guide = readFileSync('docs/merchants/hosted.md', 'utf8')
    const [, snippet = ''] = /^```html\n([\s\S]*?)^```$/m.exec(guide) ?? []
    const [, example = ''] = /^```json\n([\s\S]*?)^```$/m.exec(guide) ?? []
    const { deposit, open, wallet, trustEverything, publicUrl } = await startWorld(t, browser)
    trustEverything()
    const { url, trackingId, referenceId } = await deposit('20')
    const pasted = snippet.replace('<the url>', url).replace('https://pay.example.com', publicUrl)
    const shop = await startShop(t, () => pasted)
    const { page } = await open(shop, { viewport: desktop })
    await page.evaluate(
      "addEventListener('message', ({ data }) => sessionStorage.setItem('told', JSON.stringify(data)))",
    )
    const frame = page.frameLocator('iframe')
    await logInToCode(frame)
    await giveCode(frame, wallet.lastCode())
    await page.waitForURL(`${shop}/orders/${referenceId}`)
    const told = JSON.parse(String(await page.evaluate("sessionStorage.getItem('told')"))) as object
    t.strictSame(told, { ...(JSON.parse(example) as object), trackingId, referenceId })
  })

  t.test('on a desktop, in Turkish, by keyboard alone', async (t) => {
    const { deposit, open, wallet, trustEverything } = await startWorld(t, browser)
    trustEverything()
    const { url, status } = await deposit()
    const { page, problems } = await open(url, { viewport: desktop, locale: 'tr-TR' })
    t.equal(await page.locator('html').getAttribute('lang'), 'tr')
    t.match(await page.locator('dl').innerText(), /Tutar\s+₺1\.234,50/)
    const focused = () => page.evaluate('document.activeElement.innerText || document.activeElement.id')
    const order: unknown[] = []
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('Tab')
      order.push(await focused())
    }
    t.strictSame(order, ['English', 'Türkçe', 'email'])
    await page.keyboard.type(customer.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type('000000')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'doğru değil' }).waitFor()
    await until(page, "document.activeElement.id === 'password'")
    await page.keyboard.type(customer.password)
    await page.keyboard.press('Enter')
    await until(page, "document.activeElement.textContent === 'Gönderdiğimiz kodu girin'")
    await page.keyboard.press('Tab')
    await page.keyboard.type(wallet.lastCode())
    await page.keyboard.press('Tab')
    t.equal(await focused(), '₺1.234,50 öde')
    await page.keyboard.press('Space')
    await until(page, "document.activeElement.textContent === 'Ödendi'")
    t.equal(await status(), 'Completed')
    t.match(await page.locator('main').innerText(), 'Blue Shop için ₺1.234,50 ödediniz.')
    await page.getByRole('link', { name: 'English' }).click()
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.strictSame(problems, [])
  })

  t.test('a reload and another tab: the step is kept in its tab, and the log decides for both', async (t) => {
    const { deposit, open, wallet, trustEverything } = await startWorld(t, browser)
    trustEverything()
    const { url } = await deposit()
    const { page } = await open(url)
    await logInToCode(page)
    await page.reload()
    await page.getByLabel('Code', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Türkçe' }).click()
    await page.getByRole('heading', { name: 'Gönderdiğimiz kodu girin' }).waitFor()
    await page.getByRole('link', { name: 'English' }).click()
    const tab = await page.context().newPage()
    await tab.goto(url)
    await tab.getByLabel('E-mail').waitFor()
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    await logIn(tab)
    await tab.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(wallet.debits.size, 1)
  })

  t.test('where the browser refuses storage, as in some frames, it is paid all the same', async (t) => {
    const { deposit, open, wallet, trustEverything } = await startWorld(t, browser)
    trustEverything()
    const { url } = await deposit()
    const { page, problems } = await open('about:blank')
    const refusal = "{ get() { throw new DOMException('refused', 'SecurityError') } }"
    await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', ${refusal})`)
    await page.goto(url)
    await logInToCode(page)
    await giveCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.strictSame(problems, [])
  })
}
