import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { BrowserContextOptions } from 'playwright-core'
import t from 'tap'
import { MerchantClient } from '../../../examples/merchant/merchant-api-client.js'
import type { Role } from '../../../src/domain/user/permissions.js'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { giveCredentials, narrow, wide } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { openContext } from '../../browser/watched-page.js'
import { cliJson, runCli } from '../../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../../support/processes.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  const { sandbox } = first
  const withdrawal = await new MerchantClient(first.baseUrl, sandbox!).withdrawal(
    '1',
    '75.00',
    'DE89370400440532013000',
  )
  const { trackingId } = withdrawal.body.result as { trackingId: string }
  // What it has is sealed as it ends.
  await first.end('SIGTERM')
  const { baseUrl } = await startServiceProcess(t, { directory })
  const problems: string[] = []
  const integrity = '/dashboard/audit?view=integrity'

  async function openAs(role: Role, path: string, options: BrowserContextOptions = {}) {
    const { email, password } = sandbox!.users.find((user) => user.role === role)!
    const context = await openContext(t, browser!, problems, { viewport: wide, ...options })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/dashboard`)
    await giveCredentials(page, email, password)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.goto(`${baseUrl}${path}`)
    return page
  }

  /** As somebody does who has the disk, and not the key. */
  function edit(file: string, statement: string): number {
    const db = new Database(join(directory, 'data', file))
    try {
      return db.prepare(statement).run().changes
    } finally {
      db.close()
    }
  }

  const auditor = await openAs('auditor', `/dashboard/audit?view=story&id=${trackingId}`)
  const payouts = auditor.getByRole('region', { name: 'Payouts' })
  const proof = auditor.getByRole('button', { name: 'Download the proof' })

  t.test('the proof that is downloaded holds for whoever has the key that the page shows', async (t) => {
    const [download] = await Promise.all([auditor.waitForEvent('download'), proof.click()])
    t.equal(download.suggestedFilename(), `proof-${trackingId}.json`)
    const file = join(directory, 'proof.json')
    await download.saveAs(file)
    await auditor.goto(`${baseUrl}${integrity}`)
    await payouts.getByText('Payouts go on').waitFor()
    const { verifierKey: key } = await cliJson<{ verifierKey: string }>(directory, 'audit', 'key')
    await auditor.getByRole('region', { name: 'Checkpoint' }).getByText(key).waitFor()
    const elsewhere = temporaryDirectory(t)
    const { status, stdout } = await runCli(elsewhere, ['audit', 'check', file, '--key', key])
    t.equal(status, 0)
    t.match(stdout, new RegExp(trackingId))
  })

  t.test('an amount is changed in the log: a verification finds it, and payouts stop', async (t) => {
    t.equal(
      edit(
        'events.db',
        `UPDATE events SET body = replace(body, '"7500"', '"97500"') WHERE name = 'transfer-${trackingId}'`,
      ),
      1,
    )
    await auditor.getByRole('button', { name: 'Verify all of it now' }).click()
    await auditor.getByText('The verification begins.').waitFor()
    await payouts.getByText(`transfer-${trackingId}@0`).waitFor()
    await auditor.getByRole('alert').getByText('Payouts are stopped.').waitFor()
    await auditor.getByRole('region', { name: 'Verifications' }).getByText('1 finding').waitFor()
    for (const viewport of [wide, narrow]) {
      await auditor.setViewportSize(viewport)
      await auditor.reload()
      await payouts.getByText(`transfer-${trackingId}@0`).waitFor()
      t.strictSame(await faultsOf(auditor), [], `axe, ${viewport.width} px`)
    }
    const tab = await auditor.getByRole('tab', { name: 'Integrity' }).boundingBox()
    t.ok(tab!.x >= 0 && tab!.x + tab!.width <= narrow.width, 'the chosen tab is seen on a phone')
    t.equal(await auditor.getByRole('button', { name: 'Let payouts go on' }).count(), 0, 'that is not an auditor’s')
    await auditor.setViewportSize(wide)
    await payouts.getByRole('link', { name: `transfer-${trackingId}@0` }).click()
    await proof.click()
    await auditor.getByRole('alert').getByText('so nothing can be proven').waitFor()
  })

  t.test('an administrator lets payouts go on, with a reason and the password', async () => {
    const page = await openAs('administrator', integrity)
    const statement = `UPDATE "c${sessionsTable()}" SET doc = json_set(doc, '$.authenticatedAt', '2026-01-01T00:00:00.000Z')`
    edit('read-models.db', statement)
    await page.getByRole('button', { name: 'Let payouts go on' }).click()
    const dialog = page.getByRole('dialog', { name: /^Let payouts go on/ })
    await dialog.getByRole('button', { name: 'Let payouts go on' }).click()
    await dialog.getByText('This is needed.').waitFor()
    await dialog.getByLabel('Reason').fill('We restored that row ourselves')
    await dialog.getByRole('button', { name: 'Let payouts go on' }).click()
    const asked = page.getByRole('dialog', { name: 'Is it you?' })
    const { password } = sandbox!.users.find(({ role }) => role === 'administrator')!
    await asked.getByLabel('Password', { exact: true }).fill(password)
    await asked.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Last resumed by Sandbox administrator').waitFor()
    await page.getByRole('region', { name: 'Payouts' }).getByText('We restored that row ourselves').waitFor()
    await page.getByText('Payouts are stopped.').waitFor({ state: 'detached' })
    const approver = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await approver.getByRole('button', { name: 'Claim' }).click()
    await approver.getByText('Claimed: it is yours to pay.').waitFor()
  })

  function sessionsTable(): number {
    const db = new Database(join(directory, 'data', 'read-models.db'), { readonly: true })
    try {
      return db.prepare("SELECT id FROM collections WHERE name = 'sessions'").pluck().get() as number
    } finally {
      db.close()
    }
  }

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
