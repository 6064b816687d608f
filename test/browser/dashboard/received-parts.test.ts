import type { Page } from 'playwright-core'
import t from 'tap'
import { paymentMethods } from '../../support/merchant-requests.js'
import { launchBrowser } from '../launch-browser.js'
import { faultsOf } from './axe.js'
import { context, nameOf, startDashboard } from './dashboard-service.js'

const bankDeposit = { code: 3, name: 'Bank deposit', kinds: ['deposit'], paidBy: 'manual' } as const
const limits = { minAmountMinor: 1n, maxAmountMinor: 99_999_999n }
const configuration = { paymentMethods: [...paymentMethods, { ...bankDeposit, ...limits }] }
const actions = ['Record a payment…', 'Correct…', 'Approve the correction…']

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const currency = { code: 'TRY', decimals: 2 } as const
  const settings = { approvalAboveMinor: 500_00n }
  const world = await startDashboard(t, browser, settings, Date.now(), currency, { configuration })
  const { service, shop, create, openAs, problems } = world

  const deposit = (amount: string) => create('native', amount, { paymentMethod: bankDeposit.code })
  const completed = async (amount: string) => {
    const trackingId = await deposit(amount)
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
    return trackingId
  }
  const referenceOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer.referenceId
  /** Returns the transfer as the merchant sees it. */
  const seenByMerchant = async (trackingId: string) => {
    const headers = { webapikey: shop.webApiKey }
    return (await service.app.inject({ url: `/v1/transfers/${trackingId}`, headers })).json()
  }
  const typesOf = async (trackingId: string) =>
    (await service.transfers.history(trackingId)).map(({ event }) => event.type)
  const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  const ready = (page: Page, name: string) => page.getByRole('button', { name, disabled: false }).waitFor()

  t.test('an operator records two payments with the keyboard, and the second one completes the deposit', async (t) => {
    const trackingId = await deposit('100.00')
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    const receive = async (amount: string | undefined, bankReference: string) => {
      await page.getByRole('button', { name: 'Record a payment…' }).focus()
      await page.keyboard.press('Enter')
      await ready(page, 'Record the payment')
      t.equal(await page.evaluate('document.activeElement.name'), 'amountMinor')
      if (amount !== undefined) {
        await page.keyboard.press('Control+A')
        await page.keyboard.type(amount)
      }
      await page.keyboard.press('Tab')
      await page.keyboard.type(bankReference)
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await receive('60', 'BANK-1')
    await waitForText(page, `The payment for ${await referenceOf(trackingId)} is recorded.`)
    await waitForText(page, 'Still missing')
    await waitForText(page, /^The deposit stays open for the rest until /)
    await waitForText(page, '₺40.00 missing')
    t.match(await seenByMerchant(trackingId), { statusDescription: 'Pending' })
    t.strictSame(await faultsOf(page), [])
    await receive(undefined, 'BANK-2')
    await page.locator('.TransferHeadline').getByText('Completed').waitFor()
    const money = page.locator('.TransferMoney')
    t.match((await money.innerText()).replaceAll(/\s+/g, ' '), /BANK-1.*₺60\.00.*BANK-2.*₺40\.00.*Booked ₺100\.00/)
    t.equal(await page.getByText('Still missing').count(), 0)
    t.match(await seenByMerchant(trackingId), { statusDescription: 'Completed', transactionAmount: 100 })
    t.strictSame(await typesOf(trackingId), ['DepositCreated', 'FundsReceived', 'FundsReceived', 'TransferCompleted'])
  })

  t.test('an operator corrects an amount below the threshold, and both amounts stay visible', async (t) => {
    const trackingId = await completed('195.00')
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Correct…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Correct ₺195.00 of Ada Lovelace' })
    await dialog.getByLabel('Amount to book (TRY)').fill('95')
    await dialog.getByLabel('Reason').fill('A typing error')
    await ready(page, 'Correct the amount')
    await dialog.getByRole('button', { name: 'Correct the amount' }).click()
    await waitForText(page, `The correction of ${await referenceOf(trackingId)} is recorded.`)
    const money = (await page.locator('.TransferMoney').innerText()).replaceAll(/\s+/g, ' ')
    t.match(money, /Booked ₺95\.00 Before the correction ₺195\.00/)
    await page.locator('.Story').getByText('Corrected: ₺95.00').waitFor()
    const story = await page.locator('.Story').innerText()
    t.match(story, 'A typing error')
    t.notMatch(story, 'amount corrected', 'the constant message is not a text that a person wrote')
    t.match(await seenByMerchant(trackingId), { statusDescription: 'Completed', transactionAmount: 95 })
    t.strictSame(await typesOf(trackingId), ['DepositCreated', 'TransferCompleted', 'TransferCorrected'])
    t.strictSame(await faultsOf(page), [])
  })

  t.test('above the threshold a second person approves, and viewers have no buttons', async (t) => {
    const trackingId = await completed('850.00')
    const operator = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await operator.getByRole('button', { name: 'Correct…' }).click()
    const dialog = operator.getByRole('dialog', { name: 'Correct ₺850.00 of Ada Lovelace' })
    await dialog.getByLabel('Amount to book (TRY)').fill('80')
    await dialog.getByLabel('Reason').fill('The bank statement shows 80.00')
    await ready(operator, 'Correct the amount')
    await dialog.getByRole('button', { name: 'Correct the amount' }).click()
    await dialog.getByLabel('The same amount again (TRY)').fill('80')
    await dialog.getByRole('button', { name: 'Correct the amount' }).click()
    const proposal = new RegExp(`^${nameOf('operator')} proposed .* to correct the amount to ₺80\\.00:$`)
    await waitForText(operator, proposal)
    await waitForText(operator, 'A second person must approve it.')
    t.equal(await operator.getByRole('button', { name: 'Approve the correction…' }).count(), 0)
    t.match(await seenByMerchant(trackingId), { transactionAmount: 850 })

    const viewer = await openAs('viewer', `/dashboard/transfers/${trackingId}`)
    await waitForText(viewer, proposal)
    for (const name of actions) t.equal(await viewer.getByRole('button', { name }).count(), 0, name)

    const approver = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await approver.getByRole('button', { name: 'Approve the correction…' }).click()
    const title = `Correct ₺850.00 to ₺80.00, as ${nameOf('operator')} proposed?`
    const question = approver.getByRole('dialog', { name: title })
    await question.getByText('The bank statement shows 80.00').waitFor()
    await ready(approver, 'Yes, correct it to ₺80.00')
    await approver.keyboard.press('Enter')
    await waitForText(approver, `${await referenceOf(trackingId)} is corrected.`)
    t.match(await seenByMerchant(trackingId), { statusDescription: 'Completed', transactionAmount: 80 })
    const events = await service.transfers.history(trackingId)
    t.match(events.map(({ event }) => event).slice(-2), [
      { type: 'CorrectionProposed', data: { correctedAmountMinor: 80_00n } },
      { type: 'TransferCorrected', data: { previousAmountMinor: 850_00n, reason: 'The bank statement shows 80.00' } },
    ])
    t.strictSame(await faultsOf(approver), [])
  })

  t.test('no page causes an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
