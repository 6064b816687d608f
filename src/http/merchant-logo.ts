import type { FastifyReply } from 'fastify'
import { findReceipt } from '../read-models/receipts.js'
import { RequestError } from './refusals.js'

/** Sends a merchant's logo. Its address contains the digest, so that browsers can keep it. @throws RequestError, ReadModelsUnavailableError */
export async function sendLogo(reply: FastifyReply, sha256: string | null | undefined) {
  const { readModels, logger } = reply.server.services
  const logo = typeof sha256 === 'string' ? await findReceipt(readModels, sha256) : undefined
  if (logo === 'damaged') logger.error({ receipt: sha256 }, 'a logo is damaged and was not sent')
  if (!logo || logo === 'damaged') throw new RequestError('unknown-route')
  reply.headers({
    'content-type': logo.type,
    // The file must neither run scripts nor load anything.
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, max-age=3600',
  })
  return reply.send(logo.bytes)
}

/** The part of a logo's address that differs for each logo. */
export const logoVersion = (sha256: string): string => sha256.slice(0, 8)
