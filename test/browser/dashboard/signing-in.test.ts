import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { launchBrowser } from '../launch-browser.js'
import { emailOf, giveCredentials, startDashboard } from './dashboard-service.js'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { openUnknown, openAs, problems, time } = world
  const heading = { exact: true }

  t.test('a wrong password is told, and the right one leads to where one was going', async (t) => {
    const page = await openUnknown('/dashboard/withdrawals')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await giveCredentials(page, emailOf('viewer'), 'not my password')
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    t.equal(await page.getByRole('navigation').count(), 0, 'nothing else is shown')
    await giveCredentials(page, emailOf('viewer'))
    await page.getByRole('heading', { name: 'Withdrawals', ...heading }).waitFor()
    t.match(page.url(), /\/dashboard\/withdrawals$/)
  })

  t.test('who guesses has to wait, and is told so', async (t) => {
    const page = await openUnknown()
    const alert = page.getByRole('alert')
    const guesses = 12
    let told = ''
    for (let guess = 0; guess < guesses && !/Too many/.test(told); guess++) {
      const answered = page.waitForResponse((response) => response.request().method() === 'POST')
      await giveCredentials(page, emailOf('auditor'), `guess number ${guess}`)
      await answered
      told = await alert.innerText()
    }
    t.match(told, /Too many attempts to sign in/)
    await giveCredentials(page, emailOf('auditor'))
    await alert.filter({ hasText: 'Too many' }).waitFor()
    t.pass('not even with the right password, from a browser that is not known')
  })

  t.test('a first password is good for choosing another, and for nothing else', async (t) => {
    const admin = await world.as('administrator')
    const { body } = await admin.get<{ items: { userId: string; email: string }[] }>('/users')
    const { userId } = body.items.find(({ email }) => email === emailOf('operations'))!
    const issued = await admin.send<{ password: string }>('POST', `/users/${userId}/reset`)
    const page = await openUnknown('/dashboard/deposits')
    await giveCredentials(page, emailOf('operations'), issued.body.password)
    await page.getByRole('heading', { name: 'Choose your password' }).waitFor()
    await page.goto(`${world.baseUrl}/dashboard/callbacks`)
    await page.getByRole('heading', { name: 'Choose your password' }).waitFor()
    t.equal(await page.getByRole('navigation').count(), 0)
    await page.getByLabel('The password that you were given').fill(issued.body.password)
    await page.getByLabel('New password', heading).fill('too short')
    await page.getByLabel('New password again').fill('too short')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('heading', { name: 'Choose your password' }).waitFor()
    await page.getByLabel('New password', heading).fill('a password of my own')
    await page.getByLabel('New password again').fill('a password of my own')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('heading', { name: 'Callbacks', ...heading }).waitFor()
  })

  t.test('with a second factor the password alone opens nothing, and a code opens once', async (t) => {
    const page = await openUnknown('/dashboard/account')
    await giveCredentials(page, emailOf('operator'))
    await page.getByRole('button', { name: 'Set up' }).click()
    const dialog = page.getByRole('dialog')
    const secret = /[A-Z2-7]{16,}/.exec((await dialog.innerText()).replaceAll(' ', ''))?.[0]
    const code = () =>
      new TOTP({ secret: Secret.fromBase32(secret!) }).generate({ timestamp: Date.now() + time.aheadMs })
    const used = code()
    await dialog.getByRole('textbox', { name: 'Code' }).fill(used)
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('The second factor is on.').waitFor()

    const other = await openUnknown()
    await giveCredentials(other, emailOf('operator'))
    const field = other.getByLabel('Code from your authenticator app')
    await field.fill(used)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    time.aheadMs += 31_000
    await field.fill(code())
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('heading', { name: 'Overview', ...heading }).waitFor()
    t.equal(await other.getByRole('navigation').count(), 1)
  })

  t.test('signing out everywhere ends the other browsers, too', async (t) => {
    const [page, other] = [await openUnknown('/dashboard/account'), await openUnknown('/dashboard/account')]
    for (const each of [page, other]) await giveCredentials(each, emailOf('approver'))
    await other.getByRole('heading', { name: 'Your account', ...heading }).waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.getByRole('link', { name: 'Deposits' }).click()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.equal(await other.getByRole('navigation').count(), 0)
  })

  t.test('whoever is disabled is out at their next click, and stays out', async (t) => {
    // A page without a live view, which would end by itself.
    const page = await openAs('viewer', '/dashboard/account')
    await page.getByRole('heading', { name: 'Your account', ...heading }).waitFor()
    const admin = await openAs('administrator', '/dashboard/people')
    await admin.getByText(emailOf('viewer')).first().click()
    await admin.getByRole('button', { name: 'Disable' }).click()
    await admin.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
    await admin.getByText('is disabled').waitFor()
    await page.getByRole('link', { name: 'Deposits' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await giveCredentials(page, emailOf('viewer'))
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    t.match(await page.getByRole('alert').innerText(), /E-mail address, password or code is wrong/)
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
