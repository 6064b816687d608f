import type { Page } from 'playwright-core'
import t from 'tap'
import { startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { launchBrowser } from '../../browser/launch-browser.js'

/** A round trip is far longer than the pauses of a busy machine, which would otherwise look like further round trips. */
const slow = { offline: false, latency: 1_500, downloadThroughput: 50_000, uploadThroughput: 50_000 }

interface Request {
  readonly url: string
  /** In milliseconds of the page's clock. */
  readonly startedAt: number
  readonly endedAt: number
  readonly bytes: number
}

/** Notes in the page when the data appears: when the test notices it, further requests can have ended. */
const noteData = `new MutationObserver((_changes, observer) => {
  if (!document.querySelector('.OverviewPage-cards')) return
  globalThis.shownAt = performance.now()
  observer.disconnect()
}).observe(document, { childList: true, subtree: true })`

/** Returns the requests of a page that had ended when its data appeared. */
function neededRequests(page: Page): Promise<Request[]> {
  return page.evaluate<Request[]>(`['navigation', 'resource']
    .flatMap((type) => performance.getEntriesByType(type))
    .map(({ name, startTime, responseEnd, transferSize }) => {
      return { url: name, startedAt: startTime, endedAt: responseEnd, bytes: transferSize }
    })
    .filter(({ endedAt }) => endedAt > 0 && endedAt <= globalThis.shownAt)`)
}

/** Returns the least number of requests that were sent sequentially. */
function depthOf(requests: readonly Request[]): number {
  let depth = 0
  let freeAt = Number.NEGATIVE_INFINITY
  for (const { startedAt, endedAt } of [...requests].sort((a, b) => a.endedAt - b.endedAt)) {
    if (startedAt < freeAt) continue
    depth += 1
    freeAt = endedAt
  }
  return depth
}

const sum = (requests: readonly Request[]) => requests.reduce((total, { bytes }) => total + bytes, 0)

t.setTimeout(120_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const { baseUrl, create, openSlowly, problems } = await startSlowDashboard()
  await create('withdrawal', '70.00')

  t.test('the first page shows its shape, then its data, after four round trips and 155 kB', async (t) => {
    const page = await openSlowly()
    const startedAt = Date.now()
    await page.goto(`${baseUrl}/dashboard`, { waitUntil: 'commit' })
    await page.locator('.Skeleton').waitFor()
    const skeletonMs = Date.now() - startedAt
    await page.locator('.OverviewPage-cards').waitFor()
    const usableMs = Date.now() - startedAt
    const needed = await neededRequests(page)
    const scripts = needed.filter(({ url }) => url.endsWith('.js'))
    t.ok(sum(scripts) <= 145_000, `${sum(scripts)} bytes of JavaScript`)
    t.ok(sum(needed) <= 155_000, `${sum(needed)} bytes`)
    t.ok(depthOf(needed) <= 4, `${depthOf(needed)} round trips`)
    t.strictSame(
      needed.filter(({ url }) => url.endsWith('.woff2')),
      [],
      'the font does not compete with the code',
    )
    t.comment(
      `shape after ${skeletonMs} ms, data after ${usableMs} ms; ${needed.length} requests, ${sum(needed)} bytes, ` +
        `${sum(scripts)} of them JavaScript, ${depthOf(needed)} round trips`,
    )
  })

  t.test('keys that are pressed before the palette is loaded are typed into it', async (t) => {
    const page = await openSlowly()
    await page.goto(`${baseUrl}/dashboard`, { waitUntil: 'commit' })
    await page.locator('.OverviewPage-cards').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('users')
    await page.getByRole('menu').waitFor()
    t.equal(await page.getByRole('searchbox').or(page.locator('.CommandPalette-input')).first().inputValue(), 'users')
  })

  t.test('no page caused an error or a forbidden request', async (t) => t.strictSame(problems, []))
}

/** Starts a dashboard whose approver opens it for the first time on a slow network. */
async function startSlowDashboard() {
  const world = await startDashboard(t, browser!)
  const openSlowly = async (): Promise<Page> => {
    const page = await world.openBlankAs('approver', { locale: 'en-GB' })
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    await session.send('Network.emulateNetworkConditions', slow)
    await page.addInitScript(noteData)
    return page
  }
  return { ...world, openSlowly }
}
