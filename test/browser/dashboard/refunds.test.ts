import type { Page } from 'playwright-core'
import t from 'tap'
import { paymentMethods } from '../../support/merchant-requests.js'
import { launchBrowser } from '../launch-browser.js'
import { faultsOf } from './axe.js'
import { context, nameOf, startDashboard } from './dashboard-service.js'

const bankDeposit = { code: 3, name: 'Bank deposit', kinds: ['deposit'], paidBy: 'manual' } as const
const limits = { minAmountMinor: 1n, maxAmountMinor: 99_999_999n }
const configuration = { paymentMethods: [...paymentMethods, { ...bankDeposit, ...limits }] }
const iban = 'TR330006100519786457841326'

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const currency = { code: 'TRY', decimals: 2 } as const
  const settings = { approvalAboveMinor: 500_00n }
  const world = await startDashboard(t, browser, settings, Date.now(), currency, { configuration })
  const { service, create, openAs, problems } = world
  const deposit = (amount: string) => create('native', amount, { paymentMethod: bankDeposit.code })
  const transferOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer
  const typesOf = async (trackingId: string) =>
    (await service.transfers.history(trackingId)).map(({ event }) => event.type)
  const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  const ready = (page: Page, name: string) => page.getByRole('button', { name, disabled: false }).waitFor()

  t.test('an operator refunds a part of a deposit, and pays the withdrawal from the queue', async (t) => {
    const trackingId = await deposit('100.00')
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    const { referenceId } = await transferOf(trackingId)
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Refund…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Return money to Ada Lovelace' })
    await dialog.getByText('At most ₺100.00.').waitFor()
    await dialog.getByLabel('Amount to return (TRY)').fill('30')
    await dialog.getByLabel('Account number').fill(iban)
    t.strictSame(await faultsOf(page), [])
    await ready(page, 'Request the refund')
    await dialog.getByRole('button', { name: 'Request the refund' }).click()
    await waitForText(page, `The refund for ${referenceId} is requested.`)
    await waitForText(page, 'Not paid yet')
    await waitForText(page, 'Refund requested: ₺30.00')
    t.strictSame(await faultsOf(page), [])
    const state = await transferOf(trackingId)
    const refund = state.kind === 'deposit' ? state.refunds[0]! : undefined
    await page.getByRole('link', { name: refund!.referenceId }).click()
    await page.waitForURL(`**/transfers/${refund!.refundId}`)
    await page.getByRole('link', { name: 'Show the transfer' }).waitFor()
    await page.getByRole('button', { name: 'Claim' }).click()
    await page.getByRole('button', { name: 'Mark as paid…' }).click()
    await ready(page, 'Yes, ₺30.00 is paid')
    await page.getByRole('button', { name: 'Yes, ₺30.00 is paid' }).click()
    await page.locator('.TransferHeadline').getByText('Completed').waitFor()
    await page.getByRole('link', { name: 'Show the transfer' }).click()
    await page.waitForURL(`**/transfers/${trackingId}`)
    await waitForText(page, 'Of it booked')
    const money = (await page.locator('.TransferMoney').first().innerText()).replaceAll(/\s+/g, ' ')
    t.match(money, /Booked ₺100\.00.*Returned ₺30\.00 Of it booked ₺30\.00/)
    t.strictSame(await typesOf(trackingId), [
      ...['DepositCreated', 'TransferCompleted', 'RefundRequested', 'FundsReturned'],
    ])
  })

  t.test('a second person approves a large return, and the operator has no button for it', async (t) => {
    const trackingId = await deposit('850.00')
    await service.transfers.act(trackingId, { type: 'Cancel', message: null }, context)
    const payment = { receivedAmountMinor: 850_00n, reference: 'FT-1' }
    await service.transfers.act(trackingId, { type: 'ReceivePart', ...payment }, context)
    const operator = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await operator.getByRole('button', { name: 'Record a return…' }).click()
    const dialog = operator.getByRole('dialog', { name: 'Record a return to Ada Lovelace' })
    await dialog.getByLabel('Link to the receipt').fill('https://bank.example/back/1')
    await ready(operator, 'Record the return')
    await dialog.getByRole('button', { name: 'Record the return' }).click()
    await waitForText(operator, 'Waits for approval')
    t.equal(await operator.getByRole('button', { name: 'Approve the return…' }).count(), 0)
    const approver = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await approver.getByRole('button', { name: 'Approve the return…' }).click()
    const title = `Approve the return of ₺850.00 that ${nameOf('operator')} requested?`
    const question = approver.getByRole('dialog', { name: title })
    await ready(approver, 'Yes, approve ₺850.00')
    await question.getByRole('button', { name: 'Yes, approve ₺850.00' }).click()
    await approver.getByRole('dialog').waitFor({ state: 'detached' })
    t.strictSame((await typesOf(trackingId)).slice(2), [
      ...['LateFundsReceived', 'RefundRequested', 'RefundApproved', 'FundsReturned'],
    ])
    t.strictSame(await faultsOf(approver), [])
    const viewer = await openAs('viewer', `/dashboard/transfers/${trackingId}`)
    await waitForText(viewer, 'Refunds')
    for (const name of ['Refund…', 'Approve the return…', 'Record a return…'])
      t.equal(await viewer.getByRole('button', { name }).count(), 0, name)
  })

  t.test('no page reported an error', async (t) => t.strictSame(problems, []))
}
