import type { FastifyRequest } from 'fastify'
import type { Merchant } from '../../domain/merchant/merchant.js'
import type { HttpDependencies } from '../dependencies.js'
import { contextOf } from '../request-context.js'
import type { CheckedAmount } from './create-request.js'
import { hashedAmountText } from './hash-check.js'
import { isSignatureValid } from './signature-check.js'

/**
 * While a SecretKey is being rotated: which of them made the hashCode or the X-Signature of a create, both being checked already. A newer
 * one than before is recorded, as callbacks change with the merchant. Once for each rotation; otherwise it costs nothing.
 */
export async function noteSecretKey(
  { directory, secretKeyUse, clock }: HttpDependencies,
  request: FastifyRequest,
  merchant: Merchant,
  amount: CheckedAmount,
): Promise<void> {
  if (!secretKeyUse.matters(merchant)) return
  const now = clock()
  const used = directory.secretKeys(merchant, now).find(({ value }) => isMadeWith(value, request, amount, now))
  if (used) await secretKeyUse.seen(merchant, used.number, contextOf(request))
}

function isMadeWith(secretKey: string, request: FastifyRequest, amount: CheckedAmount, now: string): boolean {
  const { hashCode, referenceId } = request.body as { readonly hashCode?: string; readonly referenceId: string }
  const hashed = hashCode !== undefined && hashedAmountText({ hashCode, referenceId, ...amount }, [secretKey])
  if (typeof hashed === 'string') return true
  const signature = request.headers['x-signature']
  return typeof signature === 'string' && isSignatureValid(signature, request.rawBody!, [secretKey], Date.parse(now))
}
