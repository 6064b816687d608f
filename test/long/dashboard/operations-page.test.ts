import { randomUUID } from 'node:crypto'
import t from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { context, narrow, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
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

  t.test('operations rebuild a projection, and switch to what was built when they have looked at it', async (t) => {
    await choose('Rebuild')
    await page
      .getByRole('dialog')
      .getByLabel(/^Keep what is built/)
      .check({ force: true })
    await page.getByRole('dialog').getByRole('button', { name: 'Rebuild' }).click()
    await page.getByText('The rebuild of transfers begins.').waitFor()
    await row.getByText('Built, waits for a switch:').waitFor()
    await row.getByText('Equal: 1 document compared').waitFor()
    await choose('Switch')
    await page.getByRole('dialog').getByRole('button', { name: 'Switch' }).click()
    await row.getByText('Can be rolled back to what was used until').waitFor()
    const operations = await world.as('operations')
    const { body } = await operations.get<{ items: { name: string; previous: object | null }[] }>(
      '/operations/projections',
    )
    t.ok(body.items.find(({ name }) => name === 'transfers')!.previous)
  })

  t.test('a projection is paused with a reason that everybody reads, and resumed', async (t) => {
    await choose('Pause')
    await page.getByRole('dialog').getByLabel('Reason').fill('The disk is being moved')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await row.getByText(/Paused$/).waitFor()
    const auditor = await openAs('auditor', '/dashboard/operations')
    await auditor.getByText('The disk is being moved').waitFor()
    t.equal(await auditor.getByRole('button', { name: /^Actions for/ }).count(), 0, 'an auditor only looks')
    t.equal(await auditor.getByRole('button', { name: 'Rebuild all…' }).count(), 0)
    await auditor.close()
    await choose('Resume')
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await row.getByText('Up to date').waitFor()
  })

  t.test('who is stuck, and with what: nodes, leases, and a transfer that waits for a decision', async (t) => {
    await page.getByRole('region', { name: 'Nodes' }).waitFor()
    await page.getByText('Nothing is stuck').waitFor()
    await service.transfers.changeStatus(trackingId, 'SendToManualControl', 'to be looked at', context)
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

  t.test('an unreadable event is skipped with a reason', async (t) => {
    const stream = `transfer-${randomUUID()}`
    const event = { id: randomUUID(), type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } }
    await service.store.append(stream, 'no_stream', [event])
    await page.reload()
    await page.getByRole('region', { name: 'Events that cannot be read' }).getByText(`${stream}@0`).waitFor()
    await row.getByText(/Stopped$/).waitFor()
    t.strictSame(await faultsOf(page), [], 'axe, with everything that can be wrong')
    await page.setViewportSize(narrow)
    t.strictSame(await faultsOf(page), [], 'on a phone')
    await page.getByRole('button', { name: 'Skip…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Skip event' }).click()
    await dialog.getByText('This is needed.').waitFor()
    await dialog.getByLabel('Reason').fill('Written by a program that is gone')
    await dialog.getByRole('button', { name: 'Skip event' }).click()
    await page.getByText('The event is skipped.').waitFor()
    await page.getByRole('region', { name: 'Events that cannot be read' }).waitFor({ state: 'detached' })
    await row.getByText('Up to date').waitFor()
  })

  t.test('who is not of operations is told so', async (t) => {
    const operator = await openAs('operator', '/dashboard/operations')
    await operator.getByRole('heading', { name: 'Your role does not have this page' }).waitFor()
    t.equal(await operator.getByRole('link', { name: 'Operations' }).count(), 0, 'nor is it in the navigation')
    t.equal(await operator.getByRole('region', { name: 'Projections' }).count(), 0)
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
