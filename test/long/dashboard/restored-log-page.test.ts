import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { narrow, signIn, wide } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { openContext } from '../../browser/watched-page.js'
import { runCli } from '../../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../../support/processes.js'
import { RawMerchantClient } from '../../support/raw-merchant-client.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  const client = new RawMerchantClient(first.baseUrl, first.sandbox!)
  const withdraw = async (referenceId: string) => {
    const { body } = await client.withdrawal(referenceId, '75.00', 'DE89370400440532013000')
    return (body.result as { trackingId: string }).trackingId
  }
  const [paid, held] = [await withdraw('paid-later'), await withdraw('held')]
  const run = async (args: readonly string[], environment = {}) => {
    const { status, stderr } = await runCli(directory, args, environment)
    if (status !== 0) throw new Error(stderr)
  }
  await run(['transfers', 'manual', held])
  await run(['backup', 'target'])
  await run(['transfers', 'complete', paid])
  await first.end('SIGTERM')
  const checkpoint = join('data', 'audit', 'checkpoint')
  await run(['restore', 'target', '--to', 'restored', '--checkpoint', checkpoint])
  copyFileSync(join(directory, 'data', 'master.key'), join(directory, 'restored', 'master.key'))
  const data = `embedded:${join(directory, 'restored')}`
  const environment = { EVENT_STORE_URL: data, READ_MODEL_URL: data }
  const { baseUrl, sandbox } = await startServiceProcess(t, { directory, environment })
  const problems: string[] = []
  const context = await openContext(t, browser, problems, { viewport: wide })
  const page = await context.newPage()
  const { email, password } = sandbox!.users.find(({ role }) => role === 'administrator')!
  await page.goto(`${baseUrl}/dashboard`)
  await signIn(page, email, password)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

  t.test('the page shows the restore and links to the withdrawals that were payable', async (t) => {
    await page.getByRole('link', { name: 'View details' }).click()
    const payouts = page.getByRole('region', { name: 'Payouts' })
    await payouts.getByText('The log was restored from a backup.').waitFor()
    for (const fact of ['Restored', 'Backup created', 'Time between backup and restore', 'Lost events'])
      await payouts.getByText(fact, { exact: true }).waitFor()
    for (const viewport of [wide, narrow]) {
      await page.setViewportSize(viewport)
      t.strictSame(await faultsOf(page), [], `axe, ${viewport.width} px`)
    }
    await page.setViewportSize(wide)
    await payouts.getByRole('link', { name: 'Withdrawals in manual control' }).click()
    await page.getByRole('row', { name: /held/ }).waitFor()
    t.equal(await page.getByRole('row', { name: /paid-later/ }).count(), 0)
    await page.goBack()
    await payouts.getByRole('link', { name: 'Pending withdrawals' }).click()
    await page.getByRole('row', { name: /paid-later/ }).waitFor()
    t.equal(await page.getByRole('row', { name: /held/ }).count(), 0)
  })

  t.test('the administrator resumes payouts after a reminder to compare them with the bank', async (t) => {
    await page.goto(`${baseUrl}/dashboard/audit?view=integrity`)
    await page.getByRole('button', { name: 'Resume payouts' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resume payouts?' })
    await dialog.getByText(/^Resume only after you have compared the payable withdrawals/).waitFor()
    await dialog.getByLabel('Reason').fill('compared with the statement')
    await dialog.getByRole('button', { name: 'Resume payouts' }).click()
    await page.getByText('Payouts are stopped.').waitFor({ state: 'detached' })
    t.strictSame(problems, [])
  })
}
