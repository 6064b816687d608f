import t from 'tap'
import { password } from '../../browser/dashboard/dashboard-client.js'
import { emailOf, giveCredentials, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { openUnknown, openAs, problems, time, service } = world
  const account = '/dashboard/account'
  const confirmAfterMs = 11 * 60_000

  /** A browser in which somebody has signed in by hand: its session is theirs alone. */
  async function signedIn(role: Parameters<typeof emailOf>[0], path = account) {
    const page = await openUnknown(path)
    await giveCredentials(page, emailOf(role))
    await page.getByRole('navigation').waitFor()
    return page
  }

  t.test('what cannot be fetched is told as such, and tried again by a press', async (t) => {
    const page = await openAs('viewer', account)
    await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
    let isAway = true
    await page.route('**/dashboard/api/sessions', (route) => (isAway ? route.abort() : route.continue()))
    await page.reload()
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'The service cannot be reached' }).waitFor()
    isAway = false
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('grid', { name: 'Where you are signed in' }).waitFor()
    t.equal(await alert.count(), 0)
    await page.close()
  })

  t.test('a change without an answer is not called failed: it may have been done, and is not sent twice', async (t) => {
    const page = await signedIn('operations')
    let sent = 0
    await page.route('**/dashboard/api/session/second-factor', async (route) => {
      sent += 1
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Set up' }).click()
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'It is not known whether this was done' }).waitFor()
    t.match(await alert.innerText(), /Look at the current state before you repeat it/)
    t.equal(sent, 1)
    await page.context().close()
  })

  t.test('a session that ended shows the sign-in in place of the page, and leads back to it', async (t) => {
    const page = await signedIn('auditor', '/dashboard/people')
    await page.getByRole('heading', { name: 'People', exact: true }).waitFor()
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Your account' }).click()
    await page.getByText('You were signed out').waitFor()
    t.equal(await page.getByRole('navigation').count(), 0)
    t.notMatch(await page.content(), /auditor@/, 'nothing of what was shown is left')
    await giveCredentials(page, emailOf('auditor'))
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    t.match(page.url(), /\/dashboard\/account$/)
    await page.context().close()
  })

  t.test('what needs a recent sign-in asks for the password, and goes on with it', async (t) => {
    const page = await signedIn('administrator')
    time.aheadMs += confirmAfterMs
    const setUp = page.getByRole('button', { name: 'Set up' })
    const asked = page.getByRole('dialog', { name: 'Is it you?' })

    await setUp.click()
    await asked.getByRole('button', { name: 'Go back' }).click()
    await page.getByRole('alert').filter({ hasText: 'Nothing was done' }).waitFor()
    t.equal(await page.getByRole('dialog').count(), 0)

    await setUp.click()
    await asked.getByLabel('Password').fill('something else')
    await asked.getByRole('button', { name: 'Confirm' }).click()
    await asked.getByRole('alert').waitFor()
    await asked.getByLabel('Password').fill(password)
    await asked.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    t.equal(await asked.count(), 0)
    await page.context().close()
  })

  t.test('a tab that another one has overtaken finds the new session by itself', async (t) => {
    const page = await signedIn('approver')
    const other = await page.context().newPage()
    await page.context().clearCookies()
    await other.goto(`${world.baseUrl}${account}`)
    await giveCredentials(other, emailOf('approver'))
    await other.getByRole('navigation').waitFor()
    await page.getByRole('button', { name: 'Set up' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await page.context().close()
  })

  t.test('a page that the role does not have says so, and one that there is not as well', async (t) => {
    const page = await openAs('viewer', '/dashboard/people')
    await page.getByText('Your role does not have this page').waitFor()
    t.equal(await page.getByRole('link', { name: 'People' }).count(), 0)
    await page.goto(`${world.baseUrl}/dashboard/no/such/page`)
    await page.getByText('There is no such page').waitFor()
    await page.getByRole('link', { name: 'Go to the overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.close()
  })

  t.test('the chosen merchant goes along from page to page, in the address, until all are chosen', async (t) => {
    await service.merchant({ name: 'Second Shop' })
    const page = await signedIn('administrator', '/dashboard/statement')
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
    t.pass('and stays so')
    await page.context().close()
  })

  t.test('going somewhere puts the focus on the heading, and the skip link leads past the navigation', async (t) => {
    const page = await openAs('viewer', account)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
    await page.getByRole('link', { name: 'Statement' }).click()
    const heading = page.getByRole('heading', { level: 1, name: 'Statement' })
    await heading.waitFor()
    await page.locator('h1:focus').waitFor()
    t.match(await page.title(), /^Statement/)
    await page.close()
  })

  t.test('no page did anything that it must not', async (t) => t.strictSame(problems, []))
}
