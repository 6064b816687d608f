import t from 'tap'
import { startShop } from '../../../examples/merchant/shop.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { enterCode, signInToWallet } from '../../browser/payment-page-service.js'
import { cliJson } from '../../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../../support/processes.js'

interface Wallet {
  readonly email: string
  readonly password: string
  readonly accountNumber: number
}

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())

  t.test('pays in the example shop with only a browser, in the frame and on the pages of the shop', async (t) => {
    const directory = temporaryDirectory(t)
    const service = await startServiceProcess(t, { directory })
    const sandbox = service.sandbox as NonNullable<typeof service.sandbox> & { readonly wallet: Wallet }
    const { wallet, merchantId } = sandbox
    const shop = await startShop({ baseUrl: service.baseUrl, credentials: sandbox, port: 0 })
    t.teardown(() => shop.close())
    const addresses = ['--callback-url', `${shop.url}/callbacks`, '--return-url', `${shop.url}/return`]
    await cliJson(directory, 'merchants', 'set', merchantId, ...addresses)

    const context = await browser.newContext({ locale: 'en-GB' })
    context.setDefaultTimeout(60_000)
    t.teardown(() => context.close())
    const outbox = await context.newPage()
    await outbox.goto(`${service.baseUrl}/sandbox/outbox?token=${sandbox.outboxToken}`)
    // The page reloads automatically, and a code is present once its row is.
    const code = async (nth: number) => {
      await outbox
        .locator('tr:has(.code)')
        .nth(nth - 1)
        .waitFor()
      return outbox.locator('.code').first().innerText()
    }

    const page = await context.newPage()
    await page.goto(shop.url)
    await page.getByRole('button', { name: 'Pay on the payment page' }).click()
    const frame = page.frameLocator('iframe')
    await signInToWallet(frame, wallet)
    await frame.getByLabel('Code', { exact: true }).waitFor()
    await enterCode(frame, await code(1))
    await frame.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
    const [mail] = await Promise.all([
      context.waitForEvent('page'),
      outbox.getByRole('link', { name: 'Confirm the device' }).click(),
    ])
    await mail.getByRole('button', { name: 'Yes, it is me' }).click()
    await mail.getByRole('heading', { name: 'Confirmed' }).waitFor()
    await page.locator('#status', { hasText: 'Completed' }).waitFor()

    await page.goto(shop.url)
    await page.getByLabel('Amount').fill('9.99')
    await page.getByRole('button', { name: 'Pay here' }).click()
    await page.getByLabel('Wallet email').fill(wallet.email)
    await page.getByLabel('Password').fill(wallet.password)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Code').fill(await code(2))
    await page.getByRole('button', { name: 'Pay' }).click()
    await page
      .getByText('Paid. The callback will arrive shortly.')
      .or(page.locator('#status', { hasText: 'Completed' }))
      .waitFor()
    const account = await cliJson<{ balance: number }>(directory, 'wallets', 'show', String(wallet.accountNumber))
    t.equal(account.balance, 10_000 - 25 - 9.99)
    t.equal(await service.end('SIGTERM'), 0)
  })
}
