import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { narrow, startDashboard, wide } from '../../browser/dashboard/dashboard-service.js'
import { everyState } from '../../browser/dashboard/transfer-states.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'

/** Every theme and size once; both of the page as it stands, which costs less than to load it for each. */
const looks = [
  { colorScheme: 'light', viewport: wide },
  { colorScheme: 'dark', viewport: narrow },
] as const

/** Everything that it has to fetch is there. */
async function complete(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await until(page, "document.querySelector('.Loading') === null")
}

async function hasNoFaults(t: Test, page: Page, what: string): Promise<void> {
  for (const { colorScheme, viewport } of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    t.strictSame(await faultsOf(page), [], `${what}, ${colorScheme}, ${viewport.width} px`)
  }
}

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: no chromium')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n })
  const { openAs, openUnknown, as, problems, shop } = world
  const states = await everyState(world)
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
    ['administrator', '/people'],
    ['administrator', `/people?userId=${body.items[0]!.userId}`],
    ['administrator', `/statement?merchantId=${shop.id}`],
    ['operations', '/operations'],
    ['auditor', `/audit?view=story&id=${states.completed}`],
    ['auditor', `/audit?view=merchant&merchantId=${shop.id}`],
    ['auditor', '/audit?view=actions'],
    ['administrator', '/audit?view=integrity'],
    ['auditor', '/audit?view=export'],
    ['administrator', '/privacy'],
    ['viewer', '/account'],
    ['viewer', '/people'],
    ['viewer', '/nothing-here'],
  ] as const

  t.test('axe finds nothing on any page in Turkish, whose words are the longer ones', async (t) => {
    const locale = 'tr-TR'
    for (const [role, path] of pages) {
      const page = await openAs(role, `/dashboard${path}`, { locale })
      await complete(page)
      await hasNoFaults(t, page, `${path} as ${role}`)
      await page.close()
    }
  })

  t.test('nor on the way in, in either language', async (t) => {
    for (const locale of ['en-GB', 'tr-TR']) {
      const door = await openUnknown('/dashboard', { locale })
      await complete(door)
      await hasNoFaults(t, door, `sign-in, ${locale}`)
    }
  })

  t.test('nor in what opens above a page', async (t) => {
    const page = await openAs('approver', `/dashboard/transfers/${states.manual}`)
    await page.getByRole('button', { name: 'Complete', exact: true }).click()
    await page.getByRole('dialog').waitFor()
    await hasNoFaults(t, page, 'a dialog')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('ada')
    await page.getByRole('menu').waitFor()
    await hasNoFaults(t, page, 'the palette')
  })

  t.test('no page did what it must not', async (t) => t.strictSame(problems, []))
}
