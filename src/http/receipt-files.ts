import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '../kernel/typebox.js'
import { findReceipt, type ReceiptType } from '../read-models/receipts.js'
import { digestOfReceipt } from '../security/receipt-names.js'
import { RequestError } from './refusals.js'

const fileNames: { readonly [type in ReceiptType]: string } = {
  'application/pdf': 'receipt.pdf',
  'image/png': 'receipt.png',
  'image/jpeg': 'receipt.jpg',
  'image/webp': 'receipt.webp',
}

const schema = {
  tags: ['Files'],
  operationId: 'getReceipt',
  summary: 'Get an uploaded receipt',
  description: 'The `ReceiptUrl` of a callback may lead here.',
  params: Type.Object({ name: Type.String({ description: 'The last part of the `ReceiptUrl`.' }) }),
  security: [],
}

/** Serves receipts to anyone who has the address, because merchants receive it in callbacks. */
export const receiptFiles: FastifyPluginAsyncTypebox = async (app) => {
  const { readModels, secretBox, logger } = app.services
  app.get('/receipts/:name', { schema }, async (request, reply) => {
    app.gate.chargeAddress(request)
    const sha256 = digestOfReceipt(secretBox, request.params.name)
    const receipt = sha256 === undefined ? undefined : await findReceipt(readModels, sha256)
    if (!receipt) throw new RequestError('unknown-route')
    if (receipt === 'damaged') {
      logger.error({ receipt: sha256 }, 'a receipt is damaged and was not sent')
      throw new RequestError('receipt-damaged')
    }
    reply.headers({
      'content-type': receipt.type,
      'content-disposition': `inline; filename="${fileNames[receipt.type]}"`,
      // The file must neither run scripts nor load anything.
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // An erasure deletes the file, and no cache may keep it.
      'cache-control': 'private, no-store',
    })
    return reply.send(receipt.bytes)
  })
}
