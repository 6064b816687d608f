import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../kernel/decision.js'
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

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** What was decided about a merchant, or why not as an error. @throws RequestError */
export function accepted<Result extends Decided>(result: Result): Extract<Result, { readonly accepted: true }> {
  if (result.accepted) return result as Extract<Result, { readonly accepted: true }>
  const { reason, message } = result.refusal
  if (reason === 'not-found') throw new RequestError('unknown-merchant', { details: message })
  throw new RequestError('merchant-conflict', { details: message })
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
