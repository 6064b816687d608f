import type { Page } from 'playwright-core'
import t from 'tap'
import type { Role } from '../../../src/domain/user/permissions.js'
import type { TransferDetailView } from '../../../src/http/dashboard/api.js'
import { launchBrowser } from '../launch-browser.js'
import { password } from './dashboard-client.js'
import { context, nameOf, startDashboard } from './dashboard-service.js'

const minuteMs = 60_000

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n })
  const { service, create, openAs, as, problems, time } = world
  const receiptUrl = 'https://bank.example/receipts/1'

  const transferOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer
  const reference = async (trackingId: string) => (await transferOf(trackingId)).referenceId
  const detail = async (trackingId: string) =>
    (await (await as('operator')).get<TransferDetailView>(`/transfers/${trackingId}`)).body
  const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  async function claim(page: Page, trackingId: string): Promise<void> {
    await page.keyboard.press('c')
    await waitForText(page, `You claimed ${await reference(trackingId)}.`)
  }
  const queues = new Map<Role, Page>()
  /** Opens the payment queue, which costs two seconds of processor time, or returns the page that is open. */
  async function openQueue(role: Role): Promise<Page> {
    const page = queues.get(role) ?? (await openAs(role, '/dashboard/pay'))
    queues.set(role, page)
    return page
  }
  // Any other open page would render the changes of all later tests.
  t.afterEach(async () => {
    const pages = browser.contexts().flatMap((each) => each.pages())
    await Promise.all(pages.filter((page) => ![...queues.values()].includes(page)).map((page) => page.close()))
  })
  /** Opens the payment queue and selects a withdrawal. */
  async function openQueueAt(role: 'operator' | 'approver', trackingId: string): Promise<Page> {
    const page = await openQueue(role)
    const referenceId = await reference(trackingId)
    await page.locator(`[data-row="${trackingId}"]`).click()
    await page.getByRole('region', { name: `Withdrawal ${referenceId}` }).waitFor()
    return page
  }

  t.test('claims, pays and completes a withdrawal with the keyboard alone', async (t) => {
    const trackingId = await create('withdrawal', '123.45')
    const page = await openQueue('operator')
    const referenceId = await reference(trackingId)
    await page.getByRole('region', { name: `Withdrawal ${referenceId}` }).waitFor()
    await page.keyboard.press('c')
    await waitForText(page, `You claimed ${referenceId}.`)
    t.equal((await detail(trackingId)).claim?.name, nameOf('operator'))
    await page.keyboard.press('p')
    await page.getByRole('dialog', { name: `Complete ${referenceId}` }).waitFor()
    const focused = () => page.evaluate<string>('document.activeElement.name ?? ""')
    for (let presses = 0; (await focused()) !== 'receiptUrl' && presses < 10; presses++)
      await page.keyboard.press('Tab')
    await page.keyboard.type(receiptUrl)
    await page.keyboard.press('Enter')
    await waitForText(page, `${referenceId} is completed.`)
    t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 123_45n, receiptUrl })
  })

  t.test('a withdrawal in a bank file says so, and is left out of the next file', async (t) => {
    const first = await create('withdrawal', '31')
    const page = await openQueueAt('operator', first)
    const saveFile = async (count: number) => {
      const dialog = page.getByRole('dialog', { name: 'Bank file' })
      const saved = page.waitForEvent('download')
      await dialog.getByRole('button', { name: 'Save file' }).click()
      t.match((await saved).suggestedFilename(), /^withdrawals-[-0-9]{10}-[0-9a-f]{32}\.csv$/)
      await waitForText(page, `Saved a file with ${count} withdrawal`)
    }
    const openFileOf = async (count: number) => {
      await page.getByRole('button', { name: `Select mine (${count})` }).click()
      await page.getByRole('button', { name: 'Bank file…' }).click()
      await page.getByRole('dialog', { name: 'Bank file' }).waitFor()
    }
    await claim(page, first)
    await openFileOf(1)
    await saveFile(1)
    await waitForText(page, 'Yours until it is paid or released')
    await waitForText(page, `In a bank file of ${nameOf('operator')}`)
    t.match(await detail(first), { bankFile: { name: nameOf('operator') }, claim: { until: null } })
    const second = await create('withdrawal', '32')
    await page.locator(`[data-row="${second}"]`).click()
    await page.getByRole('region', { name: `Withdrawal ${await reference(second)}` }).waitFor()
    await claim(page, second)
    await openFileOf(2)
    await page.getByRole('button', { name: 'Save file' }).click()
    await waitForText(page, 'The bank may have paid it. To put it into another file, give a reason.')
    await page.getByRole('button', { name: 'Leave this one out' }).click()
    await saveFile(1)
    t.equal((await detail(second)).bankFile?.name, nameOf('operator'))
    for (const id of [first, second]) await service.transfers.act(id, { type: 'Release' }, context)
    for (const id of [first, second]) await service.transfers.act(id, { type: 'Cancel', message: null }, context)
  })

  t.test('anyone with the link can open an uploaded receipt, which runs no script', async (t) => {
    const trackingId = await create('withdrawal', '20')
    const page = await openQueueAt('operator', trackingId)
    await claim(page, trackingId)
    await page.keyboard.press('p')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Receipt as a file').click()
    const pdf = Buffer.from('%PDF-1.4\n%âãÏÓ\ntrailer<<>>\n%%EOF\n', 'latin1')
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: pdf }
    await dialog.locator('input[type=file]').setInputFiles(file)
    await dialog.getByRole('button', { name: 'Complete', exact: true }).click()
    await waitForText(page, `${await reference(trackingId)} is completed.`)
    const { receiptUrl } = await transferOf(trackingId)
    const answer = await fetch(receiptUrl!)
    t.equal(answer.status, 200)
    t.same(Buffer.from(await answer.arrayBuffer()), pdf)
    t.match(answer.headers.get('content-security-policy'), /default-src 'none'.*sandbox/)
  })

  t.test('a return with a receipt file records nothing until the file is chosen', async (t) => {
    const trackingId = await create('native', '50.00')
    await service.transfers.act(trackingId, { type: 'Cancel', message: 'expired' }, context)
    await service.transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Record return', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Receipt as a file').click()
    await dialog.getByRole('button', { name: 'Record return', exact: true }).click()
    await dialog.getByText('This field is required.').waitFor()
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n') }
    await dialog.locator('input[type=file]').setInputFiles(file)
    t.equal(await dialog.getByText('This field is required.').count(), 0)
    await dialog.getByRole('button', { name: 'Record return', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const events = await service.transfers.history(trackingId)
    t.equal(events.filter(({ event }) => event.type === 'FundsReturned').length, 1)
  })

  t.test('a different amount must be entered twice', async (t) => {
    const trackingId = await create('withdrawal', '50')
    const page = await openQueueAt('operator', trackingId)
    await claim(page, trackingId)
    await page.keyboard.press('p')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Paid amount (TRY)').fill('49.50')
    await dialog.getByLabel('The same amount again (TRY)').fill('49.50')
    await dialog.getByRole('button', { name: 'Complete', exact: true }).click()
    await waitForText(page, `${await reference(trackingId)} is completed.`)
    t.match(await transferOf(trackingId), { transactionAmountMinor: 49_50n, hasAmountMismatch: true })
  })

  t.test('cancels a withdrawal with a message to the merchant', async (t) => {
    const trackingId = await create('withdrawal', '30')
    const page = await openQueueAt('operator', trackingId)
    await claim(page, trackingId)
    await page.keyboard.press('x')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Message').fill('The account is closed')
    await dialog.getByRole('button', { name: 'Cancel transfer' }).click()
    await waitForText(page, `${await reference(trackingId)} is cancelled.`)
    t.match(await transferOf(trackingId), { status: 'Cancelled', message: 'The account is closed' })
  })

  t.test(
    'an operator cannot approve, must wait for an approval, and confirms the password in an old session',
    async (t) => {
      const trackingId = await create('withdrawal', '900')
      const operator = await openQueueAt('operator', trackingId)
      await claim(operator, trackingId)
      await operator.keyboard.press('a')
      await waitForText(operator, 'your role does not allow it')
      await operator.keyboard.press('p')
      await waitForText(operator, 'A second person must approve it first.')
      const approver = await openQueueAt('approver', trackingId)
      await approver.keyboard.press('a')
      await waitForText(approver, `You approved ${await reference(trackingId)}.`)
      await waitForText(operator, nameOf('approver'))

      time.aheadMs += 11 * minuteMs
      await operator.keyboard.press('p')
      await operator.getByRole('dialog').getByRole('button', { name: 'Complete', exact: true }).click()
      const confirmation = operator.getByRole('dialog', { name: 'Confirm your password' })
      await confirmation.getByLabel('Password', { exact: true }).fill(password)
      await confirmation.getByRole('button', { name: 'Confirm' }).click()
      await waitForText(operator, `${await reference(trackingId)} is completed.`)
      t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 900_00n })
    },
  )

  t.test('shows the changes of another user and overwrites nothing', async (t) => {
    const trackingId = await create('withdrawal', '40')
    const page = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Claim' }).click()
    await waitForText(page, 'You claimed')
    await page.getByRole('button', { name: 'Complete' }).click()
    const dialog = page.getByRole('dialog')
    const colleague = { actor: 'cli:root', $correlationId: 'test', $causationId: 'test' }
    const { revision } = await detail(trackingId)
    const approver = await as('approver')
    const released = await approver.send('POST', `/transfers/${trackingId}/release`, { revision })
    t.equal(released.status, 200)
    const cancelled = await service.transfers.act(
      trackingId,
      { type: 'Cancel', message: 'Cancelled by another user' },
      colleague,
    )
    t.equal(cancelled.accepted, true)
    await dialog.getByRole('button').filter({ hasText: 'Complete' }).click()
    await waitForText(page, 'your action was not carried out')
    await dialog.getByText('Cancelled').first().waitFor()
    t.match(await transferOf(trackingId), { status: 'Cancelled', transactionAmountMinor: 0n })
  })

  t.test('a batch reports the withdrawal that another user has claimed, and claims the others', async (t) => {
    const trackingIds = [
      await create('withdrawal', '1'),
      await create('withdrawal', '2'),
      await create('withdrawal', '3'),
    ]
    const approver = await as('approver')
    const { revision } = await detail(trackingIds[1]!)
    const page = await openQueue('operator')
    for (const id of trackingIds) await page.getByRole('checkbox', { name: `Select ${await reference(id)}` }).check()
    const claimed = await approver.send('POST', `/transfers/${trackingIds[1]}/claim`, { revision })
    t.equal(claimed.status, 200)
    await page.getByRole('button', { name: 'Claim…' }).click()
    await page.getByRole('button', { name: 'Claim all 3' }).click()
    await waitForText(page, '2 done, 1 rejected.')
    await waitForText(page, nameOf('approver'))
    const holders = await Promise.all(trackingIds.map(async (id) => (await detail(id)).claim?.name))
    t.same(
      holders,
      ['operator', 'approver', 'operator'].map((role) => nameOf(role as 'operator' | 'approver')),
    )
  })

  t.test('users who cannot settle have no queue and no actions', async (t) => {
    const trackingId = await create('withdrawal', '60')
    const queue = await openAs('viewer', '/dashboard/pay')
    await queue.getByRole('heading', { name: 'You don’t have access to this page' }).waitFor()
    for (const role of ['viewer', 'auditor', 'operations', 'administrator'] as const) {
      const page = await openAs(role, `/dashboard/transfers/${trackingId}`)
      await page
        .getByText(await reference(trackingId))
        .first()
        .waitFor()
      for (const action of ['Claim', 'Complete', 'Cancel transfer', 'Approve'])
        t.equal(await page.getByRole('button', { name: action, exact: true }).count(), 0, `${role}: ${action}`)
      await page.close()
    }
  })

  t.test('no page causes an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
