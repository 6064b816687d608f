import fc from 'fast-check'
import type { Page } from 'playwright-core'
import t from 'tap'
import { isVisible } from '../../../src/kernel/text.js'
import { DashboardClient } from '../../browser/dashboard/dashboard-client.js'
import { context, emailOf, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { misleadingMetadata } from '../../domain/transfer-samples.js'
import { anyText } from '../../support/any-text.js'

const attacks = [
  '<img src=x onerror="window.hit=1">',
  '"><svg/onload=window.hit=1>',
  '<script>window.hit=1</script>',
  '</title></textarea><iframe srcdoc="<script>parent.hit=1</script>">',
  "javascript:window.hit=1//'",
  '{{constructor.constructor("window.hit=1")()}}',
  '=HYPERLINK("http://evil.example","x")',
  'שלום <b>עולם</b> مرحبا',
  '&lt;b&gt;&amp;#x3c;',
]
/** Names of merchants and customers: 1 to 128 characters, some of them visible. */
const text = fc
  .oneof(
    fc.constantFrom(...attacks),
    anyText({ minLength: 1, maxLength: 60 }),
    fc.tuple(fc.constantFrom(...attacks), fc.string({ maxLength: 20 })).map(([attack, more]) => attack + more),
    fc.constant('W'.repeat(128)),
  )
  .map((each) => each.trim())
  .filter((each) => each !== '' && each.length <= 128 && isVisible(each))

/** Metadata with an attack as a key and as a value, and with the longest of both. */
const metadataOf = (key: string, value: string) => ({
  [Array.from(key).slice(0, 40).join('')]: value,
  ['K'.repeat(40)]: 'V'.repeat(200),
})

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser)
  const { openAs, create, listed, service, problems, baseUrl } = world

  /** Returns the visible text of the page, with white space collapsed. */
  const shownOn = async (page: Page) => plain(await page.evaluate<string>('document.body.innerText'))
  const plain = (words: string) => words.replace(/\s+/g, ' ').trim()
  const hit = (page: Page) =>
    page.evaluate('window.hit === undefined && !document.querySelector("main script, main iframe, main b, main img")')

  t.test('text from merchants and customers is shown literally and never becomes markup', async (t) => {
    const page = await openAs('approver', '/dashboard')
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (name, username, userId, message) => {
        const metadata = metadataOf(name, message)
        const trackingId = await create('native', '12.34', { name, username, userId, metadata })
        await service.transfers.act(trackingId, { type: 'SendToManualControl', message }, context)
        await listed(trackingId)
        for (const path of [`/deposits?text=${trackingId}`, `/transfers/${trackingId}`]) {
          await page.goto(`${baseUrl}/dashboard${path}`)
          await page.getByText('12.34').first().waitFor()
          await page.getByText(plain(name)).first().waitFor()
          t.ok(await hit(page), path)
        }
        // The details appear with the history, after the name.
        await page.locator('.TransferPage-details').waitFor()
        const shown = await shownOn(page)
        for (const each of [name, username, userId, message, ...Object.entries(metadata).flat()])
          t.ok(shown.includes(plain(each)), each)
        t.equal(
          await page.evaluate('document.documentElement.scrollWidth > innerWidth'),
          false,
          'long text does not widen the page',
        )
      }),
      { numRuns: 12, examples: attacks.slice(0, 4).map((attack) => [attack, attack, attack, attack]) },
    )
  })

  t.test('the keys and values of metadata are shown unchanged on every page, and found', async (t) => {
    const trackingId = await create('native', '56.78', { metadata: { ...misleadingMetadata, order: 'Kadıköy-4711' } })
    const stated = Object.entries({ ...misleadingMetadata, order: 'Kadıköy-4711' })
    for (const path of [`/transfers/${trackingId}`, `/audit?view=transfer&id=${trackingId}`])
      for (const width of [360, 1280]) {
        const page = await openAs('auditor', `/dashboard${path}`, { viewport: { width, height: 900 } })
        if (path.startsWith('/transfers')) await page.getByText('Every event').click()
        await page.locator('.OpenRecord').nth(1).waitFor({ state: 'attached' })
        await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
        t.equal(await page.locator('.OpenRecord').count(), 2, path)
        for (const n of [0, 1]) {
          const list = page.locator('.OpenRecord').nth(n)
          const [keys, values] = [
            await list.locator('dt').allTextContents(),
            await list.locator('dd').allTextContents(),
          ]
          t.strictSame(new Map(keys.map((key, index) => [key, values[index]])), new Map(stated), path)
        }
        t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${path} at ${width} px`)
        t.ok(await hit(page), path)
      }
    const page = await openAs('auditor', '/dashboard/deposits')
    await page.getByText('12.34').first().waitFor()
    await page.getByLabel('Search').fill('kadikoy 4711')
    await page.getByText('12.34').first().waitFor({ state: 'detached' })
    await page.getByText('56.78').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('4711')
    await page.getByRole('menuitem').filter({ hasText: 'Deposits with “4711”' }).waitFor()
    t.match(await page.getByRole('menuitem').first().innerText(), /Ada Lovelace/, 'the transfer comes first')
  })

  t.test('names of merchants, users and browsers are shown literally', async (t) => {
    const name = attacks[0]!
    const userAgent = 'Mozilla/5.0 <img src=x onerror="window.hit=1">'
    await service.merchant({ name })
    const userName = attacks[1]!
    await service.users.create({ email: 'm@blue.example', name: userName, role: 'auditor', merchantIds: null }, context)
    await DashboardClient.signIn(baseUrl, emailOf('administrator'), { 'user-agent': userAgent })
    const admin = await openAs('administrator', '/dashboard/merchants')
    for (const [path, expected] of [
      ['/merchants', name],
      ['/users', userName],
      ['/account', 'Active sessions'],
      ['/callbacks', name],
    ] as const) {
      await admin.goto(`${baseUrl}/dashboard${path}`)
      await admin.getByRole('main').getByText(expected).first().waitFor()
      t.ok(await hit(admin), path)
    }
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
