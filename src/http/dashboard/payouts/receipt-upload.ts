import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyError } from 'fastify'
import { violate } from '../../../domain/decider.js'
import { type ReceiptType, storeReceipt } from '../../../read-models/receipts.js'
import { receiptName } from '../../../security/receipt-names.js'
import { TokenBuckets } from '../../../security/token-buckets.js'
import { RequestError } from '../../refusals.js'
import { sendFailure } from '../../server/error-handler.js'
import { StoredReceipt } from '../api.js'
import { dashboardFailure } from '../dashboard-failure.js'

const mebibyte = 1024 * 1024
const maxBytes = 5 * mebibyte
/** The allowance per user and process, which refills over a day. Uploaded files are kept even if no transfer refers to them. */
const daily = { bytes: 200 * mebibyte, maxPeople: 10_000 }

const receiptTypes: ReceiptType[] = ['application/pdf', 'image/png', 'image/jpeg']

/** Adds the upload of receipts under /dashboard/api. */
export const receiptUpload: FastifyPluginAsyncTypebox = async (app) => {
  const { readModels, secretBox, publicUrl, clock, monotonicMs } = app.services
  const uploaded = new TokenBuckets(monotonicMs, daily.maxPeople)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(receiptTypes, { parseAs: 'buffer', bodyLimit: maxBytes }, (_request, body, done) => {
    done(null, body)
  })
  app.setErrorHandler((error, request, reply) =>
    sendFailure(app, refusalOf(error as Error), request, reply, dashboardFailure),
  )
  const settle = { bodyLimit: maxBytes, ...app.viewers.allow('transfers:settle')({}, StoredReceipt) }
  app.post('/receipts', settle, async ({ body, viewer }) => {
    const size = body instanceof Buffer ? body.length : 0
    const retryAfterSeconds = uploaded.take(viewer.userId, daily.bytes / 86_400, daily.bytes, size)
    if (retryAfterSeconds > 0) {
      const violation = violate('receipt-quota', { megabytes: daily.bytes / mebibyte })
      throw new RequestError('too-many-requests', { violation, retryAfterSeconds })
    }
    const sha256 = body instanceof Buffer ? await storeReceipt(readModels, body, clock(), receiptTypes) : undefined
    if (sha256 === undefined) throw new RequestError('no-receipt')
    return { receiptUrl: `${publicUrl}/receipts/${receiptName(secretBox, sha256)}` }
  })
}

/** Replaces the errors about body size and media type by those of receipts. */
function refusalOf(error: Error): Error {
  const { code } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new RequestError('receipt-too-large')
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? new RequestError('no-receipt') : error
}
