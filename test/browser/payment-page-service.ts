import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { Browser, BrowserContextOptions, FrameLocator, Page } from 'playwright-core'
import type { Test } from 'tap'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import type { HttpServices } from '../../src/http/services.js'
import type { OutboxMessage } from '../../src/wallet/messages.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { openContext, type Watched } from './watched-page.js'

export const customer = { email: 'ada@example.com', password: '246813' }
/** A customer for live merchants, because sandbox accounts cannot pay them. */
export const liveCustomer = { email: 'grace@example.com', password: '135792' }
export const phone = { width: 390, height: 844 }
export const desktop = { width: 1280, height: 800 }

/** Starts the service on its own port, with a wallet in memory and a clock that can be moved forward. */
export async function startPaymentPage(t: Test, browser: Browser, overrides: Partial<HttpServices> = {}) {
  const { port, release } = await reservePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const wallet = new MemoryWallet()
  const outbox: OutboxMessage[] = []
  const time = { aheadMs: 0 }
  const clock = () => new Date(Date.now() + time.aheadMs).toISOString()
  const service = await startTestService({
    wallet,
    clock,
    configuration: { publicUrl },
    overrides: { outbox: async () => outbox, ...overrides },
  })
  t.teardown(() => destroyTestService(service))
  await release()
  await service.app.listen({ port, host: '127.0.0.1' })
  wallet.open(customer.email, customer.password, 10_000_00n)
  wallet.open(liveCustomer.email, liveCustomer.password, 10_000_00n, false)
  const merchants = new Map<string, Awaited<ReturnType<typeof service.merchant>>>()

  /** Creates a hosted deposit. */
  async function deposit(amount = '1234.5', settings: Partial<MerchantSettings> = {}, fields: object = {}) {
    const key = JSON.stringify(settings)
    const merchant = merchants.get(key) ?? (await service.merchant({ name: 'Blue Shop', ...settings }))
    merchants.set(key, merchant)
    const body = createBody('hosted', merchant.secretKey, { ...fields }, amount)
    const created = (await post(service.app, paths.hosted, body, { key: merchant.webApiKey })).json()
    const { url, trackingId, referenceId } = created as { url: string; trackingId: string; referenceId: string }
    const status = async () => (await service.transfers.find(trackingId))!.transfer.status
    return { url, trackingId, referenceId, status }
  }

  /** Opens a page in a separate browser context. `problems` collects its errors. */
  async function open(url: string, options: BrowserContextOptions = {}): Promise<Watched> {
    const problems: string[] = []
    const context = await openContext(t, browser, problems, { viewport: phone, ...options })
    const page = await context.newPage()
    await page.goto(url)
    return { page, problems }
  }

  /** Makes the wallet trust every device. */
  function trustAllDevices() {
    wallet.isTrusted = async () => true
  }

  return { service, wallet, outbox, time, publicUrl, deposit, open, trustAllDevices }
}

export async function signInToWallet(page: Page | FrameLocator, { email, password } = customer) {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Continue' }).click()
}

/** Signs in to the wallet and waits for the code field. */
export async function signInToCode(page: Page | FrameLocator, account = customer) {
  await signInToWallet(page, account)
  await page.getByLabel('Code', { exact: true }).waitFor()
}

export async function enterCode(page: Page | FrameLocator, code: string) {
  await page.getByLabel('Code', { exact: true }).fill(code)
  await page.getByRole('button', { name: /^Pay / }).click()
}

const frameOfQuery = `<iframe title="Payment" width="400" height="800"></iframe><script>
  window.messages = []
  addEventListener('message', ({ data, origin }) => window.messages.push({ data, origin }))
  document.querySelector('iframe').src = new URLSearchParams(location.search).get('frame')</script>`

/** Starts a shop on another origin. Its page frames the address in the query and collects messages in `window.messages`. */
export async function startShop(t: Test, body: () => string = () => frameOfQuery): Promise<string> {
  const server = createHttpServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(
      `<!doctype html><html lang="en"><title>Shop</title><body>${request.url?.startsWith('/orders/') ? 'Thank you' : body()}`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://localhost:${(server.address() as { port: number }).port}`
}

/** Reserves a free port until it is released, so that no other process takes it. */
export async function reservePort(): Promise<{ readonly port: number; readonly release: () => Promise<void> }> {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as { port: number }
  return {
    port,
    release: async () => {
      holder.close()
      await once(holder, 'close')
    },
  }
}
