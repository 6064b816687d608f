import { join } from 'node:path'
import { Database } from '@transferd/event-log/sqlite'
import type { BrowserContextOptions } from 'playwright-core'
import t from 'tap'
import type { Role } from '../../../src/domain/user/permissions.js'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { narrow, signIn, wide } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { openContext } from '../../browser/watched-page.js'
import { cliJson, runCli } from '../../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../../support/processes.js'
import { RawMerchantClient } from '../../support/raw-merchant-client.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  const { sandbox } = first
  const withdrawal = await new RawMerchantClient(first.baseUrl, sandbox!).withdrawal(
    '1',
    '75.00',
    'DE89370400440532013000',
  )
  const { trackingId } = withdrawal.body.result as { trackingId: string }
  // A service seals its events when it ends.
  await first.end('SIGTERM')
  const { baseUrl } = await startServiceProcess(t, { directory })
  const problems: string[] = []
  const integrity = '/dashboard/audit?view=integrity'

  async function openAs(role: Role, path: string, options: BrowserContextOptions = {}) {
    const { email, password } = sandbox!.users.find((user) => user.role === role)!
    const context = await openContext(t, browser!, problems, { viewport: wide, ...options })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/dashboard`)
    await signIn(page, email, password)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.goto(`${baseUrl}${path}`)
    return page
  }

  /** Edits a file like an attacker with access to the disk but without the key. */
  function edit(file: string, statement: string): number {
    const db = new Database(join(directory, 'data', file))
    try {
      return db.prepare(statement).run().changes
    } finally {
      db.close()
    }
  }

  const editOf = (from: string, to: string) =>
    `UPDATE events SET body = replace(body, '"${from}"', '"${to}"') WHERE name = 'transfer-${trackingId}'`

  const auditor = await openAs('auditor', `/dashboard/audit?view=story&id=${trackingId}`)
  const payouts = auditor.getByRole('region', { name: 'Payouts' })
  const proof = auditor.getByRole('button', { name: 'Download proof' })

  t.test('the downloaded proof is valid for the key that the page shows', async (t) => {
    const [download] = await Promise.all([auditor.waitForEvent('download'), proof.click()])
    t.equal(download.suggestedFilename(), `proof-${trackingId}.json`)
    const file = join(directory, 'proof.json')
    await download.saveAs(file)
    await auditor.goto(`${baseUrl}${integrity}`)
    await payouts.getByText('Running').waitFor()
    const { verifierKey: key } = await cliJson<{ verifierKey: string }>(directory, 'audit', 'key')
    await auditor.getByRole('region', { name: 'Checkpoint' }).getByText(key).waitFor()
    const elsewhere = temporaryDirectory(t)
    const { status, stdout } = await runCli(elsewhere, ['audit', 'check', file, '--key', key])
    t.equal(status, 0)
    t.match(stdout, new RegExp(trackingId))
  })

  t.test('a verification finds an amount changed in the log, and payouts stop', async (t) => {
    t.equal(edit('events.db', editOf('7500', '97500')), 1)
    await auditor.getByRole('button', { name: 'Verify everything now' }).click()
    await auditor.getByText('The verification has started.').waitFor()
    await payouts.getByText(`transfer-${trackingId}@0`).first().waitFor()
    await auditor.getByRole('alert').getByText('Payouts are stopped.').waitFor()
    await auditor.getByRole('region', { name: 'Verifications' }).getByText('1 finding').waitFor()
    for (const viewport of [wide, narrow]) {
      await auditor.setViewportSize(viewport)
      await auditor.reload()
      await payouts.getByText(`transfer-${trackingId}@0`).first().waitFor()
      t.strictSame(await faultsOf(auditor), [], `axe, ${viewport.width} px`)
    }
    const tab = await auditor.getByRole('tab', { name: 'Integrity' }).boundingBox()
    t.ok(tab!.x >= 0 && tab!.x + tab!.width <= narrow.width, 'the selected tab is visible on a phone')
    t.equal(await auditor.getByRole('button', { name: 'Resume payouts' }).count(), 0, 'auditors cannot resume payouts')
    await auditor.setViewportSize(wide)
    await payouts
      .getByRole('link', { name: `transfer-${trackingId}@0` })
      .first()
      .click()
    await proof.click()
    await auditor.getByRole('alert').getByText('so nothing can be proven').waitFor()
  })

  t.test('an administrator restores the event and resumes payouts with a reason', async () => {
    const page = await openAs('administrator', integrity)
    edit('events.db', editOf('97500', '7500'))
    await page.getByRole('button', { name: 'Resume payouts' }).click()
    const dialog = page.getByRole('dialog', { name: /^Resume payouts/ })
    await dialog.getByRole('button', { name: 'Resume payouts' }).click()
    await dialog.getByText('This field is required.').waitFor()
    await dialog.getByLabel('Reason').fill('We restored that row ourselves')
    await dialog.getByRole('button', { name: 'Resume payouts' }).click()
    await page.getByText('Last resumed by Sandbox administrator').waitFor()
    await page.getByRole('region', { name: 'Payouts' }).getByText('We restored that row ourselves').waitFor()
    await page.getByText('Payouts are stopped.').waitFor({ state: 'detached' })
    const approver = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await approver.getByRole('button', { name: 'Claim' }).click()
    await approver.getByText(/^You claimed /).waitFor()
  })

  t.test('no page caused an error or a forbidden request', async (t) => {
    // The state of the edited transfer cannot be computed.
    const unexpected = problems.filter((problem) => !/^503 .*[/]audit[/]state[?]/.test(problem))
    t.strictSame(unexpected, [])
  })
}
