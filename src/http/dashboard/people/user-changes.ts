import type { FastifyRequest } from 'fastify'
import type { SecurityLog } from '../../../security/security-log.js'

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

/** Logs changes to users in the security log. */
export function noteChange(
  { securityLog }: UserChangeOptions,
  { id: requestId, ip: address, viewer: { userId } }: FastifyRequest,
  change: UserChange,
  subject = userId,
): void {
  securityLog.note('security.user_changed', { requestId, address, userId, subject, change })
}
