import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Role } from '../../../src/domain/user/permissions.js'
import { context, startDashboard } from '../../browser/dashboard/dashboard-service.js'
import { waitUntilLoaded } from '../../browser/dashboard/every-page.js'
import { launchBrowser } from '../../browser/launch-browser.js'
import { until } from '../../browser/watched-page.js'
import { Snapshots } from './snapshots.js'

const sizes = [
  { width: 360, height: 800 },
  { width: 1280, height: 900 },
  { width: 2560, height: 1440 },
]

/** The service starts at this time. The clock of the browser is fixed at ten hours later, so that every age is "9 hours ago". */
const startsAt = Date.parse('2031-03-12T06:00:00.000Z')
const shownAt = startsAt + 10 * 3_600_000

const minuteMs = 60_000

/** The text that differs from run to run, and its replacement: identifiers, dates, times of day and durations. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '00000000-0000-0000-0000-000000000000'],
  [/[0-9a-f]{8}…[0-9a-f]{4}/g, '00000000…0000'],
  [/\b[0-9a-f]{16,}\b/g, '0000000000000000'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:0'],
  [/\d{1,2} [A-Z][a-z]{2,3} \d{4}/g, '0 Mon 0000'],
  [/\d\d:\d\d(:\d\d)?/g, '00:00'],
  [/(\d[\d.,]* ?(ms|s|min|h)\b ?)+/g, '0 min '],
]
/** The same for pages about the machine: its name, its folders, its clock and all numbers. */
const varyingOfMachine: typeof varying = [
  [new RegExp(`${hostname()}[\\w-]*`, 'g'), 'host'],
  [/\/tmp\/[\w/.-]+/g, '/tmp'],
  [/(in )?\d+ \w+( ago)?/g, '0'],
  [/\d[\d.,]*/g, '0'],
]

/** Charts of measured times. */
const hidden = '.Sparkline, [aria-label="Projections"] td:nth-child(3)'

/** Returns code that replaces the texts, waits for two frames, and returns whether there was nothing to replace. */
function mask(pairs: typeof varying): string {
  const list = pairs.map(([pattern, shown]) => `[${pattern}, ${JSON.stringify(shown)}]`).join(', ')
  return `(async () => {
    const mask = (text) => [${list}].reduce((masked, [pattern, shown]) => masked.replaceAll(pattern, shown), text)
    let isMasked = true
    const replaced = (globalThis.replacedTexts ??= new WeakMap())
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const node = texts.currentNode
      if (replaced.get(node) === node.data || mask(node.data) === node.data) continue
      node.data = mask(node.data)
      replaced.set(node, node.data)
      isMasked = false
    }
    for (const input of document.querySelectorAll('input')) if (mask(input.value) !== input.value) input.value = mask(input.value)
    for (const element of document.querySelectorAll(${JSON.stringify(hidden)})) element.style.visibility = 'hidden'
    for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve))
    return isMasked
  })()`
}

async function take(page: Page, isOfMachine: boolean): Promise<Buffer> {
  await waitUntilLoaded(page)
  await until(page, "document.fonts.status === 'loaded'")
  await page.waitForLoadState('load')
  // A page can still render after its first replacement.
  const replace = mask(isOfMachine ? [...varying, ...varyingOfMachine] : varying)
  for (let attempt = 0; attempt < 20 && !(await page.evaluate(replace)); attempt++);
  return page.screenshot({ animations: 'disabled' })
}

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const snapshots = await Snapshots.open(browser)
  const reason = await snapshots.reasonNotToCompare()
  if (reason !== undefined) t.plan(0, `NOT RUN: ${reason}`)
  else {
    const endpoint = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
    t.teardown(() => endpoint.close())
    await once(endpoint, 'listening')
    const callbackUrl = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/callback`
    const world = await startDashboard(t, browser, { approvalAboveMinor: 500_00n, callbackUrl }, startsAt)
    const pages = await createPages(world)
    for (const viewport of sizes) {
      t.test(`the main pages look as before at ${viewport.width} px`, async (t) => {
        for (const { name, role, path, isOfMachine = false } of pages) {
          const page = await world.openBlankAs(role, { viewport, timezoneId: 'UTC' })
          await page.clock.setFixedTime(shownAt)
          await page.goto(`${world.baseUrl}/dashboard${path}`)
          t.equal(await snapshots.fault(`${name}-${viewport.width}`, await take(page, isOfMachine)), undefined, name)
          await page.close()
        }
      })
    }
  }
}

interface MainPage {
  readonly name: string
  readonly role: Role
  readonly path: string
  readonly isOfMachine?: boolean
}

/** Creates the same transfers in every run, and returns the main pages. */
async function createPages(world: Awaited<ReturnType<typeof startDashboard>>) {
  const { create, service, shop, listed, as, time } = world
  const deposits: string[] = []
  for (const [n, amount] of ['120.00', '75.50', '1300.00', '48.20', '310.00'].entries())
    deposits.push(await create('native', amount, { referenceId: `deposit-${n + 1}`, name: 'Ada Lovelace' }))
  for (const [n, amount] of ['70.00', '900.00', '15.25', '2400.00'].entries())
    await create('withdrawal', amount, { referenceId: `payout-${n + 1}`, name: 'Grace Hopper' })
  const [completed, partly, manual] = deposits as [string, string, string]
  // Each change follows some minutes later, so that no page shows "immediately".
  const act = async (trackingId: string, command: Parameters<typeof service.transfers.act>[1]) => {
    time.aheadMs += 5 * minuteMs
    await service.transfers.act(trackingId, command, context)
    await listed(trackingId)
  }
  await act(completed, { type: 'Complete' })
  await act(partly, { type: 'Complete', transactionAmountMinor: 50_00n, reason: 'paid in part' })
  await act(manual, { type: 'SendToManualControl', message: 'needs review' })
  const administrator = await as('administrator')
  const delivered = async () => {
    const { body } = await administrator.get<{ items: { status: string }[] }>('/callbacks')
    return body.items.filter(({ status }) => status === 'delivered').length
  }
  while ((await delivered()) < 3) await new Promise((resolve) => setTimeout(resolve, 50))
  const pages: readonly MainPage[] = [
    { name: 'overview', role: 'approver', path: '/' },
    { name: 'deposits', role: 'approver', path: '/deposits' },
    { name: 'withdrawals', role: 'approver', path: '/withdrawals' },
    { name: 'pay', role: 'approver', path: '/pay' },
    { name: 'transfer', role: 'approver', path: `/transfers/${partly}` },
    { name: 'callbacks', role: 'administrator', path: '/callbacks' },
    { name: 'merchant', role: 'administrator', path: `/merchants/${shop.id}` },
    { name: 'statement', role: 'administrator', path: `/statement?merchantId=${shop.id}` },
    { name: 'audit', role: 'auditor', path: `/audit?view=story&id=${completed}` },
    { name: 'operations', role: 'operations', path: '/operations', isOfMachine: true },
  ]
  return pages
}
