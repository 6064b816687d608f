import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { Registry } from 'prom-client'
import type { Test } from 'tap'
import { callbackMetrics } from '../../../src/callbacks/callback-metrics.js'
import { startCallbacks } from '../../../src/callbacks/callbacks.js'
import { onlyNeeded } from '../../../src/callbacks/needed-events.js'
import { CallbackNetworks } from '../../../src/commands/merchant/callback-networks.js'
import type { IssuedCredentials } from '../../../src/commands/merchant/merchant-commands.js'
import type { MerchantSettings } from '../../../src/domain/merchant/merchant-events.js'
import type { Currency } from '../../../src/domain/money.js'
import { isMerchantRole, type Role, roles } from '../../../src/domain/user/permissions.js'
import type { HttpServices } from '../../../src/http/services.js'
import { quickTiming } from '../../callbacks/world.js'
import { type CreateKind, createBody, paths, post } from '../../support/merchant-requests.js'
import { startPathProxy } from '../../support/path-proxy.js'
import { destroyTestService, startTestService, type TestServiceOptions } from '../../support/test-service.js'
import { reservePort } from '../payment-page-service.js'
import { openContext } from '../watched-page.js'
import { DashboardClient, password } from './dashboard-client.js'

export const wide = { width: 1280, height: 900 }
const timeoutMs = 60_000
export const narrow = { width: 360, height: 740 }
export const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

interface Options extends Pick<TestServiceOptions, 'wallet' | 'configuration'> {
  readonly path?: string
  readonly outbox?: HttpServices['outbox']
}

/**
 * Starts a service with projections and callbacks, a shop, and one user for each role. Users with a merchant role belong
 * to the shop. `problems` collects the errors and forbidden requests of all pages. The clock of the service starts at `now`. `path`: the
 * path below which a proxy serves everything; pages request nothing else.
 */
export async function startDashboard(
  t: Test,
  browser: Browser,
  settings: Partial<MerchantSettings> = {},
  now = Date.now(),
  currency: Currency = { code: 'TRY', decimals: 2 },
  { path, wallet, outbox, configuration = {} }: Options = {},
) {
  const { port, release } = await reservePort()
  const proxy = path === undefined ? undefined : await startPathProxy(t, path)
  proxy?.forwardTo(port)
  const baseUrl = proxy?.baseUrl ?? `http://127.0.0.1:${port}`
  const allowed = proxy && new RegExp(`^(${baseUrl.replaceAll('.', '\\.')}(/|\\?|$)|blob:|data:)`)
  const time = { aheadMs: now - Date.now() }
  const clock = () => new Date(Date.now() + time.aheadMs).toISOString()
  const service = await startTestService({
    projections: true,
    clock,
    configuration: { publicUrl: baseUrl, ...configuration },
    overrides: { currency, ...(outbox && { outbox }) },
    ...(wallet && { wallet }),
  })
  t.teardown(() => destroyTestService(service))
  const callbacks = startCallbacks({
    store: service.store,
    followed: (isNeeded) => onlyNeeded(service.store, isNeeded),
    readModels: service.readModels,
    merchants: service.directory,
    commands: service.callbacks,
    merchantCommands: service.merchants,
    clock,
    random: () => 0,
    resolve: async () => [],
    networks: new CallbackNetworks([], () => true),
    logger: pino({ level: 'silent' }),
    metrics: callbackMetrics(new Registry()),
    timing: quickTiming,
  })
  t.teardown(() => callbacks.stop())
  await release()
  await service.app.listen({ port, host: '127.0.0.1' })
  const shop = await service.merchant({ name: 'Blue Shop', ...settings })
  for (const role of roles) {
    const merchantIds = isMerchantRole(role) ? [shop.id] : null
    await service.users.create({ email: emailOf(role), name: nameOf(role), role, merchantIds }, context, password)
  }

  const problems: string[] = proxy?.outside ?? []
  const clients = new Map<Role, Promise<DashboardClient>>()
  const contexts = new Map<string, Promise<BrowserContext>>()

  /** Returns a client that is signed in as the user with the role. */
  function as(role: Role): Promise<DashboardClient> {
    const client = clients.get(role) ?? DashboardClient.signIn(baseUrl, emailOf(role))
    clients.set(role, client)
    return client
  }

  /** Opens a page, signed in as the user with the role. With the same options, it is another tab of the same browser. */
  async function openAs(role: Role, path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await openBlankAs(role, options)
    await page.goto(`${baseUrl}${path}`)
    return page
  }

  /** Opens an empty tab, signed in as the user with the role. */
  async function openBlankAs(role: Role, options: BrowserContextOptions = {}): Promise<Page> {
    const key = JSON.stringify([role, options])
    const context =
      contexts.get(key) ??
      as(role).then(async ({ cookie }) => {
        const opened = await openContext(t, browser, problems, { viewport: wide, ...options }, allowed)
        opened.setDefaultTimeout(timeoutMs)
        await opened.addCookies([{ ...cookie, url: baseUrl, httpOnly: true, sameSite: 'Strict' }])
        return opened
      })
    contexts.set(key, context)
    return (await context).newPage()
  }

  /** Opens a page in a browser that is not signed in. */
  async function openSignedOut(path = '/dashboard', options: BrowserContextOptions = {}): Promise<Page> {
    const opened = await openContext(t, browser, problems, { viewport: wide, ...options }, allowed)
    opened.setDefaultTimeout(timeoutMs)
    const page = await opened.newPage()
    await page.goto(`${baseUrl}${path}`)
    return page
  }

  /** Creates a transfer of the shop and waits until lists contain it. Returns its trackingId. */
  async function create(
    kind: CreateKind,
    amount: string,
    fields: { readonly [name: string]: unknown } = {},
    merchant: IssuedCredentials = shop,
  ): Promise<string> {
    const body = createBody(kind, merchant.secretKey, { referenceId: randomUUID(), ...fields }, amount)
    const response = await post(service.app, paths[kind], body, { key: merchant.webApiKey })
    const created = response.json<{ trackingId?: string; result?: { trackingId: string } }>()
    const trackingId = created.trackingId ?? created.result?.trackingId
    if (trackingId === undefined) throw new Error(`the create was rejected: ${response.body}`)
    await listed(trackingId)
    return trackingId
  }

  /** Waits until lists contain the latest revision of a transfer. */
  async function listed(trackingId: string): Promise<void> {
    const { revision } = (await service.transfers.find(trackingId))!
    const auditor = await as('auditor')
    const isListed = async () => {
      const { body } = await auditor.get<{ items: { revision: number }[] }>(`/transfers?text=${trackingId}`)
      return (body.items[0]?.revision ?? -1) >= Number(revision)
    }
    const deadline = Date.now() + 60_000
    while (!(await isListed())) {
      if (Date.now() > deadline) throw new Error(`lists lack the latest revision of ${trackingId}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  return { service, baseUrl, time, shop, problems, as, openAs, openBlankAs, openSignedOut, create, listed }
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>

export async function signIn(page: Page, email: string, secret = password): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export function emailOf(role: Role): string {
  return `${role}@blue.example`
}

/** Returns the display name of the user with the role. */
export function nameOf(role: Role): string {
  return `Some ${role}`
}
