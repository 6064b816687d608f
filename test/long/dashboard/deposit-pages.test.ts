import t from 'tap'
import { context, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const { service, create, openAs, problems } = await startDashboard(t, browser)
  const stateOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer

  t.test('rows do not jump: what is new is counted, and shown when it is asked for', async (t) => {
    await create('native', '10', { referenceId: 'first' })
    const page = await openAs('viewer', '/dashboard/deposits')
    const newest = page.getByRole('grid').getByRole('link').first()
    await newest.waitFor()
    await page.getByText(/Live$/).waitFor()
    await create('native', '11', { referenceId: 'second' })
    const hint = page.getByRole('button', { name: '1 new: show' })
    await hint.waitFor()
    t.equal(await newest.innerText(), 'first')
    await hint.click()
    await page.getByRole('link', { name: 'second' }).waitFor()
    t.equal(await newest.innerText(), 'second')
    await hint.waitFor({ state: 'detached' })
  })

  t.test('a row follows what happens to its deposit, where it stands', async (t) => {
    const trackingId = await create('native', '12', { referenceId: 'followed' })
    const page = await openAs('viewer', '/dashboard/deposits?status=Pending')
    const row = page.getByRole('row', { name: /followed/ })
    await row.getByText('Pending').waitFor()
    await page.getByText(/Live$/).waitFor()
    await service.transfers.complete(trackingId, {}, context)
    await row.getByText('Completed').waitFor()
    t.equal(await row.count(), 1)
  })

  t.test('after another’s change the user goes on by what is shown then, and has lost nothing', async (t) => {
    const trackingId = await create('native', '40')
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Cancel the transfer' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Message').fill('not ours')
    await service.transfers.changeStatus(trackingId, 'SendToManualControl', 'a colleague looks at it', context)
    const submit = dialog.getByRole('button', { name: 'Cancel the transfer' })
    await submit.click()
    await dialog.getByText('Nothing of yours was done').waitFor()
    await dialog.getByText('a colleague looks at it').waitFor()
    t.equal((await stateOf(trackingId)).status, 'ManualControl')
    await dialog.getByRole('button', { name: 'Go on with what it is now' }).click()
    t.equal(await dialog.getByLabel('Message').inputValue(), 'not ours')
    await submit.click()
    await dialog.waitFor({ state: 'detached' })
    t.match(await stateOf(trackingId), { status: 'Cancelled', message: 'not ours' })
  })

  t.test('money that came late is returned, and the deposit reopened by who may', async (t) => {
    const trackingId = await create('native', '50')
    await service.transfers.changeStatus(trackingId, 'Cancel', 'not paid', context)
    await service.transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    const operator = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await operator.getByText('Not settled').waitFor()
    t.equal(await operator.getByRole('button', { name: 'Reopen' }).count(), 0, 'is not an operator’s')
    await operator.getByRole('button', { name: 'Record a return' }).click()
    const dialog = operator.getByRole('dialog')
    t.equal(await dialog.getByLabel(/Amount returned/).inputValue(), '50.00')
    await dialog.getByLabel('Link to the receipt').fill('https://bank.example/returned')
    await dialog.getByRole('button', { name: 'Record a return' }).click()
    await operator.getByText('The return is recorded.').waitFor()
    await operator.getByText('Not settled').waitFor({ state: 'detached' })
    const approver = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await approver.getByRole('button', { name: 'Reopen' }).click()
    await approver.getByRole('dialog').getByLabel('Reason').fill('the customer paid again')
    await approver.getByRole('dialog').getByRole('button', { name: 'Reopen' }).click()
    await approver.getByText('Reopened.', { exact: true }).waitFor()
    t.match(await stateOf(trackingId), { status: 'ManualControl', message: 'the customer paid again' })
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
