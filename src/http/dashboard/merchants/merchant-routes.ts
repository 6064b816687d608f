import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { MerchantCommands } from '../../../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import {
  changeMerchantSettings,
  type SettingsFrame,
  settingsRefusal,
} from '../../../commands/merchant/settings-changes.js'
import type { Merchant } from '../../../domain/merchant/merchant.js'
import type { MerchantSettings } from '../../../domain/merchant/merchant-events.js'
import { defaultSettings } from '../../../domain/merchant/merchant-settings.js'
import { accepted, invalidFields, RequestError } from '../../refusals.js'
import { ChangeMerchantRequest, CreateMerchantRequest, IssuedMerchant, MerchantItem, MerchantsAnswer } from '../api.js'
import { merchantParams, noteMerchantChange, type OwnMerchantOptions, requireOwn } from '../own-merchants.js'
import { contextOf } from '../session-guard.js'
import { keyRoutes } from './merchant-key-routes.js'
import { itemOf, settingsIn } from './merchant-view.js'

export interface DashboardMerchantOptions extends OwnMerchantOptions, SettingsFrame {
  readonly merchants: MerchantCommands
  readonly directory: MerchantDirectory
  readonly clock: () => string
}

/** Adds the routes for merchants, their settings and secrets. */
export const merchantRoutes: FastifyPluginAsyncTypebox<DashboardMerchantOptions> = async (app, options) => {
  await readRoutes(app, options)
  await changeRoutes(app, options)
  await keyRoutes(app, options)
}

const readRoutes: FastifyPluginAsyncTypebox<DashboardMerchantOptions> = async (app, { directory }) => {
  const read = app.viewers.allow('merchants:read')
  app.route({
    method: 'GET',
    url: '/merchants',
    ...read,
    schema: { hide: true, response: { 200: MerchantsAnswer } },
    handler: async (request) => {
      const seen = directory.all().filter(({ merchantId }) => app.viewers.sees(request, merchantId))
      const latestFirst = seen.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
      return { items: latestFirst.map(itemOf) }
    },
  })
  app.route({
    method: 'GET',
    url: '/merchants/:merchantId',
    ...read,
    schema: { hide: true, params: merchantParams, response: { 200: MerchantItem } },
    handler: async (request) => {
      const merchantId = requireOwn(request, request.params.merchantId)
      const merchant = directory.byId(merchantId)
      if (merchant) return itemOf(merchant)
      throw directory.problemOf(merchantId) ?? new RequestError('unknown-merchant')
    },
  })
}

const changeRoutes: FastifyPluginAsyncTypebox<DashboardMerchantOptions> = async (app, options) => {
  const { merchants, directory } = options
  /** Logs the change, and waits until this node shows it. */
  const done = async (
    request: FastifyRequest,
    change: Parameters<typeof noteMerchantChange>[2],
    merchant: Merchant,
  ) => {
    noteMerchantChange(options, request, change, merchant.merchantId)
    await directory.catchUp()
    return itemOf(merchant)
  }
  app.route({
    method: 'POST',
    url: '/merchants',
    ...app.viewers.allow('merchants:manage', { recent: true }),
    schema: { hide: true, body: CreateMerchantRequest, response: { 200: IssuedMerchant } },
    handler: async (request) => {
      const { name, callbackUrl, allowIps, sandbox = false } = request.body
      const settings: MerchantSettings = { ...defaultSettings(sandbox), name, callbackUrl, allowIps }
      refuseSettings({}, settings, options)
      const { id, ...secrets } = await merchants.register(settings, contextOf(request))
      const merchant = await merchants.find(id)
      if (!merchant) throw new Error('a new merchant is not in the log')
      return { merchant: await done(request, 'created', merchant), ...secrets }
    },
  })
  app.route({
    method: 'PATCH',
    url: '/merchants/:merchantId',
    ...app.viewers.allow('merchants:manage'),
    schema: { hide: true, params: merchantParams, body: ChangeMerchantRequest, response: { 200: MerchantItem } },
    handler: async (request) => {
      const merchantId = requireOwn(request, request.params.merchantId)
      const before = await merchants.find(merchantId)
      if (!before) throw new RequestError('unknown-merchant')
      const { callbackUrl, ...others } = settingsIn(request.body)
      // A form sends all settings. Only a different URL is a new endpoint, for which callbacks resume.
      const isElsewhere = callbackUrl !== undefined && callbackUrl !== before.settings.callbackUrl
      const changes = { ...others, ...(isElsewhere && { callbackUrl }) }
      refuseSettings(before.settings, changes, options)
      const result = accepted(
        'merchant',
        await changeMerchantSettings(merchants, merchantId, changes, contextOf(request)),
      )
      return result.changed ? done(request, 'settings', result.merchant) : itemOf(result.merchant)
    },
  })
  for (const [url, change] of [
    ['/merchants/:merchantId/suspend', 'suspended'],
    ['/merchants/:merchantId/resume', 'resumed'],
  ] as const) {
    app.route({
      method: 'POST',
      url,
      ...app.viewers.allow('merchants:manage'),
      schema: { hide: true, params: merchantParams, response: { 200: MerchantItem } },
      handler: async (request) => {
        const merchantId = requireOwn(request, request.params.merchantId)
        const context = contextOf(request)
        const result =
          change === 'suspended'
            ? merchants.suspend(merchantId, context)
            : merchants.execute(merchantId, { type: 'Resume' }, context)
        return done(request, change, accepted('merchant', await result).merchant)
      },
    })
  }
}

/** @throws RequestError that names the field */
function refuseSettings(
  before: Partial<MerchantSettings>,
  given: Partial<MerchantSettings>,
  frame: SettingsFrame,
): void {
  const problem = settingsRefusal(before, given, frame)
  if (problem) throw invalidFields([problem])
}
