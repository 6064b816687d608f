import t from 'tap'
import { startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const { openAs, create, problems } = await startDashboard(t, browser)
  const first = await create('native', '10.00')
  const second = await create('native', '20.00')
  const third = await create('native', '30.00')
  const list = '/dashboard/deposits'
  const active = 'document.activeElement'

  t.test('a filter keeps the typed text, and the address follows it', async (t) => {
    const page = await openAs('operator', list)
    const search = page.getByLabel('Search', { exact: true })
    await page.getByRole('row').nth(3).waitFor()
    await search.pressSequentially('Ada')
    await page.waitForURL(/[?&]text=Ada(&|$)/)
    await search.pressSequentially(' ')
    await search.pressSequentially('Love')
    await page.waitForURL(/[?&]text=Ada(\+|%20)Love(&|$)/)
    t.equal(await search.inputValue(), 'Ada Love', 'the space is still there')
    await page.goBack()
    await until(page, `new URLSearchParams(location.search).get('text') !== 'Ada Love'`)
    t.equal(
      await search.inputValue(),
      new URL(page.url()).searchParams.get('text') ?? '',
      'the field follows the Back button',
    )
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.waitForURL((url) => !url.searchParams.has('text'))
    t.equal(await search.inputValue(), '')
    await page.close()
  })

  t.test('the keyboard moves through rows, and Enter opens one', async (t) => {
    const page = await openAs('operator', list)
    const rows = page.getByRole('grid').locator('tbody tr')
    await rows.nth(2).waitFor()
    const isAt = (index: number) => until(page, `${active} === document.querySelectorAll('tbody tr')[${index}]`)
    await rows.nth(0).focus()
    for (const [key, index] of [
      ['j', 1],
      ['ArrowDown', 2],
      ['j', 2],
      ['k', 1],
      ['ArrowUp', 0],
      ['End', 2],
      ['Home', 0],
    ] as const) {
      await page.keyboard.press(key)
      await isAt(index)
    }
    t.equal(await page.locator('tbody tr[tabindex="0"]').count(), 1, 'the Tab key stops at one row')
    await page.keyboard.press('Control+End')
    await isAt(0)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/transfers/${second}`))
    t.pass('opens the second of the three newest')
    await page.close()
  })

  t.test('the newest transfers come first, and pressing the heading changes the order and the address', async (t) => {
    const page = await openAs('operator', list)
    const addresses = page.getByRole('grid').locator('tbody a')
    const order = async () => {
      const found: string[] = await page.evaluate("[...document.querySelectorAll('tbody a')].map(({ href }) => href)")
      return [first, second, third].map((id) => found.findIndex((href) => href.includes(id)))
    }
    await addresses.nth(2).waitFor()
    t.strictSame(await order(), [2, 1, 0])
    await page.getByRole('columnheader').filter({ hasText: 'Created' }).getByRole('button').click()
    await page.waitForURL(/sort=oldest/)
    await until(page, `document.querySelector('tbody a')?.href.includes('${first}')`)
    t.strictSame(await order(), [0, 1, 2])
    await page.reload()
    await addresses.nth(2).waitFor()
    t.strictSame(await order(), [0, 1, 2], 'the address restores the order')
    await page.close()
  })

  t.test('filters are chips that open and go, and views name them', async (t) => {
    const page = await openAs('operator', list)
    const found = page.getByRole('status').filter({ hasText: 'together' })
    await found.filter({ hasText: '3 of 3, together ₺60.00' }).waitFor()
    await page.keyboard.press('f')
    await page.getByRole('menuitem', { name: 'Status' }).click()
    await page.getByRole('option', { name: 'Completed' }).click()
    await page.waitForURL(/status=Completed/)
    await page.getByText('No transfers match these filters').waitFor()
    const chip = page.getByRole('button', { name: 'Status Completed' })
    await chip.click()
    await page.getByRole('option', { name: 'Pending' }).click()
    await page.getByRole('link', { name: 'Pending 3' }).and(page.locator('[aria-current]')).waitFor()
    await page.getByRole('button', { name: 'Remove filter: Status' }).click()
    await page.waitForURL((url) => !url.searchParams.has('status'))
    await page.getByLabel('Search', { exact: true }).fill('Ada')
    await page.waitForURL(/text=Ada/)
    await page.getByRole('button', { name: 'Save this view' }).click()
    await page.getByLabel('Name').fill('Ada only')
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Views' }).getByRole('link', { name: /^All/ }).click()
    await page.waitForURL((url) => !url.searchParams.has('text'))
    await page.reload()
    await page.getByRole('link', { name: 'Ada only 3' }).click()
    await page.waitForURL(/text=Ada/)
    await page.getByRole('button', { name: 'Remove view: Ada only' }).click()
    await page.getByRole('link', { name: 'Ada only' }).waitFor({ state: 'detached' })
    t.pass('the view is removed')
    await page.close()
  })

  t.test('the browser keeps the choice of columns', async (t) => {
    const page = await openAs('operator', list)
    const heading = page.getByRole('columnheader', { name: 'Status' })
    await heading.waitFor()
    t.equal(await page.locator('.DataTable[data-fits]').count(), 1, 'every column fits at 1280 px')
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Status' }).click()
    await heading.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.reload()
    await page.getByRole('columnheader', { name: 'Reference' }).waitFor()
    t.equal(await heading.count(), 0)
    await page.close()
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
