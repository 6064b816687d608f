import t from 'tap'
import { launchBrowser } from '../../browser/launch-browser.js'
import { desktop, phone, startPaymentPage } from '../../browser/payment-page-service.js'
import { paymentMethods } from '../../support/merchant-requests.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const text = 'Bank of Examples\nIBAN DE89 3704 0044 0532 0130 00\n<b>Account holder</b> Blue Shop Ltd'

const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const catalogue = [
    ...paymentMethods,
    { ...paymentMethods[0]!, code: 7, name: 'Bank transfer', paidBy: 'manual' as const },
  ]

  t.test(
    'a manual deposit shows instructions with and without JavaScript, and the result without a reload',
    async (t) => {
      const { deposit, open, service } = await startPaymentPage(t, browser, { paymentMethods: catalogue })
      const settings = { paymentInstructions: [{ paymentMethod: 7, text }] }
      const { url, trackingId, referenceId } = await deposit('1234.5', settings, { paymentMethod: 7 })
      const { page, problems } = await open(url, { viewport: phone })
      const plain = await open(url, { viewport: desktop, javaScriptEnabled: false })
      for (const each of [page, plain.page]) {
        const shown = await each.locator('main').innerText()
        t.match(shown, text, 'line breaks are kept, and text is escaped')
        t.match(shown, referenceId)
        t.match(shown, /1,234\.50/)
        t.equal(await each.locator('input').count(), 0)
      }
      t.equal(await page.locator('#clock').isVisible(), true)
      await service.transfers.act(trackingId, { type: 'Complete' }, context)
      await page.getByRole('heading', { name: 'Paid' }).waitFor()
      t.strictSame(problems, [])
      t.strictSame(plain.problems, [])
    },
  )

  t.test('an expired manual deposit explains what to do about money that was sent', async (t) => {
    const { deposit, open, time } = await startPaymentPage(t, browser, { paymentMethods: catalogue })
    const { url, referenceId } = await deposit('1234.5', {}, { paymentMethod: 7 })
    time.aheadMs = 31 * 60_000
    const { page } = await open(url)
    t.match(
      await page.locator('main').innerText(),
      `already paid, contact Blue Shop and mention the reference ${referenceId}`,
    )
  })
}
