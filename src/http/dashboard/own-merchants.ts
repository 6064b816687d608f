import type { FastifyRequest } from 'fastify'
import { Type } from '../../kernel/typebox.js'
import type { SecurityLog } from '../../security/security-log.js'
import { type RefusalName, RequestError } from '../refusals.js'

export interface OwnMerchantOptions {
  readonly securityLog: SecurityLog
}

export const merchantParams = Type.Object({ merchantId: Type.String() })

/**
 * Returns the merchant's id if the user has access to it. @throws RequestError otherwise, as for an unknown merchant
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

/** Logs changes to merchants in the security log. */
export function noteMerchantChange(
  { securityLog }: OwnMerchantOptions,
  { id: requestId, ip: address, viewer: { userId } }: FastifyRequest,
  change: MerchantChange,
  merchantId: string,
): void {
  securityLog.note('security.merchant_changed', { requestId, address, userId, merchantId, change })
}
