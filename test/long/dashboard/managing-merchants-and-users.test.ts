import t, { type Test } from 'tap'
import { giveCredentials, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { startReceiver } from '../../callbacks/receiver.js'
import { createBody, paths, post } from '../../support/test-service.js'

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const receiver = await startReceiver(t)
  const world = await startDashboard(t, browser, { callbackUrl: receiver.url, callbackOnCreate: true })
  const { service, create, openAs, openUnknown, problems } = world
  const told = (trackingId: string) => receiver.received.filter((each) => each.trackingId === trackingId)
  async function waitFor(t: Test, condition: () => boolean, what: string): Promise<void> {
    for (let n = 0; n < 1_200 && !condition(); n++) await new Promise((resolve) => setTimeout(resolve, 50))
    t.ok(condition(), what)
  }

  t.test('a callback is sent again from its transfer', async (t) => {
    const trackingId = await create('native', '10')
    await waitFor(t, () => told(trackingId).length === 1, 'the callback of the creation came')
    const page = await openAs('operator', `/dashboard/transfers/${trackingId}`)
    await page
      .getByRole('button', { name: /^Send again/ })
      .first()
      .click()
    await page.getByText('It is being sent again.').waitFor()
    await waitFor(t, () => told(trackingId).length === 2, 'and came again')
    const [first, second] = told(trackingId)
    t.equal(first!.webhookId, second!.webhookId, 'the same callback')
  })

  t.test('an endpoint that was disabled says why, can be tested, and is enabled by who may', async (t) => {
    receiver.behave = (_received, response) => void response.writeHead(410).end()
    const trackingId = await create('native', '11')
    await waitFor(t, () => told(trackingId).length === 1, 'the endpoint said that it is gone')
    await service.until(() => service.directory.byId(world.shop.id)?.callbacksDisabled !== null)
    const viewer = await openAs('viewer', '/dashboard/callbacks')
    await viewer.getByText('Disabled').first().waitFor()
    await viewer.getByText(/410/).first().waitFor()
    t.equal(await viewer.getByRole('button', { name: /^Actions/ }).count(), 0, 'a viewer only looks')

    receiver.behave = (_received, response) => void response.writeHead(200).end()
    const page = await openAs('operator', '/dashboard/callbacks')
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Send a test event' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send it' }).click()
    await page
      .getByRole('dialog')
      .getByText(/Delivered$/)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Enable again' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Enable again' }).click()
    await page.getByText('The endpoint is enabled.').waitFor()
    await waitFor(t, () => told(trackingId).length === 2, 'what was held back is delivered')
  })

  t.test('an administrator creates a merchant and a key: shown once, and they work', async (t) => {
    const page = await openAs('administrator', '/dashboard/merchants')
    await page.getByRole('button', { name: 'Create a merchant' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Red Shop')
    await dialog.getByLabel('Callback URL').fill('http://127.0.0.1:9/callbacks')
    await dialog.getByLabel('Addresses that may call').fill('127.0.0.1')
    await dialog.getByLabel('For trying things out only (sandbox)').check({ force: true })
    await dialog.getByRole('button', { name: 'Create it' }).click()
    await page.getByText('Red Shop is created').waitFor()
    const secrets = await page.getByRole('dialog').locator('code, input[readonly], .SecretOnce-value').allInnerTexts()
    t.equal(secrets.length, 3)
    await page.getByRole('button', { name: 'I have kept all three' }).click()
    const created = service.directory.all().find(({ settings }) => settings.name === 'Red Shop')!
    const [webApiKey = '', secretKey = ''] = secrets.map((secret) => secret.trim())
    const body = createBody('native', secretKey, {}, '1.00')
    t.match((await post(service.app, paths.native, body, { key: webApiKey })).json(), { success: true })

    await page.goto(`${world.baseUrl}/dashboard/merchants/${created.merchantId}`)
    await page.getByRole('tab', { name: 'Keys' }).click()
    t.notMatch(await page.content(), webApiKey, 'it is not shown again')
    await page.getByRole('button', { name: 'Create a key' }).click()
    const keyDialog = page.getByRole('dialog')
    await keyDialog.getByLabel('What it is for').fill('reports')
    await keyDialog.getByLabel('Read').check({ force: true })
    await keyDialog.getByRole('button', { name: 'Create it' }).click()
    await page.getByText('The key is created').waitFor()
    const [key = ''] = await page
      .getByRole('dialog')
      .locator('code, input[readonly], .SecretOnce-value')
      .allInnerTexts()
    const read = () => service.app.inject({ url: '/v1/transfers', headers: { webapikey: key.trim() } })
    t.equal((await read()).statusCode, 200)
    t.equal((await post(service.app, paths.native, body, { key: key.trim() })).statusCode, 403, 'for reading only')
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.getByRole('button', { name: 'Revoke reports' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('reports is revoked.').waitFor()
    await service.until(() => service.directory.byApiKey(key.trim()) === undefined)
    t.equal((await read()).statusCode, 401)
  })

  t.test('who may not manage merchants reads them, without a button', async (t) => {
    for (const role of ['auditor', 'operations', 'approver'] as const) {
      const page = await openAs(role, `/dashboard/merchants/${world.shop.id}`)
      await page.getByRole('heading', { name: 'Blue Shop' }).waitFor()
      for (const name of ['Save', 'Suspend', 'Create a key'])
        t.equal(await page.getByRole('button', { name }).count(), 0, `${role}: ${name}`)
      await page.close()
    }
  })

  t.test('an administrator creates an account, which is then reset and disabled', async (t) => {
    const page = await openAs('administrator', '/dashboard/people')
    await page.getByRole('button', { name: 'Create an account' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Nora New')
    await dialog.getByLabel('E-mail address').fill('nora@red.example')
    await dialog.getByRole('button', { name: /Role/ }).click()
    await page.getByRole('option', { name: /^Auditor/ }).click()
    await dialog.getByRole('button', { name: 'Create it' }).click()
    const issued = async () => {
      await page.getByRole('dialog', { name: 'First password of Nora New' }).waitFor()
      const [value = ''] = await page
        .getByRole('dialog')
        .locator('code, input[readonly], .SecretOnce-value')
        .allInnerTexts()
      await page.getByRole('button', { name: 'I have passed it on' }).click()
      return value.trim()
    }
    const first = await issued()
    const nora = await openUnknown()
    await giveCredentials(nora, 'nora@red.example', first)
    await nora.getByRole('heading', { name: 'Choose your password' }).waitFor()

    await page.goto(`${world.baseUrl}/dashboard/people`)
    await page.getByText('nora@red.example').first().click()
    await page.getByRole('button', { name: 'Reset the password' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Reset the password' }).click()
    const second = await issued()
    t.not(second, first)
    await nora.goto(`${world.baseUrl}/dashboard`)
    await giveCredentials(nora, 'nora@red.example', first)
    await nora.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByText('Nora New is disabled.').waitFor()
    await giveCredentials(nora, 'nora@red.example', second)
    await nora.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
