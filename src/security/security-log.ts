/** `claimedMerchantId` is the merchant that an API key names, valid or not. No other part of a key may be logged. */
const request = [
  ...(['requestId', 'address', 'method', 'route', 'code'] as const),
  ...(['merchantId', 'claimedMerchantId', 'trackingId', 'userId'] as const),
] as const

const requestEvents = {
  'security.key_unknown': request,
  'security.address_refused': request,
  'security.merchant_suspended': request,
  'security.scope_missing': request,
  'security.cross_site': request,
  'security.hash_wrong': request,
  'security.hash_reused': request,
  'security.signature_wrong': request,
  'security.login_failed': request,
  'security.code_wrong': request,
  'security.token_refused': request,
  'security.throttled': request,
  'security.sign_in_failed': request,
  'security.csrf': request,
  'security.permission_missing': request,
} as const

/** Every event of the security log with its fields (docs/reference/security-log.md). Alarms depend on the names, so none ever changes. */
export const securityEvents = {
  ...requestEvents,
  'security.events_login_failed': ['address', 'login'],
  'security.events_throttled': ['address', 'login'],
  'security.merchant_changed': ['requestId', 'address', 'userId', 'merchantId', 'change'],
  'security.user_changed': ['requestId', 'address', 'userId', 'subject', 'change'],
  'security.operations_changed': ['requestId', 'address', 'userId', 'subject', 'change'],
  'security.operator_command': ['actor', 'command', 'subject', 'outcome', 'correlationId'],
  'security.more': ['of', 'count'],
} as const

export type RequestSecurityEvent = keyof typeof requestEvents
export type SecurityEvent = keyof typeof securityEvents

type SecurityFields<Event extends SecurityEvent> = {
  readonly [field in (typeof securityEvents)[Event][number]]: string | number | null
}

export interface SecurityLog {
  note<Event extends SecurityEvent>(event: Event, fields: SecurityFields<Event>): void
}
