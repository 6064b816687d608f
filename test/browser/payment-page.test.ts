import { readFileSync } from 'node:fs'
import t from 'tap'
import { long } from '../support/long.js'
import { manualDeposits } from '../support/merchant-requests.js'
import { readPixels } from '../support/qr-reader.js'
import { faultsOf } from './dashboard/axe.js'
import { launchBrowser } from './launch-browser.js'
import {
  customer,
  desktop,
  enterCode,
  liveCustomer,
  phone,
  signInToCode,
  signInToWallet,
  startPaymentPage,
  startShop,
} from './payment-page-service.js'
import { until } from './watched-page.js'

/** Returns the pixels of a picture and its width. */
const pixelsOf = `async (base64) => {
  const image = new Image()
  image.src = 'data:image/png;base64,' + base64
  await image.decode()
  const canvas = new OffscreenCanvas(image.width, image.height)
  const context = canvas.getContext('2d')
  context.drawImage(image, 0, 0)
  return [Array.from(context.getImageData(0, 0, image.width, image.height).data), image.width]
}`

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const blank = await browser.newPage()
  const readPicture = async (png: Buffer) => {
    const [pixels, width] = await blank.evaluate<[number[], number]>(`(${pixelsOf})('${png.toString('base64')}')`)
    return readPixels(Uint8ClampedArray.from(pixels), width)
  }
  // The other tests take the same steps.
  const inLongForm = { skip: long ? false : 'only in the long form' }

  t.test('pays on a phone after a wrong password, a wrong code and a device confirmation by email', async (t) => {
    const { deposit, open, wallet, service } = await startPaymentPage(t, browser)
    const { url, trackingId, referenceId, status } = await deposit('1234.5', {
      returnUrl: 'http://127.0.0.1:9/back?a=1',
    })
    const { page, problems } = await open(url, { viewport: phone, isMobile: true, hasTouch: true })
    t.equal(await page.title(), `Sign in to your wallet – Payment to Blue Shop · ${new URL(url).host}`)
    t.match(await page.locator('dl').innerText(), /1,234\.50[\s\S]*(30:00|29:\d\d)[\s\S]*until \d\d:\d\d/)

    await page.getByRole('button', { name: 'Continue' }).click()
    t.match(await page.locator('#email-error').innerText(), /Enter the email address/)
    t.match(await page.locator('#password-error').innerText(), /6 digits/)

    const unknown = 'unknown@example.com'
    const messages: string[] = []
    for (const email of [unknown, customer.email]) {
      await signInToWallet(page, { email, password: '000000' })
      await until(page, "document.querySelector('form:has(#password:focus) .failure')?.textContent")
      messages.push(await page.getByRole('alert').innerText())
    }
    t.match(messages[0], /is wrong/)
    t.equal(messages[0], messages[1], 'the message does not reveal whether the account exists')

    await signInToCode(page)
    const device = (await page.context().cookies()).map(({ name, httpOnly, sameSite }) => ({
      name,
      httpOnly,
      sameSite,
    }))
    t.same(device, [{ name: 'wallet-device', httpOnly: true, sameSite: 'Strict' }], 'the browser keeps the cookie')
    const wrong = wallet.lastCode() === '111111' ? '222222' : '111111'
    await enterCode(page, wrong)
    await page.locator('#code-error', { hasText: 'is wrong' }).waitFor()
    const code = wallet.lastCode()
    await enterCode(page, `${code.slice(0, 3)} ${code.slice(3)}`)

    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    t.equal(await status(), 'Pending')
    const link = new URL(wallet.confirmUrls[0]!)
    // Mail scanners open links without a click.
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

  t.test('pays in a frame of another origin, and notifies the shop with messages of a fixed shape', async (t) => {
    const { deposit, open, wallet, trustAllDevices } = await startPaymentPage(t, browser)
    trustAllDevices()
    const shop = await startShop(t)
    const live = { sandbox: false, frameAncestors: [shop] }
    const { url, trackingId, referenceId, status } = await deposit('20', live)
    const { page, problems } = await open(`${shop}/?frame=${encodeURIComponent(url)}`, { viewport: desktop })
    const frame = page.frameLocator('iframe')
    await signInToCode(frame, liveCustomer)
    await enterCode(frame, wallet.lastCode())
    await frame.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(await status(), 'Completed')
    const messages = await page.evaluate('window.messages')
    const message = (status: string) => ({
      data: { source: 'transferd', trackingId, referenceId, status },
      origin: new URL(url).origin,
    })
    t.strictSame(messages, [message('Pending'), message('Completed')])
    t.strictSame(problems, [])

    const other = await startShop(t)
    const foreign = await open(`${other}/?frame=${encodeURIComponent((await deposit('20', live)).url)}`)
    await until(foreign.page, "document.querySelector('iframe').contentDocument === null")
    t.equal(
      await foreign.page.frameLocator('iframe').getByLabel('Email').count(),
      0,
      'other origins cannot frame the page',
    )
    t.match(foreign.problems.join(), /frame-ancestors/)
  })

  t.test(
    'the snippet in the guide works as pasted, and its example equals the message that is sent',
    inLongForm,
    async (t) => {
      const guide = readFileSync('docs/merchants/hosted.md', 'utf8')
      const [, snippet = ''] = /^```html\n([\s\S]*?)^```$/m.exec(guide) ?? []
      const [, example = ''] = /^```json\n([\s\S]*?)^```$/m.exec(guide) ?? []
      const { deposit, open, wallet, trustAllDevices, publicUrl } = await startPaymentPage(t, browser)
      trustAllDevices()
      const { url, trackingId, referenceId } = await deposit('20')
      const pasted = snippet.replace('<the url>', url).replace('https://pay.example.com', publicUrl)
      const shop = await startShop(t, () => pasted)
      const { page } = await open(shop, { viewport: desktop })
      await page.evaluate(
        "addEventListener('message', ({ data }) => sessionStorage.setItem('message', JSON.stringify(data)))",
      )
      const frame = page.frameLocator('iframe')
      await signInToCode(frame)
      await enterCode(frame, wallet.lastCode())
      await page.waitForURL(`${shop}/orders/${referenceId}`)
      const message = JSON.parse(String(await page.evaluate("sessionStorage.getItem('message')"))) as object
      t.strictSame(message, { ...(JSON.parse(example) as object), trackingId, referenceId })
    },
  )

  t.test('pays on a desktop in Turkish with the keyboard alone', inLongForm, async (t) => {
    const { deposit, open, wallet, trustAllDevices } = await startPaymentPage(t, browser)
    trustAllDevices()
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
    // The code can be typed immediately.
    await until(page, "document.activeElement.id === 'code'")
    await page.keyboard.type(wallet.lastCode())
    await page.keyboard.press('Tab')
    t.equal(await focused(), '₺1.234,50 öde')
    await page.keyboard.press('Space')
    await until(page, "document.activeElement.textContent === 'Ödeme tamamlandı'")
    t.equal(await status(), 'Completed')
    t.match(await page.locator('main').innerText(), 'Blue Shop için ₺1.234,50 ödediniz.')
    await page.getByRole('link', { name: 'English' }).click()
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.strictSame(problems, [])
  })

  t.test('a reload keeps the step of its tab, and all tabs show the state in the log', inLongForm, async (t) => {
    const { deposit, open, wallet, trustAllDevices } = await startPaymentPage(t, browser)
    trustAllDevices()
    const { url } = await deposit()
    const { page } = await open(url)
    await signInToCode(page)
    await page.reload()
    await page.getByLabel('Code', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Türkçe' }).click()
    await page.getByRole('heading', { name: 'Gönderdiğimiz kodu girin' }).waitFor()
    await page.getByRole('link', { name: 'English' }).click()
    const tab = await page.context().newPage()
    await tab.goto(url)
    await tab.getByLabel('Email').waitFor()
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    await signInToWallet(tab)
    await tab.getByRole('heading', { name: 'Paid' }).waitFor()
    t.equal(wallet.debits.size, 1)
  })

  t.test('a lost connection is reported only while it is lost', inLongForm, async (t) => {
    const { deposit, open } = await startPaymentPage(t, browser)
    const { page } = await open((await deposit()).url)
    await page.context().setOffline(true)
    await signInToWallet(page)
    const problem = page.getByRole('alert').filter({ hasText: 'No connection' })
    await problem.waitFor()
    await page.context().setOffline(false)
    await problem.waitFor({ state: 'detached' })
    t.equal(await page.getByLabel('Email').inputValue(), customer.email, 'nothing typed is lost')
  })

  t.test('copies the account without gaps, and the reference, in the dark theme', inLongForm, async (t) => {
    const kinds = ['deposit'] as const
    const bank = {
      code: 7,
      name: 'Bank transfer',
      kinds,
      paidBy: 'manual',
      minAmountMinor: 1n,
      maxAmountMinor: 10_000_00n,
    } as const
    const { deposit, open } = await startPaymentPage(t, browser, { paymentMethods: [bank] })
    const paymentInstructions = [{ paymentMethod: 7, text: 'Blue Bank, DE89 3704 0044 0532 0130 00.' }]
    const { url, referenceId } = await deposit('20', { paymentInstructions }, { paymentMethod: 7 })
    const { page, problems } = await open(url, {
      colorScheme: 'dark',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    for (const [n, copied] of ['DE89370400440532013000', referenceId].entries()) {
      await page.getByRole('button', { name: 'Copy' }).nth(n).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      t.equal(await page.evaluate('navigator.clipboard.readText()'), copied)
      await page.getByRole('button', { name: 'Copied' }).waitFor({ state: 'detached' })
    }
    t.equal(await page.evaluate('getComputedStyle(document.body).colorScheme'), 'light dark')
    t.strictSame(problems, [])
  })

  t.test('shows a code that a camera can read, in both themes, and copies the account next to it', async (t) => {
    const account = { name: 'Müller & Söhne Blue Shop GmbH', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' }
    const { deposit, open } = await startPaymentPage(t, browser, {
      paymentMethods: [{ ...manualDeposits, account }],
      currency: { code: 'EUR', decimals: 2 },
    })
    const { url, referenceId } = await deposit('1234.5', {}, { paymentMethod: 7 })
    const lines = ['BCD', '002', '1', 'SCT', account.bic, account.name, account.iban, 'EUR1234.50', '', '', referenceId]
    for (const [colorScheme, viewport] of [
      ['light', desktop],
      ['dark', { width: 360, height: 740 }],
    ] as const) {
      const { page, problems } = await open(url, {
        colorScheme,
        viewport,
        permissions: ['clipboard-read', 'clipboard-write'],
      })
      const drawing = page.getByRole('img', { name: 'QR code of the transfer' })
      t.equal((await readPicture(await drawing.screenshot()))?.content, lines.join('\n'), colorScheme)
      t.strictSame(await faultsOf(page), [], colorScheme)
      t.equal(await page.getByRole('button', { name: 'Copy' }).count(), 4, 'the instructions do not repeat the account')
      await page.getByRole('button', { name: 'Copy' }).nth(1).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      t.equal(await page.evaluate('navigator.clipboard.readText()'), account.iban)
      t.strictSame(problems, [])
    }
  })

  t.test('pays in a browser that blocks storage, as some browsers do in frames', inLongForm, async (t) => {
    const { deposit, open, wallet, trustAllDevices } = await startPaymentPage(t, browser)
    trustAllDevices()
    const { url } = await deposit()
    const { page, problems } = await open('about:blank')
    const blockedStorage = "{ get() { throw new DOMException('blocked', 'SecurityError') } }"
    await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', ${blockedStorage})`)
    await page.goto(url)
    await signInToCode(page)
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    t.strictSame(problems, [])
  })
}
