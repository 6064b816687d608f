/** `claimedMerchantId` is whom a key claims to be of, right or wrong: nothing else of a key may be told. */
const request = [
  'requestId',
  'address',
  'method',
  'route',
  'code',
  'merchantId',
  'claimedMerchantId',
  'trackingId',
  'userId',
] as const

/** What requests do. */
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

/**
 * Every event of the security log with the fields of its line: names that alarms are built on, so they only grow.
 * docs/reference/security-log.md explains each; a test compares the two.
 */
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

export type SecurityFields<Event extends SecurityEvent> = {
  readonly [field in (typeof securityEvents)[Event][number]]: string | number | null
}

/** Where what concerns security is told. No field ever holds a secret: a key is named by the merchant it claims to be of. */
export interface SecurityLog {
  note<Event extends SecurityEvent>(event: Event, fields: SecurityFields<Event>): void
}
