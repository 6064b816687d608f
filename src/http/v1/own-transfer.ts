import type { FastifyRequest } from 'fastify'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { RequestError } from '../refusals.js'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** From the log, so never behind. @throws RequestError also when it is another merchant's: the two look alike */
export async function ownTransfer(transfers: TransferCommands, request: FastifyRequest, trackingId: string) {
  const found = await transfers.find(streamId(trackingId))
  if (found?.transfer.merchantId !== request.merchant!.merchantId) throw new RequestError('unknown-transfer')
  return found
}

/** @throws RequestError when it is no trackingId */
export function streamId(trackingId: string): string {
  const lowerCase = trackingId.toLowerCase()
  if (!uuid.test(lowerCase)) throw new RequestError('unknown-transfer')
  return lowerCase
}
