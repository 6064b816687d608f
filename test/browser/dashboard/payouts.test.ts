import type { Page } from 'playwright-core'
import t from 'tap'
import type { Role } from '../../../src/domain/user/permissions.js'
import type { BulkResponse, TransferDetail } from '../../../src/http/dashboard/api.js'
import { long } from '../../support/long.js'
import { launchBrowser } from '../launch-browser.js'
import { until } from '../watched-page.js'
import { faultsOf } from './axe.js'
import { password } from './dashboard-client.js'
import { context, nameOf, narrow, startDashboard } from './dashboard-service.js'

type BulkAnswerView = BulkResponse

/** Without motion, so that the sheet is in its place as soon as it is open. */
const phone = { viewport: narrow, hasTouch: true, isMobile: true, reducedMotion: 'reduce' } as const
const minuteMs = 60_000

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n })
  const { service, create, listed, openAs, as, problems, time } = world
  const receiptUrl = 'https://bank.example/receipts/1'

  const transferOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer
  const reference = async (trackingId: string) => (await transferOf(trackingId)).referenceId
  const detail = async (trackingId: string) =>
    (await (await as('operator')).get<TransferDetail>(`/transfers/${trackingId}`)).body
  const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  async function claim(page: Page, trackingId: string): Promise<void> {
    await page.keyboard.press('c')
    await waitForText(page, `You claimed ${await reference(trackingId)}.`)
  }
  const openReceipt = (page: Page) => page.getByRole('button', { name: 'Add a receipt or a message…' }).click()
  /** Answers the question of the panel. It ignores the button for half a second, so that no key press answers it by accident. */
  const answer = (page: Page) =>
    page
      .getByRole('dialog')
      .getByRole('button', { name: /^Yes, / })
      .click()
  // The tests of HTTP prove these rules, and the long form proves them on the pages.
  const onPages = { skip: long ? false : 'only in the long form' }
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
    // The key that opens the question does not answer it too, however fast Enter follows.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const form = document.querySelector('[role=dialog] form')
      if (!form) return
      observer.disconnect()
      form.requestSubmit()
    }).observe(document.body, { childList: true, subtree: true })`)
    await page.keyboard.press('p')
    const question = page.getByRole('dialog', { name: 'Has ₺123.45 left the bank?' })
    await question.waitFor()
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Yes, ₺123.45 is paid', 'Enter answers')
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    t.match(await transferOf(trackingId), { status: 'Pending' })
    await page.keyboard.press('p')
    await openReceipt(page)
    t.equal(await page.evaluate('document.activeElement.name'), 'receiptUrl')
    await page.keyboard.type(receiptUrl)
    await page.getByRole('button', { name: 'Yes, ₺123.45 is paid', disabled: false }).waitFor()
    await page.keyboard.press('Enter')
    await waitForText(page, `${referenceId} is completed.`)
    t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 123_45n, receiptUrl })
  })

  t.test('a withdrawal in a bank file says so, and is left out of the next file', onPages, async (t) => {
    const first = await create('withdrawal', '31')
    const page = await openQueueAt('operator', first)
    const saveFile = async (count: number) => {
      const dialog = page.getByRole('dialog', { name: 'Bank file' })
      const saved = page.waitForEvent('download')
      await dialog.getByRole('button', { name: 'Save file' }).click()
      t.match((await saved).suggestedFilename(), /^withdrawals-for-bank-127\.0\.0\.1-\d+-[-0-9]{10}-[0-9a-f]{32}\.csv$/)
      await waitForText(page, `Saved a file with ${count} withdrawal`)
    }
    const openFileOf = async (count: number) => {
      // The list of the previous tab stays until the route has changed, and then its selection is lost.
      const listBefore = await page.locator('.QueueSum').elementHandle()
      await page.getByRole('link', { name: `Mine ${count}`, exact: true }).click()
      await listBefore!.waitForElementState('hidden')
      await page.getByRole('checkbox', { name: /^Select the/ }).check()
      await page.keyboard.press('b')
      await page.getByRole('dialog', { name: 'Bank file' }).waitFor()
    }
    await claim(page, first)
    await openFileOf(1)
    await saveFile(1)
    await waitForText(page, 'Yours until it is paid or released')
    await waitForText(page, `In a bank file of ${nameOf('operator')}`)
    t.equal(await page.getByText('This withdrawal has just changed.').count(), 0, 'the user did it')
    await page.getByRole('link', { name: /^All/ }).click()
    t.match(await detail(first), { bankFile: { name: nameOf('operator') }, claim: { until: null } })
    const second = await create('withdrawal', '32')
    await page.locator(`[data-row="${second}"]`).click()
    await page.getByRole('region', { name: `Withdrawal ${await reference(second)}` }).waitFor()
    await claim(page, second)
    await openFileOf(2)
    await page.getByRole('button', { name: 'Save file' }).click()
    await waitForText(page, '1 of 2 cannot be in this file. Nothing was changed.')
    await waitForText(
      page,
      'The bank may have paid it. To put it into another file, open the list again and give a reason.',
    )
    await page.getByRole('button', { name: 'Leave this one out' }).click()
    await saveFile(1)
    await page.getByRole('link', { name: /^All/ }).click()
    t.equal((await detail(second)).bankFile?.name, nameOf('operator'))
    for (const id of [first, second]) await service.transfers.act(id, { type: 'Release' }, context)
    for (const id of [first, second]) await service.transfers.act(id, { type: 'Cancel', message: null }, context)
  })

  t.test('anyone with the link can open an uploaded receipt, which runs no script', onPages, async (t) => {
    const trackingId = await create('withdrawal', '20')
    const page = await openQueueAt('operator', trackingId)
    await claim(page, trackingId)
    await page.keyboard.press('p')
    const dialog = page.getByRole('dialog')
    await openReceipt(page)
    await dialog.getByText('Receipt as a file').click()
    const pdf = Buffer.from('%PDF-1.4\n%âãÏÓ\ntrailer<<>>\n%%EOF\n', 'latin1')
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: pdf }
    await dialog.locator('input[type=file]').setInputFiles(file)
    await answer(page)
    await waitForText(page, `${await reference(trackingId)} is completed.`)
    const { receiptUrl } = await transferOf(trackingId)
    const served = await fetch(receiptUrl!)
    t.equal(served.status, 200)
    t.same(Buffer.from(await served.arrayBuffer()), pdf)
    t.match(served.headers.get('content-security-policy'), /default-src 'none'.*sandbox/)
  })

  t.test('a return with a receipt file records nothing until the file is chosen', onPages, async (t) => {
    const trackingId = await create('native', '50.00')
    await service.transfers.act(trackingId, { type: 'Cancel', message: 'expired' }, context)
    await service.transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 50_00n, receiptUrl: null }, context)
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Record a return…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Receipt as a file').click()
    await dialog.getByRole('button', { name: 'Record the return' }).click()
    await dialog.getByText('This field is required.').waitFor()
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n') }
    await dialog.locator('input[type=file]').setInputFiles(file)
    t.equal(await dialog.getByText('This field is required.').count(), 0)
    await dialog.getByRole('button', { name: 'Record the return' }).click()
    await dialog.waitFor({ state: 'detached' })
    const events = await service.transfers.history(trackingId)
    t.equal(events.filter(({ event }) => event.type === 'FundsReturned').length, 1)
  })

  t.test('a different amount must be entered twice', onPages, async (t) => {
    const trackingId = await create('withdrawal', '50')
    const page = await openQueueAt('operator', trackingId)
    await claim(page, trackingId)
    await page.keyboard.press('p')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'A different amount was paid…' }).click()
    await dialog.getByLabel('Paid amount (TRY)').fill('49.50')
    await dialog.getByLabel('The same amount again (TRY)').fill('49.50')
    await dialog.getByRole('button', { name: 'Yes, ₺49.50 is paid' }).click()
    await waitForText(page, `${await reference(trackingId)} is completed.`)
    t.match(await transferOf(trackingId), { transactionAmountMinor: 49_50n, hasAmountMismatch: true })
  })

  t.test('cancels a withdrawal with a message to the merchant', onPages, async (t) => {
    const trackingId = await create('withdrawal', '30')
    const page = await openQueueAt('operator', trackingId)
    await claim(page, trackingId)
    await page.keyboard.press('d')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Message').waitFor()
    await page.keyboard.type('The account is closed')
    await dialog.getByRole('button', { name: 'Cancel the withdrawal' }).click()
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
      const question = approver.getByRole('dialog', { name: 'Approve ₺900.00 to' })
      await question.getByText('₺900.00').first().waitFor()
      t.equal((await detail(trackingId)).approval.by, null, 'the key alone approves nothing')
      await answer(approver)
      await waitForText(approver, `You approved ${await reference(trackingId)}.`)
      await waitForText(operator, nameOf('approver'))

      time.aheadMs += 11 * minuteMs
      await operator.keyboard.press('p')
      await answer(operator)
      const confirmation = operator.getByRole('dialog', { name: 'Confirm your password' })
      await confirmation.getByLabel('Password', { exact: true }).fill(password)
      await confirmation.getByRole('button', { name: 'Confirm' }).click()
      await waitForText(operator, `${await reference(trackingId)} is completed.`)
      t.match(await transferOf(trackingId), { status: 'Completed', transactionAmountMinor: 900_00n })
    },
  )

  t.test('shows the changes of another user and overwrites nothing', onPages, async (t) => {
    const trackingId = await create('withdrawal', '40')
    const page = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Claim' }).click()
    await waitForText(page, 'You claimed')
    await page.getByRole('button', { name: 'Mark as paid…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Yes, ₺40.00 is paid', disabled: false }).waitFor()
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
    // The page follows the transfer, so the dialog shows the changes before the user confirms.
    await waitForText(page, 'your action was not carried out')
    await dialog.getByText('Cancelled').first().waitFor()
    t.equal(await dialog.getByRole('button', { name: /^Yes, / }).count(), 0)
    t.match(await transferOf(trackingId), { status: 'Cancelled', transactionAmountMinor: 0n })
  })

  t.test('a batch reports the withdrawal that another user has claimed, and claims the others', onPages, async (t) => {
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
    await page.getByRole('button', { name: /^Claim all 3/ }).click()
    const outcome = page.getByRole('dialog', { name: '1 of 3 was rejected' })
    t.match(await outcome.locator('tbody tr').first().innerText(), new RegExp(nameOf('approver')), 'comes first')
    await outcome.getByRole('button', { name: 'Keep the rejected ones selected' }).click()
    await page.getByRole('region', { name: 'Selection' }).getByText('1 selected').waitFor()
    await page.getByRole('button', { name: 'Clear selection' }).click()
    const holders = await Promise.all(trackingIds.map(async (id) => (await detail(id)).claim?.name))
    t.same(
      holders,
      ['operator', 'approver', 'operator'].map((role) => nameOf(role as 'operator' | 'approver')),
    )
  })

  t.test(
    'a batch leaves out manual control unless the user asks for it, and adds up the selection',
    onPages,
    async (t) => {
      const [plain, manual] = [await create('withdrawal', '11.50'), await create('withdrawal', '22.25')]
      const operator = await as('operator')
      for (const id of [plain, manual]) await operator.send('POST', `/transfers/${id}/claim`, { revision: 0 })
      await operator.send('POST', `/transfers/${manual}/manual-control`, { revision: 1, message: 'look' })
      const items = [{ trackingId: manual, revision: 2 }]
      const unasked = await operator.send<BulkAnswerView>('POST', '/withdrawals/complete', { items })
      t.match(unasked.body.items[0]?.error, { rule: 'in-manual-control' })
      const file = await operator.send('POST', '/withdrawals/bank-file', { format: 'csv', trackingIds: [manual] })
      t.match(file.body, { error: { validationErrors: [{ rule: 'in-manual-control' }] } })

      const page = await openAs('operator', '/dashboard/pay?tab=mine')
      const selection = page.getByRole('region', { name: 'Selection' })
      const box = page.getByRole('checkbox', { name: `Select ${await reference(manual)}` })
      await page.getByRole('checkbox', { name: /^Select the/ }).check()
      t.equal(await box.isDisabled(), true)
      t.equal(await box.isChecked(), false)
      const total = async () => (await selection.innerText()).replaceAll(/\s+/g, ' ')
      const before = await total()
      await page.getByRole('checkbox', { name: 'Also manual control (1)' }).check({ force: true })
      await box.check()
      t.not(await total(), before)
      await page.getByRole('button', { name: 'Clear selection' }).click()
      for (const id of [plain, manual]) {
        await page.getByRole('checkbox', { name: `Select ${await reference(id)}` }).check()
      }
      t.match(await total(), /^2 selected, all yours · ₺33\.75/)
      await selection.getByRole('button', { name: 'Mark as paid…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Has ₺33.75 for 2 withdrawals left the bank?' })
      await dialog.getByText('1 of them is in manual control.').waitFor()
      await dialog.getByRole('button', { name: 'Yes, all 2 are paid, ₺33.75' }).click()
      await page.getByRole('heading', { name: 'All 2 withdrawals are marked as paid' }).waitFor()
      for (const id of [plain, manual]) t.match(await transferOf(id), { status: 'Completed' })
    },
  )

  t.test(
    'keys copy plain text for the bank, and earlier payouts to the account are listed, however it was written',
    onPages,
    async (t) => {
      const accountNumber = 'TR93 0099 0010 0530 2950 4333 28'
      const earlier = await create('withdrawal', '75.00', { accountNumber: 'tr930099001005302950433328' })
      await service.transfers.act(earlier, { type: 'Complete' }, context)
      await listed(earlier)
      const trackingId = await create('withdrawal', '1234.50', { accountNumber, name: 'Grace Hopper' })
      const page = await openAs('approver', '/dashboard/pay', { permissions: ['clipboard-read', 'clipboard-write'] })
      await page.locator(`[data-row="${trackingId}"]`).click()
      const panel = page.getByRole('region', { name: `Withdrawal ${await reference(trackingId)}` })
      await panel.getByText('₺75.00 Completed').waitFor()
      const copied: string[] = []
      for (const key of ['1', '2', '3', '4']) {
        await page.keyboard.press(key)
        await panel.getByText('copied').nth(copied.length).waitFor()
        copied.push(await page.evaluate<string>('navigator.clipboard.readText()'))
      }
      t.strictSame(copied, ['1234.50', 'TR930099001005302950433328', 'Grace Hopper', await reference(trackingId)])
      await service.transfers.act(trackingId, { type: 'Cancel', message: null }, context)
    },
  )

  t.test('on a phone, a tap opens the withdrawal over the whole screen, and back closes it', onPages, async (t) => {
    const trackingId = await create('withdrawal', '64.20')
    const page = await openAs('operator', '/dashboard/pay', phone)
    await page.locator(`[data-row="${trackingId}"]`).tap()
    const panel = page.getByRole('region', { name: `Withdrawal ${await reference(trackingId)}` })
    const box = (await panel.boundingBox())!
    t.match(box, { x: 0, y: 0, width: narrow.width, height: narrow.height })
    const button = (await panel.getByRole('button', { name: 'Claim' }).boundingBox())!
    t.ok(button.y + button.height <= narrow.height && button.height >= 44, 'the main button is under the thumb')
    t.strictSame(await faultsOf(page), [])
    await page.goBack()
    await panel.waitFor({ state: 'hidden' })
    t.strictSame(await faultsOf(page), [])
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
    await page.getByRole('button', { name: 'More', exact: true }).tap()
    await page.getByRole('link', { name: 'Statement', exact: true }).tap()
    await page.getByRole('heading', { name: 'Statement', level: 1 }).waitFor()
    await service.transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  })

  t.test('the page of a transfer follows a colleague, and shows what moved first', onPages, async (t) => {
    const trackingId = await create('withdrawal', '81')
    const page = await openAs('approver', `/dashboard/transfers/${trackingId}`)
    await page.getByRole('button', { name: 'Claim' }).waitFor()
    const operator = await as('operator')
    const claimed = await operator.send('POST', `/transfers/${trackingId}/claim`, { revision: 0 })
    t.equal(claimed.status, 200)
    await page.getByText(nameOf('operator')).first().waitFor()
    await operator.send('POST', `/transfers/${trackingId}/complete`, { revision: 1, amountMinor: 80_00 })
    await page.getByText('paid of ₺81.00 requested').waitFor()
    await page.getByText('₺1.00 less').waitFor()
    t.match((await page.locator('.TransferHeadline-amount').innerText()).replaceAll(/\s/g, ''), /^₺80\.00/)
    t.notMatch(await page.getByRole('main').innerText(), /\b0 m?s\b/, 'steps follow immediately, not after 0 ms')
    t.strictSame(await faultsOf(page), [])
  })

  t.test('back returns to the place in a list, and j works wherever the focus is', onPages, async (t) => {
    for (let number = 0; number < 12; number++) await create('native', `${number + 1}.00`)
    const page = await openAs('operator', '/dashboard/deposits', { viewport: { width: 1000, height: 420 } })
    await page.locator('tbody tr').nth(11).waitFor()
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('j')
    t.equal(await page.evaluate('document.activeElement.tagName'), 'TR')
    await page.locator('tbody tr').last().scrollIntoViewIfNeeded()
    const scrolled = await page.evaluate<number>('window.scrollY')
    t.ok(scrolled > 0)
    await page.locator('tbody tr').last().click()
    await page.getByRole('heading', { name: /^Deposit / }).waitFor({ state: 'attached' })
    await page.goBack()
    await until(page, `window.scrollY === ${scrolled}`)
    t.pass('the list is where it was')
  })

  t.test('users who cannot settle have no queue and no actions', onPages, async (t) => {
    const trackingId = await create('withdrawal', '60')
    const queue = await openAs('viewer', '/dashboard/pay')
    await queue.getByRole('heading', { name: 'You don’t have access to this page' }).waitFor()
    for (const role of ['viewer', 'auditor', 'operations', 'administrator'] as const) {
      const page = await openAs(role, `/dashboard/transfers/${trackingId}`)
      await page
        .getByText(await reference(trackingId))
        .first()
        .waitFor()
      for (const action of ['Claim', 'Mark as paid…', 'Cancel…', 'Approve…'])
        t.equal(await page.getByRole('button', { name: action, exact: true }).count(), 0, `${role}: ${action}`)
      await page.close()
    }
  })

  t.test('no page causes an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
