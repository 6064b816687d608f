import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser } from '../launch-browser.js'
import { faultsOf } from './axe.js'
import { context, startDashboard } from './dashboard-service.js'

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const { service, create, openAs, problems } = await startDashboard(t, browser)
  const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  const ready = (page: Page, name: string) => page.getByRole('button', { name, disabled: false }).waitFor()
  const moneyOf = async (page: Page) =>
    (await page.locator('.TransferMoney').first().innerText()).replaceAll(/\s+/g, ' ')

  t.test('an operator records with the keyboard that a payout came back, and an approver resolves it', async (t) => {
    const trackingId = await create('withdrawal', '100.00')
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    const { referenceId } = (await service.transfers.find(trackingId))!.transfer
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Record a return…' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Record a return of ₺100.00 of Ada Lovelace' })
    await ready(page, 'Record the return')
    t.equal(await page.evaluate('document.activeElement.name'), 'amountMinor')
    t.strictSame(await faultsOf(page), [])
    await page.keyboard.press('Control+A')
    await page.keyboard.type('60')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: 'NARR: another reason, which the bank describes in words' }).waitFor()
    await page.keyboard.type('AC04')
    await page.keyboard.press('Enter')
    await dialog.getByText('AC04: the account is closed').first().waitFor()
    await dialog
      .getByRole('button', { name: /Return reason/ })
      .and(page.locator(':focus'))
      .waitFor()
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate('document.activeElement.name'), 'reference')
    await page.keyboard.type('RT2611270091')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await waitForText(page, `The return of ${referenceId} is recorded.`)
    await waitForText(page, 'Needs attention')
    await waitForText(
      page,
      /^Some of the paid money came back, and no one has decided about it\. Use one of the buttons/,
    )
    t.match(
      await moneyOf(page),
      /Paid ₺100\.00 Came back ₺60\.00 RT2611270091.*AC04: the account is closed.*₺60\.00 Kept ₺40\.00 Not settled ₺60\.00/,
    )
    await page.locator('.Story').getByText('The bank sent money back: ₺60.00').waitFor()
    await page.locator('.Story').getByText('AC04: the account is closed').waitFor()
    t.strictSame(await faultsOf(page), [])
    t.match((await service.transfers.history(trackingId)).at(-1)?.event, {
      type: 'WithdrawalReturned',
      data: { returnedAmountMinor: 60_00n, reasonCode: 'AC04', reference: 'RT2611270091', receiptUrl: null },
    })
    t.equal(await page.getByRole('button', { name: 'Resolve…' }).count(), 0, 'an operator cannot resolve it')

    const approver = await openAs('approver', '/dashboard/withdrawals?attention=open')
    await approver.getByText(referenceId).first().click()
    await approver.getByRole('button', { name: 'Resolve…' }).click()
    await approver.getByRole('dialog').getByLabel('Reason').fill('The customer was paid in cash')
    const confirm = approver.getByRole('dialog').getByRole('button', { name: 'Resolve', disabled: false })
    await confirm.waitFor()
    await confirm.click()
    await waitForText(approver, `${referenceId} is resolved.`)
    t.match(await moneyOf(approver), /Kept ₺40\.00 Resolved ₺60\.00/)
    t.equal(await approver.getByText('Needs attention').count(), 0)
  })

  t.test('an operator pays it again to a corrected account', async (t) => {
    const trackingId = await create('withdrawal', '80.00')
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    const back = { returnedAmountMinor: 80_00n, reasonCode: 'AC04', reference: 'RT-80' } as const
    await service.transfers.act(trackingId, { type: 'ReturnPayout', ...back }, context)
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Pay again…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Pay Ada Lovelace again' })
    await dialog.getByLabel('Account number').fill('TR940006100519786457009931')
    t.strictSame(await faultsOf(page), [])
    await ready(page, 'Create the withdrawal')
    await dialog.getByRole('button', { name: 'Create the withdrawal' }).click()
    await dialog.waitFor({ state: 'detached' })
    await waitForText(page, 'Paid again')
    await waitForText(page, 'Not paid yet')
    const { transfer } = (await service.transfers.find(trackingId))!
    const repayment = transfer.kind === 'withdrawal' ? transfer.repayments[0]! : undefined
    await page.getByRole('link', { name: repayment!.referenceId }).click()
    await page.waitForURL(`**/transfers/${repayment!.repaymentId}`)
    await page.getByRole('link', { name: 'Show the transfer' }).waitFor()
    t.strictSame(await faultsOf(page), [])
    await service.transfers.act(repayment!.repaymentId, { type: 'Complete' }, context)
    await page.getByRole('link', { name: 'Show the transfer' }).click()
    await waitForText(page, 'Second payment ended')
  })

  t.test('more than was paid is rejected with the amount that is left, in the language of the page', async (t) => {
    const trackingId = await create('withdrawal', '100.00')
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    const back = { returnedAmountMinor: 70_00n, reasonCode: 'MS03', reference: 'RT1' } as const
    await service.transfers.act(trackingId, { type: 'ReturnPayout', ...back }, context)
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Record a return…' }).click()
    const dialog = page.getByRole('dialog')
    t.equal(await dialog.getByLabel('Amount that came back (TRY)').inputValue(), '30.00', 'the rest is proposed')
    await dialog.getByLabel('Amount that came back (TRY)').fill('30.01')
    await dialog.getByRole('button', { name: /Return reason/ }).click()
    await page.getByRole('option', { name: 'MS03: the bank gave no reason' }).click()
    await dialog.getByLabel('Bank reference').fill('RT2')
    await ready(page, 'Record the return')
    await dialog.getByRole('button', { name: 'Record the return' }).click()
    await waitForText(page, 'No more than ₺30.00 of the paid amount can still come back.')
    t.equal((await service.transfers.history(trackingId)).length, 3)
  })

  t.test('viewers have no button, and no page causes an error or a forbidden request', async (t) => {
    const trackingId = await create('withdrawal', '100.00')
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    const page = await openAs('viewer', `/dashboard/transfers/${trackingId}`)
    await page.locator('.TransferHeadline').getByText('Completed').waitFor()
    t.equal(await page.getByRole('button', { name: 'Record a return…' }).count(), 0)
    // The rejected return above.
    t.strictSame(
      problems.filter((problem) => !/409/.test(JSON.stringify(problem))),
      [],
    )
  })
}
