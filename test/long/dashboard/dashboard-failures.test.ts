import t from 'tap'
import { password } from '../../browser/dashboard/dashboard-client.js'
import { emailOf, signIn, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { openSignedOut, openAs, problems, time, service } = world
  const account = '/dashboard/account'
  const confirmAfterMs = 11 * 60_000

  /** Signs in through the page in a separate browser, so that its session is used by no other test. */
  async function openSignedIn(role: Parameters<typeof emailOf>[0], path = account) {
    const page = await openSignedOut(path)
    await signIn(page, emailOf(role))
    await page.getByRole('navigation').waitFor()
    return page
  }

  t.test('reports a failed request, and repeats it on request or when the service is back', async (t) => {
    const page = await openAs('viewer', account)
    await page.getByRole('heading', { name: 'Active sessions' }).waitFor()
    let isDown = true
    await page.route('**/dashboard/api/sessions', (route) => (isDown ? route.abort() : route.continue()))
    await page.reload()
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'The service is unavailable' }).waitFor()
    isDown = false
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('grid', { name: 'Active sessions' }).waitFor()
    t.equal(await alert.count(), 0)
    isDown = true
    await page.reload()
    await alert.filter({ hasText: 'The service is unavailable' }).waitFor()
    isDown = false
    await page.getByRole('grid', { name: 'Active sessions' }).waitFor()
    t.equal(await alert.count(), 0)
    await page.close()
  })

  t.test('shows the shape of the page until each part of it arrives', async (t) => {
    await world.create('native', '10.00')
    const page = await openAs('viewer', account)
    const arrived: string[] = []
    /** Holds back the requests until the function that it returns is called. */
    const holdBack = async (name: string, url: string) => {
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      await page.route(url, async (route) => {
        await released
        await route.continue()
      })
      return () => {
        arrived.push(name)
        release()
      }
    }
    const scripts = await holdBack('scripts', '**/dashboard/**/*.js')
    const session = await holdBack('session', '**/dashboard/api/session')
    const rows = await holdBack('rows', '**/dashboard/api/transfers?**')
    await page.goto(`${world.baseUrl}/dashboard/deposits`, { waitUntil: 'commit' })
    const skeleton = page.locator('.Skeleton-row').first()
    await skeleton.waitFor()
    t.strictSame(arrived, [], 'before any script')
    scripts()
    await page.locator('html[data-theme]').waitFor({ state: 'attached' })
    await skeleton.waitFor()
    t.strictSame(arrived, ['scripts'], 'before the session')
    session()
    await page.getByRole('heading', { name: 'Deposits', exact: true }).waitFor()
    await page.locator('.Loading').first().waitFor()
    t.equal(await page.locator('tbody tr').count(), 0)
    rows()
    await page.locator('tbody tr').first().waitFor()
    t.equal(await page.locator('.Skeleton-row, .Loading').count(), 0)
    await page.close()
  })

  t.test('reports a change without a response as unknown, and does not send it twice', async (t) => {
    const page = await openSignedIn('operations')
    let sent = 0
    await page.route('**/dashboard/api/session/second-factor', async (route) => {
      sent += 1
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Set up' }).click()
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'The outcome is unknown' }).waitFor()
    t.match(await alert.innerText(), /Check the current state before you repeat it/)
    t.equal(sent, 1)
    await page.context().close()
  })

  t.test('an ended session covers the page with the sign-in, and then the page continues', async (t) => {
    const page = await openSignedIn('auditor', '/dashboard/users')
    await page.getByRole('heading', { name: 'Users', exact: true }).waitFor()
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Merchants' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.waitFor()
    await signIn(page, emailOf('auditor'))
    await page.getByRole('heading', { name: 'Merchants', exact: true }).waitFor()
    await page.getByRole('grid').getByText('Blue Shop').first().waitFor()
    await dialog.waitFor({ state: 'detached' })
    t.match(page.url(), /\/dashboard\/merchants$/)
    await page.context().close()
  })

  t.test('an action that requires a recent sign-in asks for the password and then continues', async (t) => {
    const page = await openSignedIn('administrator')
    time.aheadMs += confirmAfterMs
    const setUp = page.getByRole('button', { name: 'Set up' })
    const dialog = page.getByRole('dialog', { name: 'Confirm your password' })

    await setUp.click()
    await dialog.getByRole('button', { name: 'Go back' }).click()
    await page.getByRole('alert').filter({ hasText: 'Nothing was changed' }).waitFor()
    t.equal(await page.getByRole('dialog').count(), 0)

    await setUp.click()
    await dialog.getByLabel('Password').fill('a wrong password')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    const wrong = await dialog.getByRole('alert').innerText()
    t.match(wrong, /The email address, the password or the code is wrong\./)
    t.notMatch(wrong, /signed (in|out)/, 'the session has not ended')
    await dialog.getByLabel('Password').fill(password)
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    t.equal(await dialog.count(), 0)
    await page.context().close()
  })

  t.test('a tab uses the session that another tab has started', async (t) => {
    const page = await openSignedIn('approver')
    const other = await page.context().newPage()
    await page.context().clearCookies()
    await other.goto(`${world.baseUrl}${account}`)
    await signIn(other, emailOf('approver'))
    await other.getByRole('navigation').waitFor()
    await page.getByRole('button', { name: 'Set up' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await page.context().close()
  })

  t.test('reports pages that the role has no access to, and unknown pages', async (t) => {
    const page = await openAs('viewer', '/dashboard/users')
    await page.getByRole('heading', { name: 'You don’t have access to this page' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Users' }).count(), 0)
    await page.goto(`${world.baseUrl}/dashboard/no/such/page`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByRole('link', { name: 'Go to the overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.close()
  })

  t.test('the chosen merchant stays in the address on every page until all merchants are chosen', async (t) => {
    await service.merchant({ name: 'Second Shop' })
    const page = await openSignedIn('administrator', '/dashboard/statement')
    await page
      .getByRole('button', { name: /Merchant/ })
      .first()
      .click()
    await page.getByRole('option', { name: 'Second Shop' }).click()
    await page.waitForURL(/merchantId=/)
    await page.getByRole('link', { name: 'Callbacks' }).click()
    await page.waitForURL(/callbacks\?.*merchantId=/)
    await page.goBack()
    await page.waitForURL(/statement\?.*merchantId=/)
    await page
      .getByRole('button', { name: /Merchant/ })
      .first()
      .click()
    await page.getByRole('option', { name: 'All merchants' }).click()
    await page.waitForURL((url) => !url.searchParams.has('merchantId'))
    await page.getByRole('link', { name: 'Callbacks' }).click()
    await page.waitForURL((url) => url.pathname.endsWith('/callbacks') && !url.searchParams.has('merchantId'))
    t.pass('all merchants stay chosen')
    await page.context().close()
  })

  t.test('opening a page focuses its heading, and a skip link leads past the navigation', async (t) => {
    const page = await openAs('viewer', account)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content')
    await page.getByRole('link', { name: 'Statement', exact: true }).click()
    const heading = page.getByRole('heading', { level: 1, name: 'Statement' })
    await heading.waitFor()
    await page.locator('h1:focus').waitFor()
    t.match(await page.title(), /^Statement/)
    await page.close()
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
