import type { FastifyRequest } from 'fastify'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { RequestError } from '../refusals.js'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Finds a transfer in the log, so it is never behind. @throws RequestError if it is missing or another merchant's, without a difference */
export async function ownTransfer(transfers: TransferCommands, request: FastifyRequest, trackingId: string) {
  const found = await transfers.find(streamId(trackingId))
  if (found?.transfer.merchantId !== request.merchant!.merchantId) throw new RequestError('unknown-transfer')
  return found
}

/** @throws RequestError if it is not a trackingId */
export function streamId(trackingId: string): string {
  const lowerCase = trackingId.toLowerCase()
  if (!uuid.test(lowerCase)) throw new RequestError('unknown-transfer')
  return lowerCase
}
