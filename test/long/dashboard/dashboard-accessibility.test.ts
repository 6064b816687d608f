import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { faultsOf } from '../../browser/dashboard/axe.js'
import { narrow, startDashboard, wide } from '../../browser/dashboard/dashboard-service.js'
import { createEveryPage, waitUntilLoaded } from '../../browser/dashboard/every-page.js'
import { launchBrowser } from '../../browser/launch-browser.js'

/** Checks each theme and size on the loaded page, which is faster than loading it for every combination. */
const looks = [
  { colorScheme: 'light', viewport: wide },
  { colorScheme: 'dark', viewport: narrow },
] as const

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
  const { openAs, openSignedOut, problems } = world
  const { pages, states } = await createEveryPage(world)

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
