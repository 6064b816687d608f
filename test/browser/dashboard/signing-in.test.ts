import { Secret, TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { long } from '../../support/long.js'
import { launchBrowser } from '../launch-browser.js'
import { password } from './dashboard-client.js'
import { emailOf, signIn, startDashboard } from './dashboard-service.js'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { openSignedOut, openAs, problems, time } = world
  const heading = { exact: true }
  // The tests of HTTP and of the pages' functions prove these rules, and the long form proves them on the pages.
  const onPages = { skip: long ? false : 'only in the long form' }
  // An open page follows and renders the changes of all later tests.
  t.afterEach(() => Promise.all(browser.contexts().flatMap((each) => each.pages().map((page) => page.close()))))

  t.test('reports a wrong password, and opens the requested page after the right one', async (t) => {
    const page = await openSignedOut('/dashboard/withdrawals')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(page, emailOf('viewer'), 'not my password')
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    t.equal(await page.getByRole('navigation').count(), 0, 'the sign-in page has no navigation')
    await signIn(page, emailOf('viewer'))
    await page.getByRole('heading', { name: 'Withdrawals', ...heading }).waitFor()
    t.match(page.url(), /\/dashboard\/withdrawals$/)
  })

  t.test('rejects further attempts after too many wrong passwords', onPages, async (t) => {
    const page = await openSignedOut()
    const alert = page.getByRole('alert')
    const guesses = 12
    let message = ''
    for (let guess = 0; guess < guesses && !/Too many/.test(message); guess++) {
      const responded = page.waitForResponse((response) => response.request().method() === 'POST')
      await signIn(page, emailOf('auditor'), `guess number ${guess}`)
      await responded
      message = await alert.innerText()
    }
    t.match(message, /Too many logins to this account/)
    await signIn(page, emailOf('auditor'))
    await alert.filter({ hasText: 'Too many' }).waitFor()
    t.pass('rejects even the right password from an unknown browser')
  })

  t.test('a temporary password allows only choosing a new one', onPages, async (t) => {
    const admin = await world.as('administrator')
    const { body } = await admin.get<{ items: { userId: string; email: string }[] }>('/users')
    const { userId } = body.items.find(({ email }) => email === emailOf('operations'))!
    const issued = await admin.send<{ password: string }>('POST', `/users/${userId}/reset`)
    const page = await openSignedOut('/dashboard/deposits')
    await signIn(page, emailOf('operations'), issued.body.password)
    await page.getByRole('heading', { name: 'Choose your password' }).waitFor()
    await page.goto(`${world.baseUrl}/dashboard/callbacks`)
    await page.getByRole('heading', { name: 'Choose your password' }).waitFor()
    t.equal(await page.getByRole('navigation').count(), 0)
    await page.getByLabel('Temporary password').fill(issued.body.password)
    await page.getByLabel('New password', heading).fill('too short')
    await page.getByLabel('New password again').fill('too short')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByRole('heading', { name: 'Choose your password' }).waitFor()
    await page.getByLabel('New password', heading).fill('a password of my own')
    await page.getByLabel('New password again').fill('a password of my own')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByRole('heading', { name: 'Callbacks', ...heading }).waitFor()
  })

  /** Pastes a text from the clipboard over the content of a field. */
  async function paste(page: Page, field: Locator, text: string) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.baseUrl })
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
    await field.focus()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('ControlOrMeta+v')
  }

  t.test('two-factor authentication requires a code, and each code works only once', onPages, async (t) => {
    const page = await openSignedOut('/dashboard/account')
    await signIn(page, emailOf('operator'))
    await page.getByRole('button', { name: 'Set up' }).click()
    const dialog = page.getByRole('dialog')
    const secret = /[A-Z2-7]{16,}/.exec((await dialog.innerText()).replaceAll(' ', ''))?.[0]
    const code = () =>
      new TOTP({ secret: Secret.fromBase32(secret!) }).generate({ timestamp: Date.now() + time.aheadMs })
    const used = code()
    await paste(page, dialog.getByRole('textbox', { name: 'Code' }), `${used.slice(0, 3)} ${used.slice(3)}`)
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('Two-factor authentication is on.').waitFor()

    const other = await openSignedOut()
    await other.getByLabel('Email').waitFor()
    await paste(other, other.getByLabel('Email'), `<mailto:${emailOf('operator').replace('@', '\uff20')}>\u200b`)
    await other.getByLabel('Password').fill(password)
    await other.getByRole('button', { name: 'Sign in' }).click()
    const field = other.getByLabel('Code from your authenticator app')
    await field.fill(used)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('alert').filter({ hasText: 'already used' }).waitFor()
    time.aheadMs += 31_000
    const next = code()
    const inArabic = next.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0x660 + Number(digit)))
    await paste(other, field, ` ${inArabic.slice(0, 3)}\u2011${inArabic.slice(3)}\n`)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('heading', { name: 'Overview', ...heading }).waitFor()
    t.equal(await other.getByRole('navigation').count(), 1)

    await page.getByRole('alertdialog').getByRole('button', { name: 'Create recovery codes' }).click()
    const codes = (await page.getByRole('dialog').locator('code').innerText()).trim().split('\n')
    await page.getByRole('button', { name: 'Copy Recovery codes' }).click()
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('You have 10 recovery codes left').waitFor()
    const withoutPhone = await openSignedOut()
    await signIn(withoutPhone, emailOf('operator'))
    await withoutPhone.getByRole('button', { name: 'Use a recovery code instead' }).click()
    await withoutPhone.getByLabel('Recovery code', heading).waitFor()
    const typed = ` ${codes[0]!.toUpperCase().replaceAll('-', ' \u2013 ')} `
    await paste(withoutPhone, withoutPhone.getByLabel('Recovery code', heading), typed)
    await withoutPhone.getByRole('button', { name: 'Sign in' }).click()
    await withoutPhone.getByRole('heading', { name: 'Overview', ...heading }).waitFor()
  })

  t.test('signing out everywhere ends the sessions of other browsers', onPages, async (t) => {
    const [page, other] = [await openSignedOut('/dashboard/account'), await openSignedOut('/dashboard/account')]
    for (const each of [page, other]) await signIn(each, emailOf('approver'))
    await other.getByRole('heading', { name: 'Your account', ...heading }).waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByText('You are signed out.').waitFor()
    await page.getByRole('heading', { name: 'Sign in', ...heading }).waitFor()
    await other.getByRole('link', { name: 'Deposits' }).click()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.locator('[inert]').getByRole('navigation').waitFor()
    t.pass('the page can no longer be used')
  })

  t.test('a disabled user loses access at the next click and cannot sign in again', onPages, async (t) => {
    // This page has no live updates, which would notice the end of the session automatically.
    const page = await openAs('viewer', '/dashboard/account')
    await page.getByRole('heading', { name: 'Your account', ...heading }).waitFor()
    const admin = await openAs('administrator', '/dashboard/users')
    await admin.getByText(emailOf('viewer')).first().click()
    await admin.getByRole('button', { name: 'Disable' }).click()
    await admin.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
    await admin.getByText('is disabled').waitFor()
    // On a slow machine, a periodic request has already covered the page with the sign-in.
    await page.getByRole('link', { name: 'Deposits' }).dispatchEvent('click')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(page, emailOf('viewer'))
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    t.match(await page.getByRole('alert').innerText(), /email address, the password or the code is wrong/)
  })

  t.test(
    'a filled dialog continues after its session ended, and secrets close only after they were copied',
    async (t) => {
      const page = await openAs('administrator', '/dashboard/users')
      await page.getByRole('button', { name: 'Create user' }).click()
      const dialog = page.getByRole('dialog', { name: 'Create user' })
      await dialog.getByLabel('Name').fill('Grace Hopper')
      await dialog.getByLabel('Email address').fill('grace@blue.example')
      await dialog.getByRole('button', { name: 'Create' }).click()
      await dialog.getByText('This field is required.').waitFor()
      await dialog.getByText('Blue Shop').click()
      await page.context().clearCookies()
      // On a slow machine, a periodic request has already opened the sign-in above the dialog.
      await dialog.getByRole('button', { name: 'Create' }).dispatchEvent('click')
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      t.equal(await again.getByLabel('Email address').inputValue(), emailOf('administrator'))
      await again.getByLabel('Password', heading).fill('not my password')
      await again.getByRole('button', { name: 'Sign in' }).click()
      await again.getByRole('alert').filter({ hasText: 'Incorrect details' }).waitFor()
      await again.getByLabel('Password', heading).fill(password)
      await again.getByRole('button', { name: 'Sign in' }).click()
      const secret = page.getByRole('dialog', { name: /Grace Hopper/ })
      const close = secret.getByRole('button', { name: /I have/ })
      await close.waitFor()
      await page.keyboard.press('Escape')
      t.ok(await close.isDisabled(), 'nothing closes it')
      t.equal(await secret.getByRole('button', { name: 'Close' }).count(), 0)
      await secret.getByRole('button', { name: /^Copy / }).click()
      await close.click()
      await page.getByRole('heading', { name: 'Grace Hopper' }).waitFor()
    },
  )

  t.test('unsaved settings are counted and marked, and leaving them asks', onPages, async (t) => {
    const page = await openAs('administrator', `/dashboard/merchants/${world.shop.id}`)
    const name = page.getByRole('textbox', { name: /^Name/ })
    await name.fill('Red Shop')
    await page.getByText('Cancel deposits whose amount differs').click()
    await page.getByText('2 changes not saved').waitFor()
    await page.getByText('Saved value: Blue Shop').waitFor()
    await page.getByRole('tab', { name: 'API keys' }).click()
    await page.getByRole('link', { name: 'Deposits' }).click()
    const question = page.getByRole('alertdialog', { name: 'Leave without saving?' })
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await page.getByRole('tab', { name: 'Settings' }).click()
    t.equal(await name.inputValue(), 'Red Shop')
    await page.getByRole('button', { name: 'Discard' }).click()
    t.equal(await name.inputValue(), 'Blue Shop')
    await page.getByRole('link', { name: 'Deposits' }).click()
    await page.getByRole('heading', { name: 'Deposits', ...heading }).waitFor()
  })

  t.test('without a connection the page says so, and goes on when it is back', onPages, async (t) => {
    const page = await openAs('approver', '/dashboard/deposits')
    const live = page.getByRole('status').filter({ hasText: /^Live, / })
    await live.waitFor()
    await page.context().setOffline(true)
    await page.getByText('No connection.', heading).waitFor()
    t.equal(await live.count(), 0)
    await page.getByRole('link', { name: 'Callbacks' }).click()
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'Callbacks', ...heading }).waitFor()
    await page.getByText('No connection.', heading).waitFor({ state: 'detached' })
    t.equal(await page.getByRole('alert').count(), 0)
    problems.splice(0)
  })

  t.test('a list of a paused projection is never called live', onPages, async (t) => {
    const page = await openAs('approver', '/dashboard/deposits')
    const live = page.getByRole('status').filter({ hasText: /^Live, / })
    await live.waitFor()
    const admin = await world.as('administrator')
    await admin.send('POST', '/operations/projections/transfers/pause', {})
    await page.getByText('This list is paused.').waitFor()
    t.equal(await live.count(), 0)
    await admin.send('POST', '/operations/projections/transfers/resume', {})
    await live.waitFor()
  })

  t.test('the palette finds transfers as one types, and remembers them', onPages, async (t) => {
    await world.create('withdrawal', '47.11', { referenceId: 'order-4711-blue' })
    const page = await openAs('auditor', '/dashboard/statement')
    await page.getByRole('heading', { name: 'Statement', ...heading }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('order-47')
    await page.getByRole('menuitem').filter({ hasText: 'order-4711-blue' }).filter({ hasText: '47.11' }).click()
    await page.getByRole('heading', { name: /order-4711-blue/ }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('group', { name: 'Recent' }).getByText('order-4711-blue').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Audit', ...heading }).click()
    await page.getByLabel('Tracking ID or reference').fill('order-4711-blue')
    await page.getByRole('button', { name: 'Show', ...heading }).click()
    const created = page.getByRole('listitem').filter({ hasText: 'Withdrawal created' })
    await created.locator('ins').nth(2).waitFor()
    t.match(await created.locator('ins').allInnerTexts(), ['order-4711-blue', 'Pending', /47\.11/])
  })

  t.test('validation messages and dates follow the chosen language, not the browser', onPages, async (t) => {
    const page = await openSignedOut('/dashboard', { locale: 'en-US' })
    await page.getByRole('button', { name: 'Türkçe' }).click()
    await page.getByLabel('E-posta').fill('nobody')
    await page.getByRole('button', { name: 'Giriş yap' }).click()
    await page.getByText('ad@ornek.com gibi').waitFor()
    t.pass()
  })

  t.test('no page causes an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
