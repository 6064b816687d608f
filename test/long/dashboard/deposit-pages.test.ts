import t from 'tap'
import { context, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const { service, create, openAs, problems } = await startDashboard(t, browser)
  const stateOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer

  t.test('new rows are counted, and shown only on request', async (t) => {
    await create('native', '10', { referenceId: 'first' })
    const page = await openAs('viewer', '/dashboard/deposits')
    const newest = page.getByRole('grid').getByRole('link').first()
    await newest.waitFor()
    await page.getByText(/^Live/).waitFor()
    await create('native', '11', { referenceId: 'second' })
    const hint = page.getByRole('button', { name: '1 new', exact: true })
    await hint.waitFor()
    t.equal(await newest.innerText(), 'first')
    await hint.click()
    await page.getByRole('link', { name: 'second' }).waitFor()
    t.equal(await newest.innerText(), 'second')
    await hint.waitFor({ state: 'detached' })
  })

  t.test('a row shows changes of its deposit in place', async (t) => {
    const trackingId = await create('native', '12', { referenceId: 'followed' })
    const page = await openAs('viewer', '/dashboard/deposits?status=Pending')
    const row = page.getByRole('row', { name: /followed/ })
    await row.getByText('Pending').waitFor()
    await page.getByText(/^Live/).waitFor()
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    await row.getByText('Completed').waitFor()
    t.equal(await row.count(), 1)
  })

  t.test(
    'after a change by another user, the action continues with the current state and keeps the typed text',
    async (t) => {
      const trackingId = await create('native', '40')
      const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
      await page.getByRole('button', { name: 'Cancel…', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Message').fill('not ours')
      await service.transfers.act(
        trackingId,
        { type: 'SendToManualControl', message: 'a colleague reviews it' },
        context,
      )
      const submit = dialog.getByRole('button', { name: 'Cancel the deposit' })
      // The page follows the transfer, so the dialog shows the change before the user confirms.
      await dialog.getByText('your action was not carried out').waitFor()
      await dialog.getByText('a colleague reviews it').waitFor()
      t.equal((await stateOf(trackingId)).status, 'ManualControl')
      await dialog.getByRole('button', { name: 'Continue with the current state' }).click()
      t.equal(await dialog.getByLabel('Message').inputValue(), 'not ours')
      await submit.click()
      await dialog.waitFor({ state: 'detached' })
      t.match(await stateOf(trackingId), { status: 'Cancelled', message: 'not ours' })
    },
  )

  t.test('late money is returned by an operator, and the deposit is reopened by an approver', async (t) => {
    const trackingId = await create('native', '50')
    await service.transfers.act(trackingId, { type: 'Cancel', message: 'not paid' }, context)
    await service.transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    const operator = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await operator.getByText('Not settled').waitFor()
    t.equal(await operator.getByRole('button', { name: 'Reopen…' }).count(), 0, 'operators cannot reopen')
    await operator.getByRole('button', { name: 'Record a return…' }).click()
    const dialog = operator.getByRole('dialog')
    t.equal(await dialog.getByLabel(/Returned amount/).inputValue(), '50.00')
    await dialog.getByLabel('Link to the receipt').fill('https://bank.example/returned')
    await dialog.getByRole('button', { name: 'Record the return' }).click()
    await operator.getByText(/^The return for .* is recorded\./).waitFor()
    await operator.getByText('Not settled').waitFor({ state: 'detached' })
    const approver = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await approver.getByRole('button', { name: 'Reopen…' }).click()
    await approver.getByRole('dialog').getByLabel('Reason').fill('the customer paid again')
    await approver.getByRole('dialog').getByRole('button', { name: 'Reopen' }).click()
    await approver.getByText(/ is reopened\.$/).waitFor()
    t.match(await stateOf(trackingId), { status: 'ManualControl', message: 'the customer paid again' })
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
