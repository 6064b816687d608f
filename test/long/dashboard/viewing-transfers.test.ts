import type { Page } from 'playwright-core'
import t from 'tap'
import { context, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { cellOf, rawCells } from '../../support/spreadsheet.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { service, create, listed, openAs, problems, baseUrl } = world

  const trackingIds: string[] = []
  for (const [n, name] of ['Ada Lovelace', 'Grace Hopper', 'Barbara Liskov', 'Grace Murray'].entries())
    trackingIds.push(await create('native', `${n + 1}00.25`, { name, referenceId: `order-${n}` }))
  await service.transfers.act(
    trackingIds[1]!,
    { type: 'Complete', transactionAmountMinor: 150_25n, reason: 'paid in part' },
    context,
  )
  await service.transfers.act(trackingIds[2]!, { type: 'Cancel', message: 'no longer needed' }, context)
  for (const trackingId of trackingIds) await listed(trackingId)
  const other = await service.merchant({ name: 'Green Shop' })
  const foreignTransfer = await create('native', '5', { referenceId: 'others-1' }, other)

  t.test('a filter finds a deposit, the address keeps the filter, and Back removes it', async (t) => {
    const page = await openAs('viewer', '/dashboard/deposits')
    await page.getByText('order-3').first().waitFor()
    await page.getByLabel('Search').fill('grace')
    await page.getByText('order-0').waitFor({ state: 'detached' })
    t.match(new URL(page.url()).search, /text=grace/i)
    await page.getByText('order-3').first().waitFor()
    const shared = await openAs('approver', new URL(page.url()).pathname + new URL(page.url()).search)
    await shared.getByText('order-1').first().waitFor()
    t.equal(await shared.getByText('order-0').count(), 0)
    await page.goBack()
    await page.getByText('order-0').first().waitFor()
    await page.goto(`${baseUrl}/dashboard/deposits?status=Cancelled`)
    await page.getByText('order-2').first().waitFor()
    t.equal(await page.getByText('order-3').count(), 0)
  })

  t.test('the downloaded file contains the rows on the screen', async (t) => {
    const page = await openAs('viewer', '/dashboard/deposits?text=grace')
    await page.getByText('order-3').first().waitFor()
    const download = async (entry: string) => {
      await page.getByRole('button', { name: 'Download CSV' }).click()
      const saved = page.waitForEvent('download')
      await page.getByRole('menuitem', { name: entry }).click()
      const file = await saved
      let text = ''
      for await (const chunk of await file.createReadStream()) text += String(chunk)
      return { text, name: file.suggestedFilename() }
    }
    const exact = await download('For programs')
    t.equal(exact.name, 'transfers-exact.csv')
    t.match(exact.text, /^createdAt,.*\r\n\d{4}-\d\d-\d\dT/)
    const { text, name } = await download('For spreadsheets')
    t.equal(name, 'transfers.csv')
    t.equal(text[0], '\ufeff', 'spreadsheets read it as UTF-8')
    const [head = [], ...rows] = rawCells(text, ',')
    const column = (name: string) => rows.map((row) => cellOf(row[head.indexOf(name)]!))
    t.same(column('paymentMethod')[0], { is: 'text', text: 'Wallet' }, 'payment methods have their names')
    const onScreen = (await page.locator('tbody tr').allInnerTexts()).map((row) => /order-\d/.exec(row)?.[0])
    t.same([...onScreen].sort(), ['order-1', 'order-3'])
    t.same(
      column('referenceId'),
      onScreen.map((reference) => ({ is: 'text', text: reference })),
    )
    t.match(text, /150\.25/, 'amounts are not in minor units')
  })

  t.test('Ctrl+K finds references of the user’s own merchants only', async (t) => {
    const page = await openAs('viewer', '/dashboard/deposits')
    await page.getByText('order-3').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('order-1')
    // The palette offers the lists once the results are those of the whole text.
    await page.getByRole('menuitem').filter({ hasText: 'Deposits with “order-1”' }).waitFor()
    t.match(await page.getByRole('menuitem').first().innerText(), /Grace Hopper/, 'the transfer comes first')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Deposit order-1' }).waitFor()
    t.match(page.url(), new RegExp(trackingIds[1]!))
    await page.getByText('Less than requested').waitFor()
    const text = await page.getByRole('main').innerText()
    t.match(text, /200\.25[\s\S]*150\.25/, 'the requested and the received amount')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('others-1')
    await page.getByText('No results for “others-1”.').waitFor()
    await page.goto(`${baseUrl}/dashboard/transfers/${foreignTransfer}`)
    await page.getByText('Transfer not found.').waitFor()
  })

  t.test('the statement equals the sums in the log', async (t) => {
    const page = await openAs('viewer', '/dashboard/statement')
    const total = page.getByRole('row', { name: /^Total/ }).first()
    await total.waitFor()
    const events = await service.log()
    const sum = (type: string, field: string) =>
      events
        .filter((event) => event.type === type && trackingIds.includes(event.stream.slice('transfer-'.length)))
        .reduce((sum, { data }) => sum + Number(data[field]), 0)
    const shown = (await total.innerText()).replaceAll(',', '')
    t.match(shown, `${(sum('DepositCreated', 'amountMinor') / 100).toFixed(2)}`)
    t.match(shown, `${(sum('TransferCompleted', 'transactionAmountMinor') / 100).toFixed(2)}`)
    t.match(await page.getByRole('main').innerText(), /50\.00/, 'the difference of the deposit that was paid in part')

    // More than 12 hours ahead of UTC, and not by whole hours.
    const abroad = await openAs('viewer', '/dashboard/statement', { timezoneId: 'Pacific/Chatham' })
    await abroad
      .getByRole('row', { name: /^Total/ })
      .first()
      .waitFor()
    await abroad.getByText('days in the time zone Pacific/Chatham').waitFor()
    const day = new Date().toLocaleDateString('en-GB', { timeZone: 'Pacific/Chatham', dateStyle: 'medium' })
    await abroad.getByRole('rowheader', { name: day }).first().waitFor()
    const linkOf = async (page: Page, button: string, entry: string) => {
      await page.getByRole('button', { name: button }).click()
      const link = await page.getByRole('menuitem', { name: entry }).getAttribute('href')
      return Object.fromEntries(new URL(link!, baseUrl).searchParams)
    }
    const chatham = { timeZone: 'Pacific/Chatham' }
    t.match(await linkOf(abroad, 'Download CSV', 'For spreadsheets'), { ...chatham, language: 'en-GB' })
    const turkish = await openAs('viewer', '/dashboard/statement', { timezoneId: 'Pacific/Chatham', locale: 'tr-TR' })
    await turkish.getByText('günler Pacific/Chatham saat dilimine göredir').waitFor()
    t.match(await linkOf(turkish, 'CSV indir', 'Hesap tabloları için'), { ...chatham, language: 'tr-TR' })
  })

  t.test('the overview updates automatically', async (t) => {
    const page = await openAs('viewer', '/dashboard')
    await page.getByText(/^Live/).first().waitFor()
    const card = page
      .getByRole('region', { name: 'Deposits' })
      .or(page.locator('section', { hasText: 'Deposits' }))
      .first()
    const before = await card.innerText()
    await create('native', '7.77')
    const deadline = Date.now() + 60_000
    while ((await card.innerText()) === before && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 100))
    t.not(await card.innerText(), before, 'the page was not reloaded')
  })

  t.test('arrow keys move through the hours of the chart, and the table has the same numbers', async (t) => {
    await Promise.all(Array.from({ length: 10 }, () => create('native', '1.00')))
    const page = await openAs('viewer', '/dashboard')
    const chart = page.getByRole('group', { name: /^Chart: Deposits/ })
    await chart.waitFor()
    await chart.focus()
    await page.keyboard.press('ArrowRight')
    const tip = page.getByRole('status').filter({ hasText: 'Requested' })
    const hour = (await tip.locator('strong').innerText()).trim()
    const requested = /Requested\s*(\d+)/.exec(await tip.innerText())?.[1]
    t.ok(Number(requested) >= 10, `${hour}: ${requested}`)
    await page.keyboard.press('ArrowRight')
    await page.getByRole('status').filter({ hasText: 'Yesterday' }).waitFor()
    await page.getByRole('button', { name: 'Table' }).first().click()
    const row = page.getByRole('grid').first().getByRole('row').filter({ hasText: hour })
    t.match(await row.innerText(), new RegExp(`\\s${requested}\\s`))
    await page.close()
  })

  t.test('every role has access to its own pages only', async (t) => {
    const money = ['Deposits', 'Withdrawals', 'Bank statements', 'Reconciliation', 'Statement']
    const pagesOfAllRoles = ['Overview', ...money, 'Callbacks', 'Merchants']
    const more = {
      viewer: [],
      operator: ['Pay withdrawals'],
      approver: ['Pay withdrawals'],
      auditor: ['Users', 'Operations', 'Audit', 'Privacy'],
      operations: ['Operations'],
      administrator: ['Users', 'Operations', 'Audit', 'Privacy'],
    } as const
    for (const [role, own] of Object.entries(more) as [keyof typeof more, readonly string[]][]) {
      const page = await openAs(role, '/dashboard/account')
      await page.getByRole('heading', { name: 'Your account' }).waitFor()
      const links = await page.getByRole('navigation').getByRole('link').all()
      const names = await Promise.all(links.map(async (link) => (await link.getAttribute('title')) ?? ''))
      t.same(names.map((name) => name.trim()).sort(), [...pagesOfAllRoles, ...own].sort(), role)
      for (const [path, title] of [
        ['/users', 'Users'],
        ['/pay', 'Pay withdrawals'],
      ] as const) {
        await page.goto(`${baseUrl}/dashboard${path}`)
        const expected = own.includes(title) ? title : 'You don’t have access to this page'
        await page.getByRole('heading', { name: expected, exact: true, level: 1 }).waitFor()
      }
      await page.close()
    }
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
