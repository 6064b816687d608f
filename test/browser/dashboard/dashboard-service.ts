import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { Registry } from 'prom-client'
import type { Test } from 'tap'
import { callbackMetrics } from '../../../src/callbacks/callback-metrics.js'
import { startCallbacks } from '../../../src/callbacks/callbacks.js'
import type { IssuedCredentials } from '../../../src/commands/merchant/merchant-commands.js'
import type { MerchantSettings } from '../../../src/domain/merchant/merchant-events.js'
import { isMerchantRole, type Role, roles } from '../../../src/domain/user/permissions.js'
import { quickTiming } from '../../callbacks/world.js'
import {
  type CreateKind,
  createBody,
  destroyTestService,
  paths,
  post,
  startTestService,
} from '../../support/test-service.js'
import { reservePort } from '../payment-page-service.js'
import { openContext } from '../watched-page.js'
import { Person, password } from './dashboard-client.js'

export const wide = { width: 1280, height: 900 }
const timeoutMs = 60_000
export const narrow = { width: 360, height: 740 }
export const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

/**
 * A service with projections and callbacks, a shop, and one person for each role: those of merchants belong to the shop. What any page
 * does that it must not is in `problems`.
 */
export async function startDashboard(t: Test, browser: Browser, settings: Partial<MerchantSettings> = {}) {
  const { port, release } = await reservePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const time = { aheadMs: 0 }
  const clock = () => new Date(Date.now() + time.aheadMs).toISOString()
  const service = await startTestService({ projections: true, sealed: true, clock, overrides: { publicUrl: baseUrl } })
  t.teardown(() => destroyTestService(service))
  const callbacks = startCallbacks({
    store: service.store,
    readModels: service.readModels,
    merchants: service.directory,
    commands: service.callbacks,
    merchantCommands: service.merchants,
    clock,
    random: () => 0,
    resolve: async () => [],
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

  const problems: string[] = []
  const people = new Map<Role, Promise<Person>>()
  const contexts = new Map<string, Promise<BrowserContext>>()

  /** Requests as the one who has the role makes them, without a browser. */
  function as(role: Role): Promise<Person> {
    const person = people.get(role) ?? Person.signIn(baseUrl, emailOf(role))
    people.set(role, person)
    return person
  }

  /** A page of the one who has the role, signed in; another tab of the same browser when the options are the same. */
  async function openAs(role: Role, path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const key = JSON.stringify([role, options])
    const context =
      contexts.get(key) ??
      as(role).then(async ({ cookie }) => {
        const made = await openContext(t, browser, problems, { viewport: wide, ...options })
        made.setDefaultTimeout(timeoutMs)
        await made.addCookies([{ ...cookie, url: baseUrl, httpOnly: true, sameSite: 'Strict' }])
        return made
      })
    contexts.set(key, context)
    const page = await (await context).newPage()
    await page.goto(`${baseUrl}${path}`)
    return page
  }

  /** A browser that nobody has signed in with. */
  async function openUnknown(path = '/dashboard', options: BrowserContextOptions = {}): Promise<Page> {
    const made = await openContext(t, browser, problems, { viewport: wide, ...options })
    made.setDefaultTimeout(timeoutMs)
    const page = await made.newPage()
    await page.goto(`${baseUrl}${path}`)
    return page
  }

  /** A transfer of the shop, in the lists already; its trackingId. */
  async function create(
    kind: CreateKind,
    amount: string,
    fields: { readonly [name: string]: unknown } = {},
    merchant: IssuedCredentials = shop,
  ): Promise<string> {
    const body = createBody(kind, merchant.secretKey, { referenceId: randomUUID(), ...fields }, amount)
    const answer = await post(service.app, paths[kind], body, { key: merchant.webApiKey })
    const created = answer.json<{ trackingId?: string; result?: { trackingId: string } }>()
    const trackingId = created.trackingId ?? created.result?.trackingId
    if (trackingId === undefined) throw new Error(`not created: ${answer.body}`)
    await listed(trackingId)
    return trackingId
  }

  /** Waits until the lists have what the log has of a transfer. */
  async function listed(trackingId: string): Promise<void> {
    const { revision } = (await service.transfers.find(trackingId))!
    const auditor = await as('auditor')
    const isListed = async () => {
      const { body } = await auditor.get<{ items: { revision: number }[] }>(`/transfers?text=${trackingId}`)
      return (body.items[0]?.revision ?? -1) >= Number(revision)
    }
    const deadline = Date.now() + 60_000
    while (!(await isListed())) {
      if (Date.now() > deadline) throw new Error(`not listed: ${trackingId}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  return { service, baseUrl, time, shop, problems, as, openAs, openUnknown, create, listed }
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>

export async function giveCredentials(page: Page, email: string, word = password): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(word)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export function emailOf(role: Role): string {
  return `${role}@blue.example`
}

/** As it is shown: `Olga Operator`. */
export function nameOf(role: Role): string {
  return `Some ${role}`
}
