import t from 'tap'
import { launchBrowser } from '../launch-browser.js'
import { faultsOf } from './axe.js'
import { context, startDashboard } from './dashboard-service.js'

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const { service, shop, create, openAs, problems } = await startDashboard(t, browser)
  const { directory } = service

  t.test('an administrator sets a limit, and the page of a withdrawal beyond it names the limit', async (t) => {
    const page = await openAs('administrator', `/dashboard/merchants/${shop.id}`)
    const group = page.getByRole('group', { name: 'To the same account' })
    await group.getByLabel('In 24 hours, at most').fill('1')
    await group.getByLabel('In 30 days, sum').fill('5000')
    await page.getByText('Also apply it to the sum of 24 hours').click()
    t.strictSame(await faultsOf(page), [])
    await page.getByRole('button', { name: /^Save/ }).click()
    await page.getByText('The settings are saved.').waitFor()
    t.match(directory.byId(shop.id)?.settings, {
      withdrawalLimits: [
        { per: 'account', hours: 24, count: 1, amountMinor: null },
        { per: 'account', hours: 720, count: null, amountMinor: 5_000_00n },
      ],
      approvalOverDay: true,
    })
    const [first, second] = [await create('withdrawal', '10.00'), await create('withdrawal', '20.00')]
    await service.transfers.act(first, { type: 'Complete' }, context)
    const withdrawal = await openAs('operator', `/dashboard/transfers/${second}`)
    await withdrawal.getByText('Needs approval').first().waitFor()
    await withdrawal.getByText('2 withdrawals to this account in 24 hours, limit 1').first().waitFor()
    t.strictSame(await faultsOf(withdrawal), [])
    await group.getByLabel('In 24 hours, at most').fill('2')
    await page.getByRole('button', { name: /^Save/ }).click()
    await page
      .getByText(/wants to change the limits of withdrawals to: To the same account, 24 hours: 2 withdrawals; /)
      .waitFor()
    t.equal(directory.byId(shop.id)?.settings.withdrawalLimits[0]?.count, 1)
  })

  t.test('no page reported a problem', async (t) => t.strictSame(problems, []))
}
