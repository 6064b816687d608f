import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { imageSize } from '../../../kernel/image-size.js'
import { type ReceiptType, storeReceipt } from '../../../read-models/receipts.js'
import { sendLogo } from '../../merchant-logo.js'
import { accepted, invalid } from '../../refusals.js'
import { MerchantItem, MerchantParams as params } from '../api.js'
import { requireOwn, userContext } from '../session-guard.js'
import { noteMerchantChange } from './merchant-routes.js'

const maxBytes = 128 * 1024
const maxPixels = 1_024
const logoTypes: ReceiptType[] = ['image/png', 'image/jpeg', 'image/webp']

/** Adds the logo that a merchant's payment page shows. The file is stored next to the receipts, and the log names its digest. */
export const merchantLogoRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { merchants, readModels, directory, clock } = app.services
  const manage = app.viewers.allow('merchants:manage')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(logoTypes, { parseAs: 'buffer', bodyLimit: maxBytes }, (_request, body, done) => {
    done(null, body)
  })
  const change = async (request: FastifyRequest<{ Params: { merchantId: string } }>, sha256: string | null) => {
    const merchantId = requireOwn(request, request.params.merchantId)
    const result = await merchants.execute(merchantId, { type: 'ChangeLogo', sha256 }, userContext(request))
    return noteMerchantChange(request, 'logo', merchantId, accepted('merchant', result))
  }

  const read = app.viewers.allow('merchants:read')
  app.get('/merchants/:merchantId/logo', read({ params }), async (request, reply) => {
    const merchantId = requireOwn(request, request.params.merchantId)
    return sendLogo(reply, directory.byId(merchantId)?.logoSha256)
  })
  const upload = { bodyLimit: maxBytes, ...manage({ params }, MerchantItem) }
  app.put('/merchants/:merchantId/logo', upload, async (request) => {
    const { body } = request
    // The declared type cannot be trusted, and a small file can declare an image that fills the memory of a browser.
    const { width, height } = (body instanceof Buffer && imageSize(body)) || { width: maxPixels + 1, height: 0 }
    const isLogo = body instanceof Buffer && Math.max(width, height) <= maxPixels
    // Before the event, so that every recorded logo can be shown.
    const sha256 = isLogo ? await storeReceipt(readModels, body, clock(), logoTypes) : undefined
    if (sha256 === undefined) throw invalid('logo', 'logo-invalid', { most: maxPixels })
    return change(request, sha256)
  })
  app.delete('/merchants/:merchantId/logo', manage({ params }, MerchantItem), (request) => change(request, null))
}
