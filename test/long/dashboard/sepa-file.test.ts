import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { addDays, isTargetDay, targetDate, targetDayFrom } from '../../../src/domain/target-days.js'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { narrow, startDashboard, wide } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const euros = { code: 'EUR', decimals: 2 } as const
  const { as, openAs, create, problems } = await startDashboard(t, browser, {}, Date.now(), euros)
  const operator = await as('operator')

  async function claimed(fields: { readonly [name: string]: unknown }): Promise<string> {
    const trackingId = await create('withdrawal', '31', fields)
    await operator.send('POST', `/transfers/${trackingId}/claim`, { revision: 0 })
    return trackingId
  }

  const dayOf = (page: Page) => page.locator('input[name=date][data-rac]').getAttribute('value')
  /** Types a day digit by digit. */
  async function typeDay(page: Page, day: string): Promise<void> {
    const [year, month, date] = day.split('-')
    for (const [segment, digits] of [
      ['year', year],
      ['month', month],
      ['day', date],
    ] as const) {
      await page.getByRole('spinbutton', { name: new RegExp(`^${segment}`) }).focus()
      await page.keyboard.type(digits!)
    }
  }

  const languages = [
    { locale: 'en-GB', bankFile: 'Bank file…', date: 'Execution date' },
    { locale: 'tr-TR', bankFile: 'Banka dosyası…', date: 'Ödeme günü' },
  ] as const
  for (const { locale, bankFile, date } of languages)
    for (const viewport of [wide, narrow])
      t.test(`shows the day of payment before the file exists (${locale}, ${viewport.width} px)`, async (t) => {
        await claimed({ referenceId: `shown-${locale}-${viewport.width}`, accountNumber: 'DE89370400440532013000' })
        const page = await openAs('operator', '/dashboard/pay?tab=mine', { locale, viewport, reducedMotion: 'reduce' })
        await page.getByRole('checkbox').first().check({ force: true })
        await page.getByRole('button', { name: bankFile }).click()
        const dialog = page.getByRole('dialog')
        t.equal(await dialog.getByText(date).count(), 0, 'CSV states no day')
        await dialog.locator('.Select-button').click()
        await page.getByRole('option', { name: /pain\.001/ }).click()
        await dialog.getByText(date, { exact: true }).waitFor()
        t.equal(await dayOf(page), targetDayFrom(targetDate(new Date().toISOString())))
        t.same(await faultsOf(page), [])
        await page.close()
      })

  t.test('asks for the address, rejects a day without payments and QR-IBANs, and saves the file', async (t) => {
    const swiss = await claimed({ referenceId: '\u00a8', accountNumber: 'CH9300762011623852957' })
    await claimed({ referenceId: 'qr', accountNumber: 'CH4431999123000889012' })
    const page = await openAs('operator', '/dashboard/pay?tab=mine')
    for (const reference of ['\u00a8', 'qr'])
      await page.getByRole('checkbox', { name: `Select ${reference}`, exact: true }).check({ force: true })
    await page.getByRole('button', { name: 'Bank file…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('.Select-button').click()
    await page.getByRole('option', { name: /pain\.001/ }).click()
    await dialog.getByLabel('Payer name').fill('Shop')
    await dialog.getByLabel('Payer IBAN').fill('DE02 1203 0000 0000 2020 51')
    const first = targetDayFrom(targetDate(new Date().toISOString()))
    let closed = addDays(first, 1)
    while (isTargetDay(closed)) closed = addDays(closed, 1)
    await typeDay(page, closed)
    t.equal(await dayOf(page), closed)
    const save = dialog.getByRole('button', { name: 'Save file' })
    await save.click()
    await dialog.getByText('SEPA payments cannot use a QR-IBAN.').waitFor()
    await dialog
      .getByText('This field is required, because payments from or to accounts in CH need the address of the payer.')
      .first()
      .waitFor()
    await dialog.getByText(/^This field must be a day on which banks make SEPA payments/).waitFor()
    t.same(await faultsOf(page), [])
    await dialog.getByRole('button', { name: 'Leave this one out' }).click()
    await typeDay(page, first)
    await dialog.getByLabel(/^Town/).fill('Köln')
    await dialog.getByLabel(/^Country code/).fill('de')
    const saved = page.waitForEvent('download')
    await save.click()
    const download = await saved
    t.match(
      download.suggestedFilename(),
      new RegExp(`^withdrawals-for-bank-127\\.0\\.0\\.1-\\d+-${first}-[0-9a-f]{32}\\.xml$`),
    )
    const text = readFileSync(await download.path(), 'utf8')
    t.match(text, `<ReqdExctnDt><Dt>${first}</Dt></ReqdExctnDt>`)
    t.match(text, '<PstlAdr><TwnNm>Koln</TwnNm><Ctry>DE</Ctry></PstlAdr>')
    t.match(text, `<Ustrd>${swiss}</Ustrd>`)
    t.notMatch(text, 'CH4431999123000889012')
  })

  t.test('no page reported an error', async (t) => {
    t.same(problems, [])
  })
}
