/**
 * Measures the overview in a browser while 500 transfers are created per second: the delay of its notifications, the blocking of its
 * main thread, and its memory after a minute. Requires Chromium.
 */
import { randomUUID } from 'node:crypto'
import type { CDPSession } from 'playwright-core'
import { startService } from '../examples/example-service.js'
import { launchBrowser } from '../test/browser/launch-browser.js'
import { RawMerchantClient } from '../test/support/raw-merchant-client.js'
import { runPart } from './support/bench-part.js'
import { note, row, title } from './support/bench-report.js'

const perSecond = Number(process.env.BENCH_PER_SECOND ?? 500)
const seconds = Number(process.env.BENCH_SECONDS ?? 60)
const settledAfterSeconds = 10
const turnMs = 20

/** The script that records the page's notifications and the delay of its timers. */
const recorder = `
  window.seen = { messages: 0, counted: 0, lagsMs: [], blockedMs: 0 }
  const Source = window.EventSource
  window.EventSource = class extends Source {
    constructor(...given) {
      super(...given)
      this.addEventListener('message', ({ data }) => {
        const { changes, transfers } = JSON.parse(data)
        seen.messages++
        seen.counted += changes.reduce((sum, { count }) => sum + count, 0)
        if (transfers[0]) seen.lagsMs.push(Date.now() - Date.parse(transfers[0].updatedAt))
      })
    }
  }
  let due = performance.now() + 50
  setInterval(() => {
    seen.blockedMs = Math.max(seen.blockedMs, performance.now() - due)
    due = performance.now() + 50
  }, 50)`

interface Seen {
  readonly messages: number
  readonly counted: number
  readonly lagsMs: readonly number[]
  readonly blockedMs: number
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Returns the megabytes and DOM nodes that remain after garbage collection. */
async function memoryOf(devtools: CDPSession) {
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  const { nodes } = await devtools.send('Memory.getDOMCounters')
  return { megabytes: usedSize / 1e6, nodes }
}

/** Creates transfers at an even rate, regardless of the response times. Returns the number of created transfers. */
async function createEvenly(client: RawMerchantClient): Promise<number> {
  const startedMs = performance.now()
  const results: Promise<boolean>[] = []
  const create = () => client.nativeDeposit(randomUUID(), '100.00').then(({ status }) => status === 200)
  while (performance.now() - startedMs < seconds * 1000) {
    const due = ((performance.now() - startedMs) / 1000) * perSecond
    while (results.length < due) results.push(create())
    await sleep(turnMs)
  }
  return (await Promise.all(results)).filter(Boolean).length
}

await runPart(async (cleanup) => {
  const browser = await launchBrowser()
  title(`the overview, ${perSecond} transfers per second for ${seconds} s`)
  if (!browser) return note('NOT RUN: Chromium is not installed')
  cleanup(() => browser.close())
  const service = await startService()
  cleanup(() => service.stop())
  await service.cli('merchants', 'set', service.sandbox.merchantId, '--rate-limit', '100000')
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(recorder)
  await page.goto(`${service.baseUrl}/dashboard`)
  const { email, password } = service.sandbox.users.find(({ role }) => role === 'viewer')!
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(/Live$/).first().waitFor()
  const devtools = await page.context().newCDPSession(page)

  const creating = createEvenly(new RawMerchantClient(service.baseUrl, service.sandbox))
  await sleep(settledAfterSeconds * 1000)
  const early = await memoryOf(devtools)
  const created = await creating
  await sleep(2_000)
  const late = await memoryOf(devtools)
  const seen = await page.evaluate<Seen>('seen')
  const lags = [...seen.lagsMs].sort((a, b) => a - b)
  const lag = (q: number) => lags[Math.floor((lags.length - 1) * q)] ?? Number.NaN
  const report = (figure: string, value: number) => row('overview', figure, [value])
  report('created transfers', created)
  report('transfers counted by the page', seen.counted)
  report('messages', seen.messages)
  report('notification delay, median ms', lag(0.5))
  report('notification delay, p99 ms', lag(0.99))
  report('notification delay, max ms', lag(1))
  report('longest block of the main thread, ms', seen.blockedMs)
  for (const [when, { megabytes, nodes }] of [
    [`after ${settledAfterSeconds} s`, early],
    ['at the end', late],
  ] as const) {
    report(`heap ${when}, MB`, megabytes)
    report(`DOM nodes ${when}`, nodes)
  }
})
