import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { collections } from '../../../src/read-models/documents.js'
import { password } from '../../browser/dashboard/dashboard-client.js'
import { context, signIn, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'
import { startReceiver } from '../../callbacks/receiver.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { until as untilTrue } from '../../support/until.js'

/** An image of one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const receiver = await startReceiver(t)
  const world = await startDashboard(t, browser, { callbackUrl: receiver.url, callbackOnCreate: true })
  const { service, create, openAs, openSignedOut, problems } = world
  const received = (trackingId: string) => receiver.received.filter((each) => each.trackingId === trackingId)
  async function waitFor(t: Test, condition: () => boolean, what: string): Promise<void> {
    for (let n = 0; n < 1_200 && !condition(); n++) await new Promise((resolve) => setTimeout(resolve, 50))
    t.ok(condition(), what)
  }
  async function copySecrets(page: Page): Promise<void> {
    for (const button of await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Copy / })
      .all())
      await button.click()
  }

  t.test('resends a callback from the page of its transfer', async (t) => {
    const trackingId = await create('native', '10')
    await waitFor(t, () => received(trackingId).length === 1, 'the callback of the creation arrived')
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page
      .getByRole('button', { name: /^Resend/ })
      .first()
      .click()
    await page.getByText('Resending 1 callback.').waitFor()
    await waitFor(t, () => received(trackingId).length === 2, 'the callback arrived again')
    const [first, second] = received(trackingId)
    t.equal(first!.webhookId, second!.webhookId, 'it is the same callback')
    await page.getByText('Request and response').first().click()
    const shown = await page.locator('.TransferPage-content pre').first().innerText()
    t.match(JSON.parse(shown), { TrackingId: trackingId, HashCode: '…' }, 'the body is shown without its hash code')
  })

  t.test('a disabled endpoint shows the reason, and an operator tests and enables it', async (t) => {
    receiver.behave = (_received, response) => void response.writeHead(410).end()
    const trackingId = await create('native', '11')
    await waitFor(t, () => received(trackingId).length === 1, 'the endpoint responded with 410')
    await service.until(() => service.directory.byId(world.shop.id)?.callbacksDisabled !== null)
    const viewer = await openAs('viewer', '/dashboard/callbacks')
    await viewer.getByText('Disabled').first().waitFor()
    await viewer.getByText(/410/).first().waitFor()
    t.equal(await viewer.getByRole('button', { name: /^Actions/ }).count(), 0, 'viewers have no actions')

    receiver.behave = (_received, response) => void response.writeHead(200).end()
    const page = await openAs('operator', '/dashboard/callbacks')
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Send test event' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click()
    await page
      .getByRole('dialog')
      .getByText(/Delivered$/)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Enable' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Enable' }).click()
    await page.getByText('The endpoint is enabled.').waitFor()
    await waitFor(t, () => received(trackingId).length === 2, 'the held-back callback is delivered')
  })

  t.test('an endpoint is failing from its first failed attempt on, and nothing is due in the past', async (t) => {
    receiver.behave = (_received, response) => void response.writeHead(500).end('The database is read-only')
    const trackingId = await create('native', '12')
    await waitFor(t, () => received(trackingId).length === 1, 'the first attempt failed')
    // An open list does not show a callback that is projected later.
    const callbacks = service.readModels.collection(collections.callbacks)
    await untilTrue(async () => (await callbacks.findOne({ trackingId }))?.lastFailure !== undefined)
    const page = await openAs('operator', '/dashboard/callbacks')
    await page.getByText(/^Failing since/).waitFor()
    await page.getByText('The database is read-only').waitFor()
    await page.getByRole('grid').getByText('HTTP 500').first().waitFor()
    // The clock of the browser is ahead, so the time of the next attempt has passed.
    await page.clock.setFixedTime(Date.now() + 3_600_000)
    await page.goto(`${world.baseUrl}/dashboard/transfers/${trackingId}`)
    t.equal(await page.getByText(/^Next attempt:/).innerText(), 'Next attempt: now')
    await service.merchants.execute(world.shop.id, { type: 'DisableCallbacks', reason: 'moving' }, context)
    await service.until(() => service.directory.byId(world.shop.id)?.callbacksDisabled !== null)
    await page.reload()
    await page.getByRole('region', { name: 'Callbacks' }).getByText('Waiting').waitFor()
    t.equal(await page.getByText(/^Next attempt:/).count(), 0, 'a disabled endpoint has no next attempt')
    receiver.behave = (_received, response) => void response.writeHead(200).end()
    await service.merchants.execute(world.shop.id, { type: 'EnableCallbacks' }, context)
  })

  t.test('an uploaded logo is on the payment page until it is removed, and a wrong file changes nothing', async (t) => {
    const { shop, baseUrl } = world
    const body = createBody('hosted', shop.secretKey, { referenceId: 'logo' }, '10.00')
    const created = await post(service.app, paths.hosted, body, { key: shop.webApiKey })
    const payment = await openSignedOut(new URL(created.json<{ url: string }>().url).pathname)
    const page = await openAs('administrator', `/dashboard/merchants/${shop.id}`)
    const card = page.getByRole('region', { name: 'Logo on the payment page' })
    const upload = async (buffer: Buffer, mimeType = 'image/png') => {
      await card.locator('input[type=file]').setInputFiles({ name: 'logo.png', mimeType, buffer })
      await card.getByRole('button', { name: 'Show this logo' }).click()
    }
    await card.getByRole('button', { name: 'Show this logo' }).click()
    await card.getByText('This field is required.').waitFor()
    await upload(Buffer.from('<svg/>'), 'image/svg+xml')
    await card.getByText('This type of file is not accepted.').waitFor()
    await upload(Buffer.from('not an image'))
    await card.getByText('A logo must be a PNG, JPEG or WebP image with at most 1,024 pixels per side.').waitFor()
    await upload(Buffer.concat([png, Buffer.alloc(128 * 1024)]))
    await card.getByText('The request is larger than 128 KiB.').waitFor()
    await payment.reload()
    t.equal(await payment.locator('img.logo').count(), 0)

    await upload(png)
    await page.getByText('The payment page shows the new logo.').waitFor()
    await card.getByRole('img', { name: 'Logo of Blue Shop' }).waitFor()
    await until(page, "document.querySelector('.MerchantLogo').naturalWidth === 1")
    await payment.reload()
    await until(payment, "document.querySelector('img.logo')?.naturalWidth === 1")
    t.equal(new URL((await payment.locator('img.logo').getAttribute('src'))!, baseUrl).origin, baseUrl)
    await card.getByRole('button', { name: 'Remove the logo' }).click()
    await page.getByText('The payment page shows no logo.').waitFor()
    await payment.reload()
    t.equal(await payment.locator('img.logo').count(), 0)
  })

  t.test('an administrator creates a merchant and a key, which are shown once and work', async (t) => {
    const page = await openAs('administrator', '/dashboard/merchants')
    await page.getByRole('button', { name: 'Create merchant' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Red Shop')
    await dialog.getByLabel('Callback URL').fill('http://127.0.0.1:9/callbacks')
    await dialog.getByLabel('Allowed IP addresses').fill('127.0.0.1')
    await dialog.getByLabel('Sandbox merchant, for testing only').check({ force: true })
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByText('Red Shop was created').waitFor()
    const secrets = await page.getByRole('dialog').locator('code').allInnerTexts()
    t.equal(secrets.length, 3)
    const saved = page.getByRole('button', { name: 'I have saved all three' })
    t.ok(await saved.isDisabled(), 'no secret was copied')
    await copySecrets(page)
    await saved.click()
    const created = service.directory.all().find(({ settings }) => settings.name === 'Red Shop')!
    const [webApiKey = '', secretKey = ''] = secrets.map((secret) => secret.trim())
    const body = createBody('native', secretKey, {}, '1.00')
    t.match((await post(service.app, paths.native, body, { key: webApiKey })).json(), { success: true })

    await page.goto(`${world.baseUrl}/dashboard/merchants/${created.merchantId}`)
    await page.getByRole('tab', { name: 'Keys' }).click()
    t.notMatch(await page.content(), webApiKey, 'the key is not shown again')
    await page.getByRole('button', { name: 'Create API key' }).click()
    const keyDialog = page.getByRole('dialog')
    await keyDialog.getByLabel('Name', { exact: true }).fill('reports')
    await keyDialog.getByLabel('Read').check({ force: true })
    await keyDialog.getByRole('button', { name: 'Create' }).click()
    await page.getByText('API key created').waitFor()
    const [key = ''] = await page.getByRole('dialog').locator('code').allInnerTexts()
    const read = () => service.app.inject({ url: '/v1/transfers', headers: { webapikey: key.trim() } })
    t.equal((await read()).statusCode, 200)
    t.equal(
      (await post(service.app, paths.native, body, { key: key.trim() })).statusCode,
      403,
      'the key allows reading only',
    )
    await copySecrets(page)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('button', { name: 'Revoke reports' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('reports is revoked.').waitFor()
    await service.until(() => service.directory.byApiKey(key.trim()) === undefined)
    t.equal((await read()).statusCode, 401)
  })

  t.test('users who cannot manage merchants see them without buttons', async (t) => {
    for (const role of ['auditor', 'operations', 'approver'] as const) {
      const page = await openAs(role, `/dashboard/merchants/${world.shop.id}`)
      await page.getByRole('heading', { name: 'Blue Shop' }).waitFor()
      for (const name of ['Save', 'Suspend', 'Create API key'])
        t.equal(await page.getByRole('button', { name }).count(), 0, `${role}: ${name}`)
      await page.close()
    }
  })

  t.test('an administrator creates a user, resets the password and disables the user', async (t) => {
    const page = await openAs('administrator', '/dashboard/users')
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.getByRole('button', { name: 'Create user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Nora New')
    await dialog.getByLabel('Email address').fill('nora@red.example')
    await dialog.getByRole('button', { name: /Role/ }).click()
    await page.getByRole('option', { name: /^Auditor/ }).click()
    await dialog.getByRole('button', { name: 'Create' }).click()
    const issued = async () => {
      await page.getByRole('dialog', { name: 'Temporary password for Nora New' }).waitFor()
      const [value = ''] = await page.getByRole('dialog').locator('code').allInnerTexts()
      await copySecrets(page)
      await page.getByRole('button', { name: 'I have sent it' }).click()
      return value.trim()
    }
    const first = await issued()
    await page.getByText('Your browser blocked copying').waitFor()
    const nora = await openSignedOut()
    await signIn(nora, 'nora@red.example', first)
    await nora.getByRole('heading', { name: 'Choose your password' }).waitFor()

    await page.goto(`${world.baseUrl}/dashboard/users`)
    await page.getByText('nora@red.example').first().click()
    await page.getByRole('button', { name: 'Reset password' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Reset password' }).click()
    const second = await issued()
    t.not(second, first)
    await nora.goto(`${world.baseUrl}/dashboard`)
    await signIn(nora, 'nora@red.example', first)
    await nora.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByText('Nora New is disabled.').waitFor()
    await signIn(nora, 'nora@red.example', second)
    await nora.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
  })

  t.test(
    'a new approver and a higher threshold wait for a second administrator, who enters the password',
    async (t) => {
      const { shop, time, baseUrl } = world
      await service.merchants.execute(
        shop.id,
        { type: 'ChangeSettings', changes: { approvalAboveMinor: 100_00n } },
        context,
      )
      const page = await openAs('administrator', '/dashboard/users')
      await page.getByRole('button', { name: 'Create user' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('Ayla Approver')
      await dialog.getByLabel('Email address').fill('ayla@red.example')
      await dialog.getByRole('button', { name: /Role/ }).click()
      await page.getByRole('option', { name: 'Approver' }).click()
      await dialog.getByText('Blue Shop').click()
      await dialog.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('dialog').getByText('Ayla Approver can sign in when another administrator').waitFor()
      await copySecrets(page)
      await page.getByRole('button', { name: 'I have sent it' }).click()
      await page.getByText('Needs confirmation').first().waitFor()
      const confirmIn = async (page: Page) => {
        await page.getByRole('button', { name: 'Confirm access' }).click()
        await page.getByRole('alertdialog').getByRole('button', { name: 'Confirm access' }).click()
      }
      await confirmIn(page)
      await page.getByRole('alertdialog').getByText('Another administrator must confirm this').waitFor()
      const { pathname } = new URL(page.url())
      await page.goto(`${baseUrl}/dashboard/merchants/${shop.id}`)
      await page.getByLabel('Approval for withdrawals above').fill('5000')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('wants to raise the approval threshold').waitFor()
      t.equal(await page.getByLabel('Approval for withdrawals above').inputValue(), '100.00', 'the old one applies')

      const second = { email: 'second@blue.example', name: 'Second', role: 'administrator', merchantIds: null } as const
      await service.users.create(second, context, password)
      const other = await openSignedOut(pathname)
      await signIn(other, second.email)
      await other.getByRole('button', { name: 'Confirm access' }).waitFor()
      time.aheadMs += 11 * 60_000
      await confirmIn(other)
      const confirmation = other.getByRole('dialog').filter({ hasText: 'Confirm your password' })
      await confirmation.getByLabel('Password', { exact: true }).fill(password)
      await confirmation.getByRole('button', { name: 'Confirm', exact: true }).click()
      await other.getByText('Ayla Approver can sign in.').waitFor()
      await other.goto(`${baseUrl}/dashboard/merchants/${shop.id}`)
      await other.getByText('wants to raise the approval threshold').waitFor()
      const unseen = { type: 'ChangeSettings', changes: { approvalAboveMinor: null }, heldBy: 'user:another' } as const
      await service.merchants.execute(shop.id, unseen, context)
      await other.getByRole('button', { name: 'Confirm threshold' }).click()
      await other.getByText(/has changed since you read it.*Higher approval threshold or limits requested/).waitFor()
      await other.getByText('wants to remove the approval threshold').waitFor()
      const again = { ...unseen, changes: { approvalAboveMinor: 5000_00n } }
      await service.merchants.execute(shop.id, again, context)
      await other.reload()
      await other.getByText('wants to raise the approval threshold').waitFor()
      await other.getByRole('button', { name: 'Confirm threshold' }).click()
      await other.getByText('The new threshold applies.').waitFor()
      const threshold = other.getByLabel('Approval for withdrawals above')
      await untilTrue(async () => (await threshold.inputValue()) === '5000.00')
    },
  )

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
