import type { Page } from 'playwright-core'
import t from 'tap'
import { narrow, startDashboard, wide } from '../../browser/dashboard/dashboard-service.js'
import { createEveryPage, waitUntilLoaded } from '../../browser/dashboard/every-page.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'

/** Adds up the shifts of the page, and keeps the elements that moved. A shift shortly after an input of the user does not count. */
const observe = `{
  window.shifts = []
  const name = ({ node }) => node ? (node.className || node.nodeName) + '' : ''
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput) window.shifts.push({ value, moved: sources.map(name) })
  }).observe({ type: 'layout-shift', buffered: true })
}`

/** Slow enough that a page is first shown without its data and its font. */
const network = { offline: false, latency: 150, downloadThroughput: 500_000, uploadThroughput: 500_000 }
const maxShift = 0.1

t.setTimeout(600_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n })
  const { pages } = await createEveryPage(world)
  let loads = 0

  for (const viewport of [narrow, wide]) {
    t.test(`no page at ${viewport.width} px moves by more than ${maxShift} while it loads`, async (t) => {
      for (const [role, path] of pages) {
        const load = async (): Promise<Page> => {
          loads++
          // Each page has its own context. In a shared one, the requests of a page that was closed on a slow network can keep connections.
          const extraHTTPHeaders = { 'x-request-id': `load-${loads}` }
          const page = await world.openBlankAs(role, { viewport, extraHTTPHeaders })
          await page.addInitScript(observe)
          const session = await page.context().newCDPSession(page)
          await session.send('Network.enable')
          await session.send('Network.setCacheDisabled', { cacheDisabled: true })
          await session.send('Network.emulateNetworkConditions', network)
          await page.goto(`${world.baseUrl}/dashboard${path}`, { waitUntil: 'commit' })
          await page.getByRole('heading', { level: 1 }).waitFor({ timeout: 30_000 })
          return page
        }
        // On a busy machine, Chromium loads one page in some fifty never to its end.
        const page = await load().catch((error) => {
          t.comment(`${path} as ${role} is loaded again`, error)
          return load()
        })
        await waitUntilLoaded(page)
        await until(page, "document.fonts.status === 'loaded' && document.querySelector('[aria-busy=true]') === null")
        const shifts = await page.evaluate<{ value: number; moved: string[] }[]>('shifts')
        const total = shifts.reduce((sum, { value }) => sum + value, 0)
        t.ok(total <= maxShift, `${path} as ${role}: ${total.toFixed(3)}`, { shifts })
        t.comment(`${path}: ${total.toFixed(3)}`)
        await page.close()
      }
    })
  }
}
