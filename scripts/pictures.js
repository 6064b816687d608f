// npm run docs:pictures: docs/images/payment-page.png, three steps of a payment on the page of a running service.
import { mkdirSync, statSync } from 'node:fs'
import { MerchantClient } from '../dist/examples/merchant/client.js'
import { startService } from '../dist/examples/service.js'
import { launchBrowser } from '../dist/test/browser/browser.js'
import { giveCode, logIn } from '../dist/test/browser/world.js'

const file = 'docs/images/payment-page.png'
const maxBytes = 150_000

const browser = await launchBrowser()
if (!browser) process.exit(1)
const service = await startService()
try {
  const { merchantId, wallet } = service.sandbox
  await service.cli('merchants', 'set', merchantId, '--name', 'Blue Shop')
  const { body } = await new MerchantClient(service.baseUrl, service.sandbox).hostedDeposit('order-1042', '250.00')
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 390, height: 790 } })
  const page = await context.newPage()
  const pictures = []
  const take = async () => pictures.push((await page.screenshot()).toString('base64'))
  const message = async (kind) => (await service.cli('outbox', 'list')).find((each) => each.kind === kind)

  await page.goto(body.url)
  await page.getByLabel('Password', { exact: true }).waitFor()
  await take()
  await logIn(page, wallet)
  await page.getByLabel('Code', { exact: true }).waitFor()
  await take()
  await giveCode(page, (await message('sms')).code)
  await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
  await fetch((await message('email')).link, { method: 'POST' })
  await page.getByRole('heading', { name: /^Paid/ }).waitFor()
  await take()

  const sheet = await browser.newPage({ viewport: { width: 1290, height: 850 } })
  await sheet.setContent(`<body style="margin: 0; padding: 30px; display: flex; gap: 30px; background: #eef1f5">
    ${pictures.map((picture) => `<img style="border-radius: 12px" src="data:image/png;base64,${picture}">`).join('')}`)
  mkdirSync('docs/images', { recursive: true })
  await sheet.screenshot({ path: file })
  const { size } = statSync(file)
  if (size > maxBytes) throw new Error(`${file} has ${size} bytes, more than ${maxBytes}`)
  console.log(`${file}, ${size} bytes`)
} finally {
  await browser.close()
  await service.stop()
}
