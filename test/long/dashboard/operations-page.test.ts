import { randomUUID } from 'node:crypto'
import t from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { context, narrow, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { service, create, openAs, problems, time } = world
  const trackingId = await create('native', '10')
  const page = await openAs('operations', '/dashboard/operations')
  const projections = page.getByRole('region', { name: 'Projections' })
  const row = projections.locator('tr').filter({ hasText: 'transfers' }).first()
  async function choose(action: string): Promise<void> {
    await page.getByRole('button', { name: 'Actions for transfers', exact: true }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }

  t.test('rebuilds a projection, keeps the new version, and switches to it', async (t) => {
    await choose('Rebuild')
    await page
      .getByRole('dialog')
      .getByLabel(/^Keep the new version/)
      .check({ force: true })
    await page.getByRole('dialog').getByRole('button', { name: 'Rebuild' }).click()
    await page.getByText('Rebuilding transfers.').waitFor()
    await row.getByText('New version is ready to switch to:').waitFor()
    await row.getByText('Identical: 1 document compared').waitFor()
    await choose('Switch')
    await page.getByRole('dialog').getByRole('button', { name: 'Switch' }).click()
    await row.getByText('Can be rolled back to the version in use until').waitFor()
    const operations = await world.as('operations')
    const { body } = await operations.get<{ items: { name: string; previous: object | null }[] }>(
      '/operations/projections',
    )
    t.ok(body.items.find(({ name }) => name === 'transfers')!.previous)
  })

  t.test('pauses a projection with a reason that all users see, and resumes it', async (t) => {
    await choose('Pause')
    await page.getByRole('dialog').getByLabel('Reason').fill('The disk is being moved')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await row.getByText(/Paused$/).waitFor()
    const auditor = await openAs('auditor', '/dashboard/operations')
    await auditor.getByText('Some operations: The disk is being moved').waitFor()
    await auditor
      .getByRole('region', { name: 'Projections' })
      .getByText('The disk is being moved', { exact: true })
      .waitFor()
    t.equal(await auditor.getByRole('button', { name: /^Actions for/ }).count(), 0, 'auditors have no actions')
    t.equal(await auditor.getByRole('button', { name: 'Rebuild all…' }).count(), 0)
    await auditor.close()
    await choose('Resume')
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await row.getByText('Up to date').waitFor()
  })

  t.test('shows nodes, and stuck transfers with their next step', async (t) => {
    await page.getByRole('region', { name: 'Nodes' }).waitFor()
    await page.getByText('No stuck transfers').waitFor()
    await service.transfers.act(trackingId, { type: 'SendToManualControl', message: 'needs review' }, context)
    await world.listed(trackingId)
    time.aheadMs += 16 * 60_000
    await page.reload()
    const stuck = page.getByRole('region', { name: 'Stuck transfers' })
    await stuck.getByText('Complete or cancel it').waitFor()
    await stuck.getByRole('link').first().click()
    await page.getByRole('heading', { name: /^Deposit / }).waitFor()
    t.match(page.url(), new RegExp(`/transfers/${trackingId}$`))
    await page.goBack()
  })

  t.test('skips an unreadable event with a reason', async (t) => {
    const stream = `transfer-${randomUUID()}`
    const event = { id: randomUUID(), type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } }
    await service.store.append(stream, 'no_stream', [event])
    await page.reload()
    await page.getByRole('region', { name: 'Unreadable events' }).getByText(`${stream}@0`).waitFor()
    await row.getByText(/Stopped$/).waitFor()
    t.strictSame(await faultsOf(page), [], 'axe, with an unreadable event')
    await page.setViewportSize(narrow)
    t.strictSame(await faultsOf(page), [], 'on a phone')
    await page.getByRole('button', { name: 'Skip…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Skip event' }).click()
    await dialog.getByText('This field is required.').waitFor()
    await dialog.getByLabel('Reason').fill('Written by a program that no longer exists')
    await dialog.getByRole('button', { name: 'Skip event' }).click()
    await page.getByText('The event is skipped.').waitFor()
    await page.getByRole('region', { name: 'Unreadable events' }).waitFor({ state: 'detached' })
    await row.getByText('Up to date').waitFor()
  })

  t.test('operators have no access to operations', async (t) => {
    const operator = await openAs('operator', '/dashboard/operations')
    await operator.getByRole('heading', { name: 'You don’t have access to this page' }).waitFor()
    t.equal(await operator.getByRole('link', { name: 'Operations' }).count(), 0, 'the navigation has no link to it')
    t.equal(await operator.getByRole('region', { name: 'Projections' }).count(), 0)
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
