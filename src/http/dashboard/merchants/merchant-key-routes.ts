import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { MerchantCommands } from '../../../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import { keyNameForm, scopes } from '../../../domain/merchant/api-key.js'
import { overlapMinutes } from '../../../domain/merchant/merchant-settings.js'
import { parseTime } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import { accepted, invalid } from '../../refusals.js'
import { CreateKeyRequest, IssuedSecret, MerchantItem, RotateRequest } from '../api.js'
import { merchantParams, noteMerchantChange, type OwnMerchantOptions, requireOwn } from '../own-merchants.js'
import { contextOf } from '../session-guard.js'
import { itemOf } from './merchant-view.js'

export interface KeyOptions extends OwnMerchantOptions {
  readonly merchants: MerchantCommands
  readonly directory: MerchantDirectory
}

/** Adds the routes for keys. Issued keys appear only in the response. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyOptions> = async (app, options) => {
  const { merchants, directory } = options
  const manage = app.viewers.allow('merchants:manage', { recent: true })
  const done = async (
    request: FastifyRequest,
    change: Parameters<typeof noteMerchantChange>[2],
    merchantId: string,
  ) => {
    noteMerchantChange(options, request, change, merchantId)
    await directory.catchUp()
    const merchant = await merchants.find(merchantId)
    if (!merchant) throw new Error('a merchant that was changed is not in the log')
    return itemOf(merchant)
  }
  app.route({
    method: 'POST',
    url: '/merchants/:merchantId/keys',
    ...manage,
    schema: { hide: true, params: merchantParams, body: CreateKeyRequest, response: { 200: IssuedSecret } },
    handler: async (request) => {
      const merchantId = requireOwn(request, request.params.merchantId)
      const key = keyOf(request.body)
      const { webApiKey: value } = accepted(
        'merchant',
        await merchants.createApiKey(merchantId, key, contextOf(request)),
      )
      return { merchant: await done(request, 'key-created', merchantId), value }
    },
  })
  app.route({
    method: 'DELETE',
    url: '/merchants/:merchantId/keys/:keyId',
    ...manage,
    schema: {
      hide: true,
      params: Type.Object({ merchantId: Type.String(), keyId: Type.String() }),
      response: { 200: MerchantItem },
    },
    handler: async (request) => {
      const merchantId = requireOwn(request, request.params.merchantId)
      accepted(
        'merchant',
        await merchants.execute(merchantId, { type: 'RevokeApiKey', keyId: request.params.keyId }, contextOf(request)),
      )
      return done(request, 'key-revoked', merchantId)
    },
  })
  app.route({
    method: 'POST',
    url: '/merchants/:merchantId/rotate',
    ...manage,
    schema: { hide: true, params: merchantParams, body: RotateRequest, response: { 200: IssuedSecret } },
    handler: async (request) => {
      const merchantId = requireOwn(request, request.params.merchantId)
      const { secret, overlapMinutes: minutes = overlapMinutes.usual } = request.body
      const context = contextOf(request)
      const value =
        secret === 'webApiKey'
          ? accepted('merchant', await merchants.rotateApiKey(merchantId, minutes, context)).webApiKey
          : accepted('merchant', await merchants.rotateSecret(merchantId, secret, minutes, context)).value
      return { merchant: await done(request, `${secret}-rotated`, merchantId), value }
    },
  })
}

/** @throws RequestError that names the field */
function keyOf(body: { readonly name: string; readonly scopes: readonly string[]; readonly validUntil?: string }) {
  const { name, validUntil: end } = body
  if (!keyNameForm.test(name)) throw invalid('name', 'api-key-name-invalid', { most: 64 })
  const unknown = body.scopes.find((scope) => !scopes.some((each) => each === scope))
  if (unknown !== undefined) throw invalid('scopes', 'not-one-of', { allowed: scopes.join(', ') })
  const validUntil = end === undefined ? null : parseTime(end)
  if (validUntil === undefined) throw invalid('validUntil', 'time-invalid')
  return { name, scopes: scopes.filter((scope) => body.scopes.includes(scope)), validUntil }
}
