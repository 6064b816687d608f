// npm run docs:pictures: creates docs/images from a running service. payment-page.png shows three steps of a payment; dashboard-*.png show
// pages of the dashboard with an hour of sample transfers; evidence-*.png show reports of evidence packages in both languages.
import { mkdirSync, statSync } from 'node:fs'
import { startService } from '../dist/examples/example-service.js'
import { fileIn } from '../dist/src/audit/evidence/zip.js'
import { startEvidenceWorld } from '../dist/test/audit/evidence/evidence-scenarios.js'
import { signIn } from '../dist/test/browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../dist/test/browser/launch-browser.js'
import { enterCode, signInToWallet } from '../dist/test/browser/payment-page-service.js'
import { RawMerchantClient } from '../dist/test/support/raw-merchant-client.js'
import { destroyTestService } from '../dist/test/support/test-service.js'

const folder = 'docs/images'
const maxBytes = 180_000

function check(file) {
  const { size } = statSync(file)
  if (size > maxBytes) throw new Error(`${file} has ${size} bytes, more than ${maxBytes}`)
  console.log(`${file}, ${size} bytes`)
}

async function takePaymentPage(browser, service) {
  const file = `${folder}/payment-page.png`
  const { merchantId, wallet } = service.sandbox
  await service.cli('merchants', 'set', merchantId, '--name', 'Blue Shop')
  const { body } = await new RawMerchantClient(service.baseUrl, service.sandbox).hostedDeposit('order-1042', '250.00')
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 390, height: 790 } })
  const page = await context.newPage()
  const pictures = []
  const take = async () => pictures.push((await page.screenshot()).toString('base64'))
  const message = async (kind) => (await service.cli('outbox', 'list')).find((each) => each.kind === kind)

  await page.goto(body.url)
  await page.getByLabel('Password', { exact: true }).waitFor()
  await take()
  await signInToWallet(page, wallet)
  await page.getByLabel('Code', { exact: true }).waitFor()
  await take()
  await enterCode(page, (await message('sms')).code)
  await page.getByRole('heading', { name: 'Confirm that this is you' }).waitFor()
  await fetch((await message('email')).link, { method: 'POST' })
  await page.getByRole('heading', { name: /^Paid/ }).waitFor()
  await take()
  await context.close()

  const sheet = await browser.newPage({ viewport: { width: 1290, height: 850 } })
  await sheet.setContent(`<body style="margin: 0; padding: 30px; display: flex; gap: 30px; background: #eef1f5">
    ${pictures.map((picture) => `<img style="border-radius: 12px" src="data:image/png;base64,${picture}">`).join('')}`)
  await sheet.screenshot({ path: file })
  await sheet.close()
  check(file)
}

/** Takes pages of the dashboard as users of the sandbox see them. */
async function takeDashboard(browser, { baseUrl, sandbox }) {
  const openAs = async (role) => {
    const { email, password } = sandbox.users.find((user) => user.role === role)
    const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1180, height: 640 } })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/dashboard`)
    await signIn(page, email, password)
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    return page
  }
  const take = async (page, name) => {
    const file = `${folder}/dashboard-${name}.png`
    await page.waitForTimeout(settleMs)
    await page.screenshot({ path: file, animations: 'disabled' })
    check(file)
  }
  const go = async (page, path, heading) => {
    await page.goto(`${baseUrl}/dashboard${path}`)
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
  }

  const auditor = await openAs('auditor')
  await auditor.locator('.BarChart-plot').first().waitFor()
  await take(auditor, 'overview')
  await go(auditor, '/deposits', 'Deposits')
  await auditor.locator('tbody tr').first().waitFor()
  await take(auditor, 'deposits')
  await go(auditor, '/deposits?attention=open', 'Deposits')
  await auditor.locator('tbody tr').first().click()
  await auditor.getByRole('heading', { name: /^Deposit / }).waitFor()
  await take(auditor, 'transfer')
  const trackingId = auditor.url().split('/').at(-1)
  await go(auditor, `/audit?view=transfer&id=${trackingId}`, 'Audit')
  await auditor
    .getByRole('listitem')
    .filter({ hasText: 'Deposit created' })
    .getByRole('button', { name: /^State at this point/ })
    .click()
  await auditor.getByRole('heading', { name: 'State at that time' }).waitFor()
  await take(auditor, 'audit')
  await go(auditor, '/audit?view=integrity', 'Audit')
  await auditor.getByRole('button', { name: 'Verify everything now' }).click()
  await auditor.getByText('On request').waitFor()
  await auditor.getByText('The verification has started.').waitFor({ state: 'detached' })
  await take(auditor, 'integrity')

  const approver = await openAs('approver')
  await go(approver, '/pay', 'Pay withdrawals')
  await approver.getByRole('region', { name: /^Withdrawal / }).waitFor()
  await approver.keyboard.press('c')
  await approver.getByText('You claimed').waitFor()
  await take(approver, 'payouts')

  const administrator = await openAs('administrator')
  await go(administrator, '/users', 'Users')
  await take(administrator, 'users')
  await go(administrator, '/callbacks', 'Callbacks')
  await take(administrator, 'callbacks')
  await go(administrator, `/merchants/${sandbox.merchantId}`, 'Blue Shop')
  await take(administrator, 'merchant')
  await go(administrator, '/operations', 'Operations')
  await administrator.getByRole('region', { name: 'Projections' }).locator('tbody tr').first().waitFor()
  await take(administrator, 'operations')
  await go(administrator, `/privacy?merchantId=${sandbox.merchantId}`, 'Privacy')
  await administrator.getByText('Counting').waitFor({ state: 'detached' })
  await take(administrator, 'privacy')
}

/** Takes the reports of four evidence packages as they are printed on A4, in both languages. */
async function takeEvidence(browser) {
  const world = await startEvidenceWorld()
  const personal = ['name', 'account']
  const pictures = [
    ['withdrawal', 'report.html', await world.package(await world.withdrawal(), personal)],
    ['deposit', 'report.tr.html', await world.package(await world.correctedDeposit())],
    ['wallet', 'report.html', await world.package(await world.walletDeposit(), personal)],
    ['erased', 'report.tr.html', await world.package(await world.erasedCustomer())],
  ]
  await destroyTestService(world.service)
  const page = await browser.newPage({ viewport: { width: 700, height: 990 } })
  await page.emulateMedia({ media: 'print' })
  for (const [name, report, bytes] of pictures) {
    const file = `${folder}/evidence-${name}.png`
    await page.setContent(fileIn(bytes, report).toString())
    await page.addStyleTag({ content: 'body { padding: 20px !important }' })
    await page.screenshot({ path: file, fullPage: true })
    check(file)
  }
}

/** Charts are drawn shortly after the text. */
const settleMs = 700

const browser = await launchBrowser()
if (!browser) process.exit(1)
const service = await startService()
try {
  mkdirSync(folder, { recursive: true })
  await service.cli('seed')
  const merchant = new RawMerchantClient(service.baseUrl, service.sandbox)
  for (const [n, amount] of ['75.00', '1200.00', '310.50', '42.00'].entries())
    await merchant.withdrawal(`payout-${n + 1}`, amount, 'DE89370400440532013000')
  await takePaymentPage(browser, service)
  await takeDashboard(browser, service)
  await takeEvidence(browser)
} finally {
  await browser.close()
  await service.stop()
}
