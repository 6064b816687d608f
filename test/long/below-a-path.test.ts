import type { Page } from 'playwright-core'
import t from 'tap'
import { emailOf, nameOf, narrow, signIn, startDashboard } from '../browser/dashboard/dashboard-service.js'
import { createEveryPage, waitUntilLoaded } from '../browser/dashboard/every-page.js'
import { launchBrowser } from '../browser/launch-browser.js'
import { customer, enterCode, signInToCode } from '../browser/payment-page-service.js'
import { startReceiver } from '../callbacks/receiver.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { until } from '../support/until.js'

const path = '/payments'
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const wallet = new MemoryWallet()
  wallet.open(customer.email, customer.password, 10_000_00n)
  const receiver = await startReceiver(t)
  const at = new Date().toISOString()
  const outbox = async () =>
    wallet.confirmUrls.map((link) => ({ kind: 'email', to: customer.email, code: null, link, at }) as const)
  const lira = { code: 'TRY', decimals: 2 } as const
  const settings = { callbackUrl: receiver.url, returnUrl: 'https://shop.example/back?sig=a%20b~c&next=/x/y&flag' }
  const world = await startDashboard(t, browser, settings, Date.now(), lira, { path, wallet, outbox })
  const { service, shop, baseUrl, problems, openBlankAs, openSignedOut, as, create, listed } = world
  const { origin, host } = new URL(baseUrl)

  /** Opens an address, and reports missing files and a blank page. Every link to this host must stay below the path. */
  async function visit(page: Page, address: string, loaded: (page: Page) => Promise<unknown>): Promise<void> {
    page.on('response', (response) => {
      if (response.status() === 404) problems.push(`404 ${response.url()}`)
    })
    await page.goto(address)
    await loaded(page)
    await checkShown(page)
  }

  async function checkShown(page: Page): Promise<void> {
    const addresses = await page.evaluate<string[]>(
      `[...document.querySelectorAll('[href], [src], [action]')].map((each) => each.href || each.src || each.action)`,
    )
    if (addresses.length === 0) problems.push(`${page.url()} has no links`)
    for (const address of addresses)
      if (String(address).startsWith(origin) && !/^\/payments(\/|$)/.test(new URL(address).pathname))
        problems.push(`${page.url()} leads to ${address}`)
    const { length } = await page.locator('body').innerText()
    if (length < 40) problems.push(`${page.url()} is blank`)
    const title = await page.title()
    if (!title.endsWith(host + path)) problems.push(`${page.url()} has the title ${title}`)
  }

  t.test('signs in, changes pages, downloads files and signs out', async (t) => {
    const page = await openSignedOut()
    await signIn(page, emailOf('administrator'))
    await waitUntilLoaded(page)
    await checkShown(page)
    const cookies = (await page.context().cookies()).map(({ name, path }) => [name, path])
    t.same(cookies.sort(), [
      ['transferd', path],
      ['transferd-device', path],
    ])
    await create('native', '15.00')
    await page.getByRole('link', { name: 'Deposits', exact: true }).click()
    await page.waitForURL(`${baseUrl}/dashboard/deposits`)
    await page.getByRole('button', { name: 'CSV' }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('menuitem').first().click()
    t.match((await saved).suggestedFilename(), /\.csv$/)
    await page.goBack()
    await page.waitForURL(`${baseUrl}/dashboard`)
    await page.reload()
    await waitUntilLoaded(page)
    await page.getByRole('button', { name: nameOf('administrator') }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Email address').waitFor()
    t.same(
      (await page.context().cookies()).map(({ name }) => name),
      ['transferd-device'],
    )
    t.strictSame(problems, [])
  })

  t.test('every page of the dashboard loads, wide and narrow', async (t) => {
    const { pages } = await createEveryPage(world)
    for (const [role, address] of pages) {
      const page = await openBlankAs(role)
      await visit(page, `${baseUrl}/dashboard${address === '/' ? '' : address}`, waitUntilLoaded)
      await page.close()
    }
    const page = await openBlankAs('approver', { viewport: narrow })
    await visit(page, `${baseUrl}/dashboard/deposits`, waitUntilLoaded)
    t.strictSame(problems, [])
  })

  t.test('a customer pays, and confirms the device with the link of the email', async (t) => {
    const logo = await (await as('administrator')).upload('PUT', `/merchants/${shop.id}/logo`, 'image/png', png)
    t.equal(logo.status, 200)
    const body = createBody('hosted', shop.secretKey, {}, '20')
    const created = await post(service.app, paths.hosted, body, { key: shop.webApiKey })
    const { url, trackingId, referenceId } = created.json<{ url: string; trackingId: string; referenceId: string }>()
    t.ok(url.startsWith(`${baseUrl}/pay/`))
    const page = await openSignedOut('/pay/unknown')
    await checkShown(page)
    await visit(page, url, () => page.getByLabel('Email').waitFor())
    t.ok(await page.evaluate("document.querySelector('.logo').naturalWidth"), 'the logo is shown')
    await page.getByRole('link', { name: 'Türkçe' }).click()
    await page.getByRole('link', { name: 'English' }).click()
    await signInToCode(page)
    t.same(
      (await page.context().cookies()).map(({ name, path }) => [name, path]),
      [['wallet-device', path]],
    )
    await enterCode(page, wallet.lastCode())
    await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    const mail = await page.context().newPage()
    await visit(mail, `${baseUrl}/sandbox/outbox?token=any`, () => mail.getByText('Sandbox outbox').waitFor())
    const link = await mail.getByRole('link', { name: 'Confirm the device' }).getAttribute('href')
    t.ok(link?.startsWith(`${baseUrl}/device/`))
    await visit(mail, link!, () => mail.getByRole('button', { name: 'Yes, it is me' }).waitFor())
    await mail.getByRole('button', { name: 'Yes, it is me' }).click()
    await mail.getByRole('heading', { name: 'Confirmed' }).waitFor()
    await checkShown(mail)
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    await checkShown(page)
    t.equal(
      await page.getByRole('link', { name: 'Back to Blue Shop' }).getAttribute('href'),
      `${settings.returnUrl}&trackingId=${trackingId}&referenceId=${referenceId}`,
    )
    t.strictSame(problems, [])
  })

  t.test(
    'the API documentation is shown with and without a trailing slash, and describes addresses below the path',
    async (t) => {
      const page = await openSignedOut('/documentation')
      for (const address of ['', '/', '/service', '/service/']) {
        const shown = () => page.locator('.swagger-ui .info .title').waitFor()
        await visit(page, `${baseUrl}/documentation${address}`, shown)
        await page.locator('.opblock').first().waitFor()
      }
      for (const document of ['json', 'openapi-3.0.json', 'service/json']) {
        const described = (await (await fetch(`${baseUrl}/documentation/${document}`)).json()) as {
          info: { title: string }
          servers: { url: string }[]
        }
        t.match(described, { info: { title: host + path }, servers: [{ url: baseUrl }] }, document)
      }
      t.strictSame(problems, [])
    },
  )

  t.test('a callback contains the address of a receipt below the path', async (t) => {
    const operator = await as('operator')
    const stored = await operator.upload<{ receiptUrl: string }>('POST', '/receipts', 'image/png', png)
    const { receiptUrl } = stored.body
    t.ok(receiptUrl.startsWith(`${baseUrl}/receipts/`))
    const trackingId = await create('withdrawal', '33')
    t.match(await operator.send('POST', `/transfers/${trackingId}/claim`, { revision: 0 }), { status: 200 })
    await listed(trackingId)
    const paid = await operator.send('POST', `/withdrawals/complete`, {
      items: [{ trackingId, revision: 1, receiptUrl }],
    })
    t.match(paid, { status: 200 })
    const sent = () => receiver.received.find((callback) => callback.trackingId === trackingId)
    await until(() => sent() !== undefined)
    t.match(sent()?.body, { ReceiptUrl: receiptUrl })
    t.match((await fetch(receiptUrl)).headers.get('content-type'), 'image/png')
  })
}
