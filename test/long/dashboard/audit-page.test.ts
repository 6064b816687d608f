import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { IntegrityCommands } from '../../../src/commands/integrity/integrity-commands.js'
import { context, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { service, create, listed, openAs, problems, shop } = world
  const trackingId = await create('native', '10')
  await service.transfers.complete(trackingId, {}, context)
  await listed(trackingId)

  t.test('an auditor reads the history of a transfer, and what it was after its first event', async (t) => {
    const page = await openAs('auditor', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('link', { name: 'Full history' }).click()
    const story = page.getByRole('region', { name: 'What happened, and what bore on it' })
    await story.getByText('Deposit requested').waitFor()
    await page.getByRole('region', { name: 'What it is now' }).getByText('Completed', { exact: true }).waitFor()
    await story
      .getByRole('listitem')
      .filter({ hasText: 'Deposit requested' })
      .getByRole('button', { name: /^As it was then/ })
      .click()
    await page.getByRole('region', { name: 'What it was then' }).getByText('Pending', { exact: true }).waitFor()
    t.match(page.url(), /[?&]at=\d+/, 'the moment is in the address')
    await page.getByRole('button', { name: 'As it is now' }).click()
    await page.getByRole('region', { name: 'What it is now' }).waitFor()
  })

  t.test('a merchant as it is, and its statement by the log', async () => {
    const page = await openAs('auditor', `/dashboard/audit?view=merchant&merchantId=${shop.id}`)
    await page.getByRole('region', { name: 'What it is now' }).getByText('Blue Shop').first().waitFor()
    await page.getByRole('radio', { name: 'Statement' }).click()
    await page.getByRole('region', { name: 'What it is now' }).getByText('Total').first().waitFor()
  })

  t.test('who did what, by kind', async (t) => {
    const page = await openAs('auditor', '/dashboard/audit?view=actions&type=TransferCompleted')
    const rows = page.getByRole('region', { name: 'Who did what' }).locator('tbody tr')
    await rows.first().waitFor()
    t.equal(await rows.count(), 1)
    await rows.first().getByRole('link', { name: trackingId }).click()
    await page.getByRole('region', { name: 'What happened, and what bore on it' }).waitFor()
  })

  t.test('an export holds what its manifest says', async (t) => {
    const page = await openAs('auditor', `/dashboard/audit?view=export&merchantId=${shop.id}`)
    await page.getByRole('button', { name: 'Count what it holds' }).click()
    const manifest = page.getByRole('region', { name: 'What it holds' })
    const sha256 = await manifest.locator('li code').first().innerText()
    await create('native', '11')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      manifest.getByRole('link', { name: 'Download' }).click(),
    ])
    const bytes = await readFile(await download.path())
    t.equal(createHash('sha256').update(bytes).digest('hex'), sha256, 'and nothing that came later')
  })

  t.test('while the log does not verify everybody is told, and an auditor where to look', async (t) => {
    const finding = {
      kind: 'log',
      place: `transfer-${trackingId}@0`,
      leafIndex: 3,
      problem: 'it is another event',
    } as const
    const commands = new IntegrityCommands(service.store, () => new Date().toISOString())
    t.equal(await commands.report([finding], 10, context), 1)
    const withdrawal = await create('withdrawal', '70')
    const operator = await openAs('operator', `/dashboard/transfers/${withdrawal}`)
    await operator.getByRole('alert').getByText('Payouts are stopped.').first().waitFor()
    t.equal(await operator.getByRole('link', { name: 'Look at what was found' }).count(), 0, 'it is not theirs to see')
    await operator.getByRole('heading', { level: 1 }).waitFor()
    t.equal(await operator.getByRole('button', { name: 'Claim' }).count(), 0, 'nor is what would be refused offered')
    const auditor = await openAs('auditor', '/dashboard')
    await auditor.getByRole('link', { name: 'Look at what was found' }).waitFor()
  })

  t.test('who is no auditor is told so', async (t) => {
    for (const role of ['operator', 'operations'] as const) {
      const page = await openAs(role, '/dashboard/audit')
      await page.getByRole('heading', { name: 'Your role does not have this page' }).waitFor()
      t.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0, `${role}: nor is it in the navigation`)
    }
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
