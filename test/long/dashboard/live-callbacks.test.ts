import t from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { context, narrow, startDashboard, wide } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { startReceiver } from '../../callbacks/receiver.js'

t.setTimeout(180_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const receiver = await startReceiver(t)
  const { service, create, openAs, problems } = await startDashboard(t, browser, { callbackUrl: receiver.url })
  const page = await openAs('operator', '/dashboard/callbacks', { reducedMotion: 'reduce' })
  const live = page.getByRole('region', { name: 'Live callbacks' })
  const rows = live.locator('tbody tr')
  const status = page.getByRole('banner').getByRole('status')
  const streamAddress = /\/api\/callbacks\/stream\?/
  const isStream = (each: { url(): string }) => streamAddress.test(each.url())

  t.test('explains how to play and to receive callbacks before the first one', async (t) => {
    await page.getByRole('tab', { name: 'Live' }).click()
    t.match(page.url(), /\/callbacks\?view=live$/)
    await status.filter({ hasText: /^Live/ }).waitFor()
    await live.getByText('transferd trigger completed').waitFor()
    await live.getByText('transferd listen --forward-to http://127.0.0.1:4000/callbacks').waitFor()
    t.strictSame(await faultsOf(page), [], 'axe')
  })

  t.test('shows a callback and its attempt as they happen, and opens it by keyboard', async (t) => {
    await create('hosted', '66.01', { referenceId: 'order-1' })
    await rows.filter({ hasText: 'HTTP 200' }).waitFor()
    t.match(await rows.innerText(), /Completed\s+order-1\s+₺66\.01\s+HTTP 200, /)
    await page.getByText('New callbacks: 1', { exact: true }).waitFor({ state: 'attached' })
    await rows.first().focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    const [headers, body] = await dialog.locator('pre').allInnerTexts()
    t.match(headers, `webhook-id: ${receiver.received[0]!.webhookId}`)
    t.match(headers, 'webhook-signature: …')
    t.strictSame(JSON.parse(body!), { ...receiver.received[0]!.body, HashCode: '…' })
    t.strictSame(await faultsOf(page), [], 'axe')
  })

  t.test('resends the open callback, and shows that it was resent', async (t) => {
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Resend' }).click()
    await dialog.getByText('Resent', { exact: true }).waitFor()
    await dialog.getByRole('listitem').nth(1).waitFor()
    t.equal(receiver.received.length, 2)
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await rows.filter({ hasText: 'Attempt 2: HTTP 200' }).filter({ hasText: 'Resent' }).waitFor()
    t.equal(await rows.count(), 1)
  })

  t.test('pauses the list and continues without missing a callback', async (t) => {
    await live.getByRole('button', { name: 'Pause' }).click()
    await create('hosted', '66.10', { referenceId: 'order-2' })
    await live.getByRole('button', { name: 'Continue (3 new)' }).waitFor()
    t.equal(await rows.count(), 1)
    await live.getByRole('button', { name: 'Continue (3 new)' }).click()
    await rows.nth(3).waitFor()
    t.match(await rows.allInnerTexts(), [
      /Completed\s+order-2/,
      /Manual control\s+order-2/,
      /Cancelled\s+order-2/,
      /order-1/,
    ])
    await page.getByText('New callbacks: 3', { exact: true }).waitFor({ state: 'attached' })
    await page.setViewportSize(narrow)
    t.strictSame(await faultsOf(page), [], 'axe on a phone')
    await page.setViewportSize(wide)
  })

  t.test('misses no callback while the connection is lost', async (t) => {
    service.app.server.closeAllConnections()
    await status.filter({ hasText: /^No connection/ }).waitFor()
    await create('hosted', '66.01', { referenceId: 'order-3' })
    await rows.filter({ hasText: 'order-3' }).waitFor()
    await status.filter({ hasText: /^Live/ }).waitFor()
    t.equal(await rows.count(), 5)
  })

  t.test('misses no callback while a proxy responds with errors, after which browsers do not reconnect', async (t) => {
    const wasRejected = page.waitForResponse((response) => isStream(response) && response.status() === 429)
    await page.route(streamAddress, (route) => route.fulfill({ status: 429, contentType: 'text/event-stream' }))
    service.app.server.closeAllConnections()
    await create('hosted', '66.01', { referenceId: 'order-4' })
    await wasRejected
    t.equal(await rows.filter({ hasText: 'order-4' }).count(), 0)
    await page.unroute(streamAddress)
    await rows.filter({ hasText: 'order-4' }).waitFor()
    t.equal(await rows.count(), 6)
  })

  t.test('clears the list, and ends the stream when the tab is left', async (t) => {
    await live.getByRole('button', { name: 'Clear' }).click()
    await live.getByText('No callbacks yet').waitFor()
    const left = page.waitForEvent('requestfailed', isStream)
    await page.getByRole('tab', { name: 'Callbacks' }).click()
    await left
    t.match(page.url(), /\/callbacks$/)
    await page.close()
  })

  t.test('lets a user of several sandbox merchants choose one, and does not offer Resend to viewers', async (t) => {
    const red = await service.merchant({ name: 'Red Shop' })
    await service.merchants.execute(red.id, { type: 'DisableCallbacks', reason: 'test' }, context)
    const auditor = await openAs('auditor', '/dashboard/callbacks?view=live')
    await auditor.getByRole('banner').getByRole('status').filter({ hasText: /^Live/ }).waitFor()
    const list = auditor.getByRole('region', { name: 'Live callbacks' })
    await auditor
      .getByRole('button', { name: /Blue Shop.*Merchant|Merchant.*Blue Shop/ })
      .last()
      .click()
    const opened = auditor.waitForResponse((response) => response.url().includes(red.id) && isStream(response))
    await auditor.getByRole('option', { name: 'Red Shop' }).click()
    await opened
    t.match(auditor.url(), `merchantId=${red.id}`)
    await create('hosted', '66.02', {}, red)
    await list.getByText('Waiting: the endpoint is disabled').waitFor()
    await list.getByText('Actual amount ₺65.02').waitFor()
    await list.locator('tbody time').click()
    await auditor.getByRole('dialog').getByText('No attempts yet').waitFor()
    t.equal(await auditor.getByRole('button', { name: 'Resend' }).count(), 0)
    await auditor.close()
  })

  t.test('has no live view without a sandbox merchant', async (t) => {
    const merchant = await service.merchant({ name: 'Green Shop', sandbox: false })
    const auditor = await openAs('auditor', `/dashboard/callbacks?view=live&merchantId=${merchant.id}`)
    await auditor.getByRole('region', { name: 'Endpoints' }).waitFor()
    t.equal(await auditor.getByRole('tab').count(), 0)
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
