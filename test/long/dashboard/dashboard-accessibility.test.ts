import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { narrow, startDashboard, wide } from '../../browser/dashboard/dashboard-service.js'
import { createEveryState } from '../../browser/dashboard/transfer-states.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'

/** Checks each theme and size on the loaded page, which is faster than loading it for every combination. */
const looks = [
  { colorScheme: 'light', viewport: wide },
  { colorScheme: 'dark', viewport: narrow },
] as const

/** Waits until the page has loaded all its data. The page of components always shows the loading state too. */
async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  if (page.url().endsWith('/__components')) return
  await until(page, "document.querySelector('.Loading') === null")
}

async function checkPage(t: Test, page: Page, what: string): Promise<void> {
  for (const { colorScheme, viewport } of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    t.strictSame(await faultsOf(page), [], `${what}, ${colorScheme}, ${viewport.width} px`)
  }
}

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n })
  const { openAs, openSignedOut, as, problems, shop } = world
  const states = await createEveryState(world)
  const { body } = await (await as('administrator')).get<{ items: { userId: string }[] }>('/users')

  const pages = [
    ['approver', '/'],
    ['approver', '/deposits'],
    ['approver', '/withdrawals?status=Pending'],
    ['approver', '/pay'],
    ['approver', `/transfers/${states.late}`],
    ['approver', `/transfers/${states.claimed}`],
    ['approver', `/transfers/${states.mismatch}`],
    ['administrator', '/callbacks'],
    ['administrator', '/merchants'],
    ['administrator', `/merchants/${shop.id}`],
    ['administrator', '/users'],
    ['administrator', `/users/${body.items[0]!.userId}`],
    ['administrator', `/statement?merchantId=${shop.id}`],
    ['operations', '/operations'],
    ['auditor', `/audit?view=story&id=${states.completed}`],
    ['auditor', `/audit?view=merchant&merchantId=${shop.id}`],
    ['auditor', '/audit?view=actions'],
    ['administrator', '/audit?view=integrity'],
    ['auditor', '/audit?view=export'],
    ['administrator', '/privacy'],
    ['viewer', '/account'],
    ['viewer', '/users'],
    ['viewer', '/nothing-here'],
    ['administrator', '/__components'],
  ] as const

  t.test('axe finds no faults on any page in Turkish, which has the longer texts', async (t) => {
    const locale = 'tr-TR'
    for (const [role, path] of pages) {
      const page = await openAs(role, `/dashboard${path}`, { locale })
      await waitUntilLoaded(page)
      await checkPage(t, page, `${path} as ${role}`)
      await page.close()
    }
  })

  t.test('axe finds no faults on the sign-in page in either language', async (t) => {
    for (const locale of ['en-GB', 'tr-TR']) {
      const page = await openSignedOut('/dashboard', { locale })
      await waitUntilLoaded(page)
      await checkPage(t, page, `sign-in, ${locale}`)
    }
  })

  t.test('axe finds no faults in dialogs and the command palette', async (t) => {
    const page = await openAs('approver', `/dashboard/transfers/${states.manual}`)
    await page.getByRole('button', { name: 'Complete…' }).click()
    await page.getByRole('dialog').waitFor()
    await checkPage(t, page, 'a dialog')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('ada')
    await page.getByRole('menu').waitFor()
    await checkPage(t, page, 'the palette')
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}
