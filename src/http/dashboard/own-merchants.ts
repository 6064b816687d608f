import type { FastifyRequest } from 'fastify'
import { Type } from '../../kernel/typebox.js'
import type { SecurityLog } from '../../security/security-log.js'
import { type RefusalName, RequestError } from '../refusals.js'

export interface OwnMerchantOptions {
  readonly securityLog: SecurityLog
}

export const merchantParams = Type.Object({ merchantId: Type.String() })

/**
 * The merchant's id, if the user may know of it. @throws RequestError when it is another's, which looks as if there were none
 */
export function requireOwn(
  { viewer: { merchantIds } }: FastifyRequest,
  merchantId: string | undefined,
  refusal: RefusalName = 'unknown-merchant',
): string {
  const isOwn = merchantId !== undefined && (merchantIds === null || merchantIds.includes(merchantId))
  if (!isOwn) throw new RequestError(refusal)
  return merchantId
}

type MerchantChange =
  | 'created'
  | 'settings'
  | 'suspended'
  | 'resumed'
  | 'key-created'
  | 'key-revoked'
  | 'webApiKey-rotated'
  | 'secretKey-rotated'
  | 'webhookSecret-rotated'
  | 'endpoint-enabled'

/** Who did what to which merchant, for those who watch. */
export function noteMerchantChange(
  { securityLog }: OwnMerchantOptions,
  { id: requestId, ip: address, viewer: { userId } }: FastifyRequest,
  change: MerchantChange,
  merchantId: string,
): void {
  securityLog.note('security.merchant_changed', { requestId, address, userId, merchantId, change })
}
