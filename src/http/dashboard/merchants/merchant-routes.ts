import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
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
  MerchantsAnswer,
  MerchantParams as params,
  RotateRequest,
} from '../api.js'
import { actorNames, changedBy, contextOf, requireOwn, seenMerchants } from '../session-guard.js'

/** Adds the routes for merchants, their settings, keys and secrets. Issued keys appear only in the response. */
export const merchantRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { merchants, directory } = app.services
  const read = app.viewers.allow('merchants:read')
  const manage = app.viewers.allow('merchants:manage')
  const ownId = (request: FastifyRequest<{ Params: { merchantId: string } }>) =>
    requireOwn(request, request.params.merchantId)

  app.get('/merchants', read({}, MerchantsAnswer), async (request) => {
    const latestFirst = seenMerchants(request).sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
    return { items: latestFirst.map((merchant) => itemOf(request, merchant)) }
  })
  app.get('/merchants/:merchantId', read({ params }, MerchantItem), async (request) => {
    const merchantId = ownId(request)
    const merchant = directory.byId(merchantId)
    if (merchant) return itemOf(request, merchant)
    throw directory.problemOf(merchantId) ?? new RequestError('unknown-merchant')
  })
  app.post('/merchants', manage({ body: CreateMerchantRequest }, IssuedMerchant), async (request) => {
    const { name, callbackUrl, allowIps, sandbox = false } = request.body
    const settings: MerchantSettings = { ...defaultSettings(sandbox), name, callbackUrl, allowIps }
    refuseSettings({}, settings)
    const { id, ...secrets } = await merchants.register(settings, contextOf(request))
    return { merchant: await noteMerchantChange(request, 'created', id), ...secrets }
  })
  app.patch(
    '/merchants/:merchantId',
    manage({ params, body: ChangeMerchantRequest }, MerchantItem),
    async (request) => {
      const merchantId = ownId(request)
      const before = await merchants.find(merchantId)
      if (!before) throw new RequestError('unknown-merchant')
      const { callbackUrl, ...others } = settingsIn(request.body)
      // A form sends all settings. Only a different URL is a new endpoint, for which callbacks resume.
      const isElsewhere = callbackUrl !== undefined && callbackUrl !== before.settings.callbackUrl
      const changes = { ...others, ...(isElsewhere && { callbackUrl }) }
      refuseSettings(before.settings, changes)
      const result = await changeMerchantSettings(merchants, merchantId, changes, contextOf(request))
      const { changed, merchant } = accepted('merchant', result)
      return changed ? noteMerchantChange(request, 'settings', merchantId, merchant) : itemOf(request, merchant)
    },
  )
  for (const [action, type, change] of [
    ['suspend', 'Suspend', 'suspended'],
    ['resume', 'Resume', 'resumed'],
    ['confirm-threshold', 'ConfirmThreshold', 'threshold-confirmed'],
  ] as const) {
    app.post(`/merchants/:merchantId/${action}`, manage({ params }, MerchantItem), async (request) => {
      const context = contextOf(request)
      const result = await merchants.execute(ownId(request), { type, by: context.actor }, context)
      const { merchant } = accepted('merchant', result)
      return noteMerchantChange(request, change, merchant.merchantId, merchant)
    })
  }
  app.post('/merchants/:merchantId/keys', manage({ params, body: CreateKeyRequest }, IssuedSecret), async (request) => {
    const merchantId = ownId(request)
    const created = await merchants.createApiKey(merchantId, keyOf(request.body), contextOf(request))
    const { webApiKey: value } = accepted('merchant', created)
    return { merchant: await noteMerchantChange(request, 'key-created', merchantId), value }
  })
  const ofKey = Type.Object({ merchantId: Type.String(), keyId: Type.String() })
  app.delete('/merchants/:merchantId/keys/:keyId', manage({ params: ofKey }, MerchantItem), async (request) => {
    const merchantId = ownId(request)
    const { keyId } = request.params
    accepted('merchant', await merchants.execute(merchantId, { type: 'RevokeApiKey', keyId }, contextOf(request)))
    return noteMerchantChange(request, 'key-revoked', merchantId)
  })
  app.post('/merchants/:merchantId/rotate', manage({ params, body: RotateRequest }, IssuedSecret), async (request) => {
    const merchantId = ownId(request)
    const { secret, overlapMinutes: minutes = overlapMinutes.usual } = request.body
    const context = contextOf(request)
    const value =
      secret === 'webApiKey'
        ? accepted('merchant', await merchants.rotateApiKey(merchantId, minutes, context)).webApiKey
        : accepted('merchant', await merchants.rotateSecret(merchantId, secret, minutes, context)).value
    return { merchant: await noteMerchantChange(request, `${secret}-rotated`, merchantId), value }
  })

  /** @throws RequestError that names the field */
  function refuseSettings(before: Partial<MerchantSettings>, given: Partial<MerchantSettings>): void {
    const problem = settingsRefusal(before, given, app.services)
    if (problem) throw invalidFields([problem])
  }
}

/** Writes the change to the security log, waits until this node shows it, and returns `merchant`, or the current merchant from the log. */
export async function noteMerchantChange(
  request: FastifyRequest,
  change: string,
  merchantId: string,
  merchant?: Merchant,
): Promise<Static<typeof MerchantItem>> {
  const { securityLog, directory, merchants } = request.server.services
  securityLog.note('security.merchant_changed', { ...changedBy(request), merchantId, change })
  await directory.catchUp()
  const changed = merchant ?? (await merchants.find(merchantId))
  if (!changed) throw new Error('a merchant that was changed is not in the log')
  return itemOf(request, changed)
}

/** @throws RequestError that names the field */
function keyOf(body: Static<typeof CreateKeyRequest>) {
  const { name, validUntil: end } = body
  if (!keyNameForm.test(name)) throw invalid('name', 'api-key-name-invalid', { most: 64 })
  const unknown = body.scopes.find((scope) => !scopes.some((each) => each === scope))
  if (unknown !== undefined) throw invalid('scopes', 'not-one-of', { allowed: scopes.join(', ') })
  const validUntil = end === undefined ? null : parseTime(end)
  if (validUntil === undefined) throw invalid('validUntil', 'time-invalid')
  return { name, scopes: scopes.filter((scope) => body.scopes.includes(scope)), validUntil }
}

/** Returns a merchant without its secrets, and without anything that helps to guess a key. */
function itemOf(request: FastifyRequest, merchant: Merchant): Static<typeof MerchantItem> {
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
  return {
    ...{ merchantId, suspended, logoSha256, callbacksDisabled, createdAt },
    proposedThreshold: proposed && {
      approvalAboveMinor: amount(proposed.approvalAboveMinor),
      ...{ by: actorNames(request)(proposed.by), at: proposed.at },
    },
    settings: {
      ...settings,
      mismatchToleranceMinor: Number(settings.mismatchToleranceMinor),
      manualControlAboveMinor: amount(settings.manualControlAboveMinor),
      approvalAboveMinor: amount(settings.approvalAboveMinor),
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
function settingsIn(body: Static<typeof ChangeMerchantRequest>): Partial<MerchantSettings> {
  const amounts = amountSettings.flatMap((name) => {
    const value = body[name]
    return value === undefined ? [] : [[name, value === null ? null : BigInt(value)]]
  })
  return { ...body, ...Object.fromEntries(amounts) }
}
