import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../../kernel/decision.js'
import type { SecurityLog } from '../../../security/security-log.js'
import { RequestError } from '../../refusals.js'

export interface UserChangeOptions {
  readonly securityLog: SecurityLog
}

type UserChange =
  | 'created'
  | 'role'
  | 'disabled'
  | 'enabled'
  | 'reset'
  | 'sessions-ended'
  | 'password'
  | 'second-factor-set'
  | 'second-factor-removed'

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** What was decided, or why not as an error. @throws RequestError */
export function accepted<Result extends Decided>(result: Result): Extract<Result, { readonly accepted: true }> {
  if (result.accepted) return result as Extract<Result, { readonly accepted: true }>
  const { reason, message, rule: field } = result.refusal
  if (reason === 'not-found') throw new RequestError('unknown-user')
  if (field === undefined) throw new RequestError('user-conflict', { details: message })
  throw new RequestError('invalid-request', { validationErrors: [{ message, members: [field] }] })
}

/** Who did what to whom, for those who watch. */
export function noteChange(
  { securityLog }: UserChangeOptions,
  { id: requestId, ip: address, viewer: { userId } }: FastifyRequest,
  change: UserChange,
  subject = userId,
): void {
  securityLog.note('security.user_changed', { requestId, address, userId, subject, change })
}
