import { readFile } from 'node:fs/promises'
import t from 'tap'
import { context, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { service, create, listed, openAs, problems, shop } = world
  const trackingId = await create('native', '10', { userId: 'customer-7', name: 'Ada Canary' })
  await create('native', '11', { userId: 'customer-8' })

  t.test('an administrator exports the data of a customer', async (t) => {
    const page = await openAs('administrator', `/dashboard/privacy?merchantId=${shop.id}`)
    await page.getByLabel('Customer ID', { exact: true }).fill('customer-7')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export data' }).click(),
    ])
    const exported = JSON.parse(await readFile(await download.path(), 'utf8'))
    t.match(exported, { userId: 'customer-7', transfers: [{ trackingId }] })
    t.match(JSON.stringify(exported), /Ada Canary/)
  })

  t.test(
    'an administrator erases the data, but not while a transfer is in progress or without typing the ID again',
    async (t) => {
      const page = await openAs('administrator', `/dashboard/privacy?merchantId=${shop.id}`)
      await page.getByLabel('Customer ID', { exact: true }).fill('customer-7')
      await page.getByRole('button', { name: 'Erase…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Reason').fill('Requested by the customer')
      await dialog.getByLabel('Enter the customer ID again').fill('customer-8')
      await dialog.getByRole('button', { name: 'Erase permanently' }).click()
      await dialog.getByText('This is not the same ID.').waitFor()
      await dialog.getByLabel('Enter the customer ID again').fill('customer-7')
      await dialog.getByRole('button', { name: 'Erase permanently' }).click()
      await dialog.getByRole('alert').getByText(trackingId).waitFor()

      await service.transfers.act(trackingId, { type: 'Complete' }, context)
      await listed(trackingId)
      await dialog.getByRole('button', { name: 'Erase permanently' }).click()
      await page
        .getByRole('dialog', { name: 'Data erased' })
        .getByText('All personal data of this customer is erased.')
        .waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
      const transfer = await openAs('auditor', `/dashboard/transfers/${trackingId}`)
      await transfer.getByRole('heading', { name: /^Deposit / }).waitFor()
      await transfer.getByRole('region', { name: 'Details' }).waitFor()
      t.notMatch(await transfer.content(), /Ada Canary/)
    },
  )

  t.test('an auditor sees how much data is stored, and cannot export or erase it', async (t) => {
    const page = await openAs('auditor', '/dashboard/privacy')
    await page.getByRole('region', { name: 'Stored personal data' }).getByText('Blue Shop').waitFor()
    t.equal(await page.getByRole('button', { name: /^(?:Export|Erase)/ }).count(), 0)
    const operator = await openAs('operator', '/dashboard/privacy')
    await operator.getByRole('heading', { name: 'You don’t have access to this page' }).waitFor()
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
