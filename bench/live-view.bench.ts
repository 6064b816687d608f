/**
 * The overview in a browser while 500 transfers are created every second: how late it is told of them, how long its own thread is held
 * up, and what a minute of it leaves behind in memory. `npm run bench -- live-view` prints it; it needs chromium.
 */
import { randomUUID } from 'node:crypto'
import type { CDPSession } from 'playwright-core'
import { startService } from '../examples/example-service.js'
import { MerchantClient } from '../examples/merchant/merchant-api-client.js'
import { launchBrowser } from '../test/browser/launch-browser.js'
import { part } from './support/bench-part.js'
import { note, row, title } from './support/bench-report.js'

const perSecond = Number(process.env.BENCH_PER_SECOND ?? 500)
const seconds = Number(process.env.BENCH_SECONDS ?? 60)
const settledAfterSeconds = 10
const turnMs = 20

/** Listens in on what the page is told, and on how punctual its timers are. */
const listen = `
  window.seen = { messages: 0, counted: 0, lagsMs: [], heldUpMs: 0 }
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
    seen.heldUpMs = Math.max(seen.heldUpMs, performance.now() - due)
    due = performance.now() + 50
  }, 50)`

interface Seen {
  readonly messages: number
  readonly counted: number
  readonly lagsMs: readonly number[]
  readonly heldUpMs: number
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Megabytes and elements that are left when what is not used any more is gone. */
async function leftBehind(devtools: CDPSession) {
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  const { nodes } = await devtools.send('Memory.getDOMCounters')
  return { megabytes: usedSize / 1e6, nodes }
}

/** At an even pace, however long an answer takes. Resolves to how many were created. */
async function createEvenly(client: MerchantClient): Promise<number> {
  const startedMs = performance.now()
  const answers: Promise<boolean>[] = []
  const create = () => client.nativeDeposit(randomUUID(), '100.00').then(({ status }) => status === 200)
  while (performance.now() - startedMs < seconds * 1000) {
    const wanted = ((performance.now() - startedMs) / 1000) * perSecond
    while (answers.length < wanted) answers.push(create())
    await sleep(turnMs)
  }
  return (await Promise.all(answers)).filter(Boolean).length
}

await part(async (atEnd) => {
  const browser = await launchBrowser()
  title(`the overview, ${perSecond} transfers a second for ${seconds} s`)
  if (!browser) return note('NOT RUN: no chromium is installed')
  atEnd(() => browser.close())
  const service = await startService()
  atEnd(() => service.stop())
  await service.cli('merchants', 'set', service.sandbox.merchantId, '--rate-limit', '100000')
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(listen)
  await page.goto(`${service.baseUrl}/dashboard`)
  const { email, password } = service.sandbox.users.find(({ role }) => role === 'viewer')!
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(/Live$/).first().waitFor()
  const devtools = await page.context().newCDPSession(page)

  const creating = createEvenly(new MerchantClient(service.baseUrl, service.sandbox))
  await sleep(settledAfterSeconds * 1000)
  const early = await leftBehind(devtools)
  const created = await creating
  await sleep(2_000)
  const late = await leftBehind(devtools)
  const seen = await page.evaluate<Seen>('seen')
  const lags = [...seen.lagsMs].sort((a, b) => a - b)
  const lag = (q: number) => lags[Math.floor((lags.length - 1) * q)] ?? Number.NaN
  const tell = (figure: string, value: number) => row('overview', figure, [value])
  tell('transfers created', created)
  tell('transfers counted in the page', seen.counted)
  tell('messages', seen.messages)
  tell('told of a transfer after, median ms', lag(0.5))
  tell('told of a transfer after, p99 ms', lag(0.99))
  tell('told of a transfer after, longest ms', lag(1))
  tell("the page's thread held up at most, ms", seen.heldUpMs)
  for (const [when, { megabytes, nodes }] of [
    [`after ${settledAfterSeconds} s`, early],
    ['at the end', late],
  ] as const) {
    tell(`heap ${when}, MB`, megabytes)
    tell(`DOM nodes ${when}`, nodes)
  }
})
