import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { fileIn } from '../../../src/audit/evidence/zip.js'
import { IntegrityCommands } from '../../../src/commands/integrity/integrity-commands.js'
import { auditKeyOf } from '../../../src/operations/audit/audit-files.js'
import { context, nameOf, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'
import { sealLog } from '../../support/seal-log.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { service, create, listed, as, openAs, problems, shop } = world
  const trackingId = await create('native', '10')
  await service.transfers.act(trackingId, { type: 'Complete' }, context)
  await listed(trackingId)

  t.test('an auditor reads the history of a transfer and its state after the first event', async (t) => {
    const page = await openAs('auditor', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('link', { name: 'Audit history' }).click()
    const events = page.getByRole('region', { name: 'Events' })
    await events.getByText('Deposit created').waitFor()
    await page.getByRole('region', { name: 'Current state' }).getByText('Completed', { exact: true }).waitFor()
    await events
      .getByRole('listitem')
      .filter({ hasText: 'Deposit created' })
      .getByRole('button', { name: /^State at this point/ })
      .click()
    await page.getByRole('region', { name: 'State at that time' }).getByText('Pending', { exact: true }).waitFor()
    t.match(page.url(), /[?&]at=\d+/, 'the address contains the log position')
    await page.getByRole('button', { name: 'Show current state' }).click()
    await page.getByRole('region', { name: 'Current state' }).waitFor()
  })

  t.test('every page names the users and the parts of the service that acted, without their identifiers', async (t) => {
    const claimed = await create('withdrawal', '80')
    const { status } = await (await as('operator')).send('POST', `/transfers/${claimed}/claim`, { revision: 0 })
    t.equal(status, 200)
    const ofShop = `/audit?view=merchant&merchantId=${shop.id}`
    for (const path of [`/transfers/${claimed}`, `/audit?view=transfer&id=${claimed}`, ofShop, '/audit?view=actions']) {
      const page = await openAs('auditor', `/dashboard${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await until(page, "document.querySelector('.Loading') === null")
      if (path !== ofShop) await page.getByText(nameOf('operator')).first().waitFor()
      t.notMatch(await page.getByRole('main').innerText(), /\b(user|system|cli|merchant):\S/, path)
    }
  })

  t.test('shows the current settings of a merchant, and its statement from the log', async () => {
    const page = await openAs('auditor', `/dashboard/audit?view=merchant&merchantId=${shop.id}`)
    await page.getByRole('region', { name: 'Current state' }).getByText('Blue Shop').first().waitFor()
    await page.getByRole('radio', { name: 'Statement' }).click()
    await page.getByRole('region', { name: 'Current state' }).getByText('Total').first().waitFor()
  })

  t.test('shows the access of a user', async (t) => {
    const page = await openAs('auditor', '/dashboard/audit?view=user')
    await page.getByRole('button', { name: /Choose a user/ }).click()
    await page.getByRole('option', { name: nameOf('operator') }).click()
    const state = page.getByRole('region', { name: 'Current state' })
    await state.getByText('Two-factor authentication').waitFor()
    await state.getByText('Operator', { exact: true }).waitFor()
    t.match(await state.innerText(), /Merchants\s+Blue Shop/)
  })

  t.test('an auditor requests a disclosure, an administrator approves it, and a package discloses it', async (t) => {
    const paid = await create('withdrawal', '95')
    await listed(paid)
    const path = `/dashboard/audit?view=transfer&id=${paid}`
    const auditor = await openAs('auditor', path)
    const evidence = auditor.getByRole('region', { name: 'Evidence package' })
    await evidence.getByRole('button', { name: 'Request disclosure' }).click()
    const dialog = auditor.getByRole('dialog')
    await dialog.getByText('Account number').click()
    await dialog.getByLabel('Reason').fill('Court order 2026/118')
    await dialog.getByRole('button', { name: 'Request disclosure' }).click()
    await evidence.getByText(`${nameOf('auditor')} requests to disclose: Account number`).waitFor()
    t.equal(await evidence.getByRole('button', { name: 'Approve' }).count(), 0, 'the auditor cannot approve it')

    const administrator = await openAs('administrator', path)
    const request = administrator.getByRole('region', { name: 'Evidence package' })
    await request.getByRole('button', { name: 'Approve' }).click()
    await request.getByText(`${nameOf('administrator')} approved to disclose: Account number`).waitFor()
    const { raw } = service.http.privacy
    const signer = (await auditKeyOf(service.path, raw, service.secretBox))!
    await sealLog(raw, join(service.path, 'audit'), signer)
    await auditor.reload()
    const [file] = await Promise.all([
      auditor.waitForEvent('download'),
      evidence.getByRole('button', { name: 'Create with personal data' }).click(),
    ])
    const { disclosed } = JSON.parse(fileIn(await readFile(await file.path()), 'evidence.json').toString())
    t.ok(disclosed.length > 0)
    for (const { fields } of disclosed) t.match(fields, [{ field: 'accountNumber' }])
  })

  t.test('filters activity by type', async (t) => {
    const page = await openAs('auditor', '/dashboard/audit?view=actions&type=TransferCompleted')
    const rows = page.getByRole('region', { name: 'Activity' }).locator('tbody tr')
    await rows.first().waitFor()
    t.equal(await rows.count(), 1)
    await rows.first().getByRole('link', { name: trackingId }).click()
    await page.getByRole('region', { name: 'Events' }).waitFor()
  })

  t.test('an export contains exactly what its manifest lists', async (t) => {
    const page = await openAs('auditor', `/dashboard/audit?view=export&merchantId=${shop.id}`)
    await page.getByRole('button', { name: 'Prepare export' }).click()
    const manifest = page.getByRole('region', { name: 'Contents' })
    const sha256 = await manifest.locator('li code').first().innerText()
    await create('native', '11')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      manifest.getByRole('link', { name: 'Download', exact: true }).click(),
    ])
    const bytes = await readFile(await download.path())
    t.equal(createHash('sha256').update(bytes).digest('hex'), sha256, 'later events are not included')
  })

  t.test('while payouts are stopped, every page shows a notice, and auditors get a link to the findings', async (t) => {
    const finding = {
      kind: 'log',
      place: `transfer-${trackingId}@0`,
      leafIndex: 3,
      problem: 'the event differs from the signed one',
    } as const
    const commands = new IntegrityCommands(service.store, () => new Date().toISOString())
    t.equal(await commands.report([finding], 10, context), 1)
    const withdrawal = await create('withdrawal', '70')
    const operator = await openAs('operator', `/dashboard/transfers/${withdrawal}`)
    await operator.getByRole('alert').getByText('Payouts are stopped.').first().waitFor()
    t.equal(
      await operator.getByRole('link', { name: 'View details' }).count(),
      0,
      'operators have no access to the findings',
    )
    await operator.getByRole('heading', { level: 1 }).waitFor()
    t.equal(
      await operator.getByRole('button', { name: 'Claim' }).count(),
      0,
      'actions that would be rejected are not offered',
    )
    const auditor = await openAs('auditor', '/dashboard')
    await auditor.getByRole('link', { name: 'View details' }).waitFor()
  })

  t.test('only auditors have access to the audit page', async (t) => {
    for (const role of ['operator', 'operations'] as const) {
      const page = await openAs(role, '/dashboard/audit')
      await page.getByRole('heading', { name: 'You don’t have access to this page' }).waitFor()
      t.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0, `${role}: the navigation has no link to it`)
    }
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
