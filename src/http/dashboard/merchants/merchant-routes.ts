import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { changeMerchantSettings, settingsRefusal } from '../../../commands/merchant/settings-changes.js'
import { apiKeyId, keyNameForm, scopes } from '../../../domain/merchant/api-key.js'
import type { Merchant } from '../../../domain/merchant/merchant.js'
import type { MerchantSettings } from '../../../domain/merchant/merchant-events.js'
import { amountSettings, defaultSettings, overlapMinutes } from '../../../domain/merchant/merchant-settings.js'
import { parseTime } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import { accepted, invalid, invalidFields, RequestError } from '../../refusals.js'
import {
  ChangeMerchantRequest,
  CreateKeyRequest,
  CreateMerchantRequest,
  IssuedMerchant,
  IssuedSecret,
  MerchantItem,
  MerchantsResponse,
  PlainAction,
  MerchantParams as params,
  RotateRequest,
} from '../api.js'
import { actorNames, changedBy, requireOwn, seenMerchants, userContext } from '../session-guard.js'

/** Adds the routes for merchants, their settings, keys and secrets. Issued keys appear only in the response. */
export const merchantRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { merchants, directory, networks, resolveHost } = app.services
  const read = app.viewers.allow('merchants:read')
  const manage = app.viewers.allow('merchants:manage')
  const ownId = (request: FastifyRequest<{ Params: { merchantId: string } }>) =>
    requireOwn(request, request.params.merchantId)
  const shown = (merchant: Merchant) => ({ merchant, revision: directory.revisionOf(merchant.merchantId) })

  app.get('/merchants', read({}, MerchantsResponse), async (request) => {
    const latestFirst = seenMerchants(request).sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
    return { items: latestFirst.map((merchant) => itemOf(request, shown(merchant))) }
  })
  app.get('/merchants/:merchantId', read({ params }, MerchantItem), async (request) => {
    const merchantId = ownId(request)
    const merchant = directory.byId(merchantId)
    if (merchant) return itemOf(request, shown(merchant))
    throw directory.problemOf(merchantId) ?? new RequestError('unknown-merchant')
  })
  app.post('/merchants', manage({ body: CreateMerchantRequest }, IssuedMerchant), async (request) => {
    const { name, callbackUrl, allowIps, sandbox = false } = request.body
    const settings: MerchantSettings = { ...defaultSettings(sandbox), name, callbackUrl, allowIps }
    refuseSettings({}, settings)
    const { id, ...secrets } = await merchants.register(settings, userContext(request))
    const merchant = await noteMerchantChange(request, 'created', id)
    return { merchant: await withCheckedEndpoint(merchant), ...secrets }
  })
  app.patch(
    '/merchants/:merchantId',
    manage({ params, body: ChangeMerchantRequest }, MerchantItem),
    async (request) => {
      const merchantId = ownId(request)
      const before = await merchants.find(merchantId)
      if (!before) throw new RequestError('unknown-merchant')
      const { revision, ...given } = request.body
      const { callbackUrl, ...others } = settingsIn(given)
      // A form sends all settings. Only a different URL is a new endpoint, for which callbacks resume.
      const isElsewhere = callbackUrl !== undefined && callbackUrl !== before.settings.callbackUrl
      const changes = { ...others, ...(isElsewhere && { callbackUrl }) }
      refuseSettings(before.settings, changes)
      const result = await changeMerchantSettings(merchants, merchantId, changes, userContext(request), revision)
      const after = accepted('merchant', result, actorNames(request))
      if (!after.changed) return itemOf(request, after)
      const item = await noteMerchantChange(request, 'settings', merchantId, after)
      return isElsewhere ? withCheckedEndpoint(item) : item
    },
  )
  for (const [action, type, change] of [
    ['suspend', 'Suspend', 'suspended'],
    ['resume', 'Resume', 'resumed'],
  ] as const) {
    app.post(`/merchants/:merchantId/${action}`, manage({ params }, MerchantItem), async (request) => {
      const merchantId = ownId(request)
      const after = accepted('merchant', await merchants.execute(merchantId, { type }, userContext(request)))
      return noteMerchantChange(request, change, merchantId, after)
    })
  }
  const confirm = manage({ params, body: PlainAction }, MerchantItem)
  app.post('/merchants/:merchantId/confirm-threshold', confirm, async (request) => {
    const [merchantId, context] = [ownId(request), userContext(request)]
    const command = { type: 'ConfirmThreshold', by: context.actor } as const
    const result = await merchants.execute(merchantId, command, context, request.body)
    return noteMerchantChange(
      request,
      'threshold-confirmed',
      merchantId,
      accepted('merchant', result, actorNames(request)),
    )
  })
  app.post('/merchants/:merchantId/keys', manage({ params, body: CreateKeyRequest }, IssuedSecret), async (request) => {
    const merchantId = ownId(request)
    const created = await merchants.createApiKey(merchantId, keyOf(request.body), userContext(request))
    const { webApiKey: value } = accepted('merchant', created)
    return { merchant: await noteMerchantChange(request, 'key-created', merchantId), value }
  })
  const ofKey = Type.Object({ merchantId: Type.String(), keyId: Type.String() })
  app.delete('/merchants/:merchantId/keys/:keyId', manage({ params: ofKey }, MerchantItem), async (request) => {
    const merchantId = ownId(request)
    const { keyId } = request.params
    accepted('merchant', await merchants.execute(merchantId, { type: 'RevokeApiKey', keyId }, userContext(request)))
    return noteMerchantChange(request, 'key-revoked', merchantId)
  })
  app.post('/merchants/:merchantId/rotate', manage({ params, body: RotateRequest }, IssuedSecret), async (request) => {
    const merchantId = ownId(request)
    const { secret, overlapMinutes: minutes = overlapMinutes.usual } = request.body
    const context = userContext(request)
    const value =
      secret === 'webApiKey'
        ? accepted('merchant', await merchants.rotateApiKey(merchantId, minutes, context)).webApiKey
        : accepted('merchant', await merchants.rotateSecret(merchantId, secret, minutes, context)).value
    return { merchant: await noteMerchantChange(request, `${secret}-rotated`, merchantId), value }
  })

  async function withCheckedEndpoint(item: MerchantItem): Promise<MerchantItem> {
    const { callbackUrl, sandbox } = item.settings
    return { ...item, endpointWarning: (await networks.checkedWarningOf(callbackUrl, sandbox, resolveHost)) ?? null }
  }

  /** @throws RequestError that names the field */
  function refuseSettings(before: Partial<MerchantSettings>, given: Partial<MerchantSettings>): void {
    const problem = settingsRefusal(before, given, app.services)
    if (problem) throw invalidFields([problem])
  }
}

/** Writes the change to the security log, waits until this node shows it, and returns the merchant after it, or the current merchant. */
export async function noteMerchantChange(
  request: FastifyRequest,
  change: string,
  merchantId: string,
  after?: ShownMerchant,
): Promise<MerchantItem> {
  const { securityLog, directory } = request.server.services
  securityLog.note('security.merchant_changed', { ...changedBy(request), merchantId, change })
  await directory.catchUp()
  if (after) return itemOf(request, after)
  const merchant = directory.byId(merchantId)
  if (!merchant) throw directory.problemOf(merchantId) ?? new Error('a merchant that was changed is not in the log')
  return itemOf(request, { merchant, revision: directory.revisionOf(merchantId) })
}

/** A merchant and the revision of its state. */
type ShownMerchant = { readonly merchant: Merchant; readonly revision: number }

/** @throws RequestError that names the field */
function keyOf(body: CreateKeyRequest) {
  const { name, validUntil: end } = body
  if (!keyNameForm.test(name)) throw invalid('name', 'api-key-name-invalid', { most: 64 })
  const unknown = body.scopes.find((scope) => !scopes.some((each) => each === scope))
  if (unknown !== undefined) throw invalid('scopes', 'not-one-of', { allowed: scopes.join(', ') })
  const validUntil = end === undefined ? null : parseTime(end)
  if (validUntil === undefined) throw invalid('validUntil', 'time-invalid')
  return { name, scopes: scopes.filter((scope) => body.scopes.includes(scope)), validUntil }
}

/** Returns a merchant without its secrets, and without anything that helps to guess a key. */
function itemOf(request: FastifyRequest, { merchant, revision }: ShownMerchant): MerchantItem {
  const {
    merchantId,
    settings,
    apiKeys,
    suspended,
    logoSha256,
    proposedThreshold: proposed,
    callbacksDisabled,
    createdAt,
  } = merchant
  const amount = (minor: bigint | null) => (minor === null ? null : Number(minor))
  const limits = (each: MerchantSettings['withdrawalLimits']) =>
    each.map((limit) => ({ ...limit, amountMinor: amount(limit.amountMinor) }))
  const { networks } = request.server.services
  return {
    endpointWarning: networks.warningOf(settings.callbackUrl, settings.sandbox) ?? null,
    merchantId,
    suspended,
    logoSha256,
    callbacksDisabled,
    createdAt,
    revision,
    proposedThreshold: proposed && {
      approvalAboveMinor: amount(proposed.approvalAboveMinor),
      withdrawalLimits: proposed.withdrawalLimits ? limits(proposed.withdrawalLimits) : null,
      approvalOverDay: proposed.approvalOverDay ?? null,
      by: actorNames(request)(proposed.by),
      at: proposed.at,
    },
    settings: {
      ...settings,
      mismatchToleranceMinor: Number(settings.mismatchToleranceMinor),
      manualControlAboveMinor: amount(settings.manualControlAboveMinor),
      approvalAboveMinor: amount(settings.approvalAboveMinor),
      withdrawalLimits: limits(settings.withdrawalLimits),
      minAmountMinor: Number(settings.minAmountMinor),
      maxAmountMinor: Number(settings.maxAmountMinor),
    },
    keys: apiKeys.map((key) => {
      const { name, scopes, createdAt, validUntil } = key
      return { keyId: apiKeyId(key), name, scopes, createdAt, validUntil }
    }),
  }
}

/** Returns the settings of a request, in which amounts are integers. The schema allows no other fields. */
function settingsIn(body: Omit<ChangeMerchantRequest, 'revision'>): Partial<MerchantSettings> {
  const amounts = amountSettings.flatMap((name) => {
    const value = body[name]
    return value === undefined ? [] : [[name, value === null ? null : BigInt(value)]]
  })
  const withdrawalLimits = body.withdrawalLimits?.map(({ per, hours, count, amountMinor }) => {
    return { per, hours, count, amountMinor: amountMinor === null ? null : BigInt(amountMinor) }
  })
  return { ...body, ...Object.fromEntries(amounts), ...(withdrawalLimits && { withdrawalLimits }) }
}
