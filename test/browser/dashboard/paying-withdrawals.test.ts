import type { Page } from 'playwright-core'
import t from 'tap'
import type { TransferDetailView } from '../../../src/http/dashboard/api.js'
import { launchBrowser } from '../launch-browser.js'
import { password } from './dashboard-client.js'
import { context, nameOf, startDashboard } from './dashboard-service.js'

const minuteMs = 60_000

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n })
  const { service, create, openAs, as, problems, time, baseUrl } = world
  const receiptUrl = 'https://bank.example/receipts/1'

  const transferOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer
  const reference = async (trackingId: string) => (await transferOf(trackingId)).referenceId
  const detail = async (trackingId: string) =>
    (await (await as('operator')).get<TransferDetailView>(`/transfers/${trackingId}`)).body
  const said = (page: Page, words: string | RegExp) => page.getByText(words).first().waitFor()
  async function claim(page: Page): Promise<void> {
    await page.keyboard.press('c')
    await said(page, 'You have claimed')
  }
  /** The payment queue, with this withdrawal chosen. */
  async function queueAt(role: 'operator' | 'approver', trackingId: string): Promise<Page> {
    const page = await openAs(role, '/dashboard/pay')
    const referenceId = await reference(trackingId)
    await page.locator(`[data-row="${trackingId}"]`).click()
    await page.getByRole('region', { name: `Withdrawal ${referenceId}` }).waitFor()
    return page
  }

  t.test('by keyboard alone: claim, pay with a receipt, complete; the merchant is told', async (t) => {
    const trackingId = await create('withdrawal', '123.45')
    const page = await openAs('operator', '/dashboard/pay')
    const referenceId = await reference(trackingId)
    await page.getByRole('region', { name: `Withdrawal ${referenceId}` }).waitFor()
    await page.keyboard.press('c')
    await said(page, `You have claimed ${referenceId}.`)
    t.equal((await detail(trackingId)).claim?.name, nameOf('operator'))
    await page.keyboard.press('p')
    await page.getByRole('dialog', { name: 'Pay and complete' }).waitFor()
    const focused = () => page.evaluate<string>('document.activeElement.name ?? ""')
    for (let presses = 0; (await focused()) !== 'receiptUrl' && presses < 10; presses++)
      await page.keyboard.press('Tab')
    await page.keyboard.type(receiptUrl)
    await page.keyboard.press('Enter')
    await said(page, `${referenceId} is completed.`)
    t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 123_45n, receiptUrl })
  })

  t.test('a receipt given as a file can be opened by whoever has its link, and runs nothing', async (t) => {
    const trackingId = await create('withdrawal', '20')
    const page = await queueAt('operator', trackingId)
    await claim(page)
    await page.keyboard.press('p')
    const dialog = page.getByRole('dialog', { name: 'Pay and complete' })
    const pdf = Buffer.from('%PDF-1.4\n%âãÏÓ\ntrailer<<>>\n%%EOF\n', 'latin1')
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: pdf }
    await dialog.locator('input[type=file]').setInputFiles(file)
    await dialog.getByRole('button', { name: 'It is paid: complete it' }).click()
    await said(page, `${await reference(trackingId)} is completed.`)
    const { receiptUrl } = await transferOf(trackingId)
    const answer = await fetch(receiptUrl!)
    t.equal(answer.status, 200)
    t.same(Buffer.from(await answer.arrayBuffer()), pdf)
    t.match(answer.headers.get('content-security-policy'), /default-src 'none'.*sandbox/)
  })

  t.test('a return whose receipt is to be a file asks for the file, and records nothing without one', async (t) => {
    const trackingId = await create('native', '50.00')
    await service.transfers.changeStatus(trackingId, 'Cancel', 'expired', context)
    await service.transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Record a return', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Receipt as a file').click()
    await dialog.getByRole('button', { name: 'Record a return', exact: true }).click()
    await dialog.getByText('This is needed.').waitFor()
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n') }
    await dialog.locator('input[type=file]').setInputFiles(file)
    t.equal(await dialog.getByText('This is needed.').count(), 0)
    await dialog.getByRole('button', { name: 'Record a return', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const events = await service.transfers.history(trackingId)
    t.equal(events.filter(({ event }) => event.type === 'FundsReturned').length, 1)
  })

  t.test('another amount has to be given twice', async (t) => {
    const trackingId = await create('withdrawal', '50')
    const page = await queueAt('operator', trackingId)
    await claim(page)
    await page.keyboard.press('p')
    const dialog = page.getByRole('dialog', { name: 'Pay and complete' })
    await dialog.getByLabel('Amount paid (TRY)').fill('49.50')
    await dialog.getByLabel('Amount paid, once more (TRY)').fill('49.50')
    await dialog.getByRole('button', { name: 'It is paid: complete it' }).click()
    await said(page, 'is completed.')
    t.match(await transferOf(trackingId), { transactionAmountMinor: 49_50n, hasAmountMismatch: true })
  })

  t.test('cancelled with a reason, which the merchant is told', async (t) => {
    const trackingId = await create('withdrawal', '30')
    const page = await queueAt('operator', trackingId)
    await claim(page)
    await page.keyboard.press('x')
    const dialog = page.getByRole('dialog', { name: 'Cancel this withdrawal?' })
    await dialog.getByLabel('Reason').fill('The account is closed')
    await dialog.getByRole('button', { name: 'Cancel the transfer' }).click()
    await said(page, 'is cancelled.')
    t.match(await transferOf(trackingId), { status: 'Cancelled', message: 'The account is closed' })
  })

  t.test(
    'four eyes: who claimed cannot approve, who approved cannot pay, and after a while the password is asked for',
    async (t) => {
      const trackingId = await create('withdrawal', '900')
      const operator = await queueAt('operator', trackingId)
      await operator.keyboard.press('c')
      await said(operator, 'You have claimed')
      await operator.keyboard.press('a')
      await said(operator, 'your role may not do it')
      await operator.keyboard.press('p')
      await said(operator, 'A second person must approve it first.')
      const approver = await queueAt('approver', trackingId)
      await approver.keyboard.press('a')
      await said(approver, `You have approved ${await reference(trackingId)}.`)
      await said(operator, nameOf('approver'))

      time.aheadMs += 11 * minuteMs
      await operator.keyboard.press('p')
      await operator.getByRole('button', { name: 'It is paid: complete it' }).click()
      const asked = operator.getByRole('dialog', { name: 'Is it you?' })
      await asked.getByLabel('Password', { exact: true }).fill(password)
      await asked.getByRole('button', { name: 'Confirm' }).click()
      await said(operator, 'is completed.')
      t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 900_00n })
    },
  )

  t.test('what another did meanwhile is shown, and nothing is written over it', async (t) => {
    const trackingId = await create('withdrawal', '40')
    const page = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Claim' }).click()
    await said(page, 'Claimed: it is yours to pay.')
    await page.getByRole('button', { name: 'Complete' }).click()
    const dialog = page.getByRole('dialog')
    const colleague = { actor: 'cli:root', $correlationId: 'test', $causationId: 'test' }
    const { revision } = await detail(trackingId)
    const approver = await as('approver')
    const released = await approver.send('POST', `/transfers/${trackingId}/release`, { revision })
    t.equal(released.status, 200)
    const cancelled = await service.transfers.changeStatus(trackingId, 'Cancel', 'A colleague was faster', colleague)
    t.equal(cancelled.accepted, true)
    await dialog.getByRole('button').filter({ hasText: 'Complete' }).click()
    await said(page, 'Nothing of yours was done')
    await dialog.getByText('Cancelled').first().waitFor()
    t.match(await transferOf(trackingId), { status: 'Cancelled', transactionAmountMinor: 0n })
  })

  t.test('many at once: one that a colleague holds is told, the others are done', async (t) => {
    const trackingIds = [
      await create('withdrawal', '1'),
      await create('withdrawal', '2'),
      await create('withdrawal', '3'),
    ]
    const approver = await as('approver')
    const { revision } = await detail(trackingIds[1]!)
    const page = await openAs('operator', '/dashboard/pay')
    for (const id of trackingIds) await page.getByRole('checkbox', { name: `Select ${await reference(id)}` }).check()
    const claimed = await approver.send('POST', `/transfers/${trackingIds[1]}/claim`, { revision })
    t.equal(claimed.status, 200)
    await page.getByRole('button', { name: 'Claim…' }).click()
    await page.getByRole('button', { name: 'Claim all 3' }).click()
    await said(page, '2 done, 1 refused.')
    await said(page, nameOf('approver'))
    const holders = await Promise.all(trackingIds.map(async (id) => (await detail(id)).claim?.name))
    t.same(
      holders,
      ['operator', 'approver', 'operator'].map((role) => nameOf(role as 'operator' | 'approver')),
    )
  })

  t.test('who may not settle has no queue and no actions', async (t) => {
    const trackingId = await create('withdrawal', '60')
    for (const role of ['viewer', 'auditor', 'operations', 'administrator'] as const) {
      const page = await openAs(role, '/dashboard/pay')
      await page.getByRole('heading', { name: 'Your role does not have this page' }).waitFor()
      await page.goto(`${baseUrl}/dashboard/transfers/${trackingId}`)
      await page
        .getByText(await reference(trackingId))
        .first()
        .waitFor()
      for (const action of ['Claim', 'Complete', 'Cancel the transfer', 'Approve'])
        t.equal(await page.getByRole('button', { name: action, exact: true }).count(), 0, `${role}: ${action}`)
      await page.close()
    }
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
