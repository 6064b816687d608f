// The permissions of the dashboard. The server checks them for every route; the pages use them only to hide elements.

export const roles = ['viewer', 'operator', 'approver', 'auditor', 'operations', 'administrator'] as const
export type Role = (typeof roles)[number]

/** The roles that are bound to one or more merchants. Users with other roles see every merchant. */
const merchantRoles = ['viewer', 'operator', 'approver'] as const satisfies readonly Role[]
export const isMerchantRole = (role: Role): boolean => (merchantRoles as readonly Role[]).includes(role)

/** Each permission with the roles that have it. */
export const permissions = {
  /** Transfers, their story and callbacks, overview, statement, exports. */
  'transfers:read': roles,
  /** Claim, pay, complete, cancel, return, send to manual control. */
  'transfers:settle': ['operator', 'approver'],
  /** Approve a payout, reopen, resolve attention. */
  'transfers:approve': ['approver'],
  'callbacks:resend': ['operator', 'approver', 'operations'],
  /** Enable an endpoint again, send it a test event. */
  'endpoints:manage': ['operator', 'approver', 'operations', 'administrator'],
  /** Settings and keys (never their secrets) of the user's merchants. */
  'merchants:read': roles,
  'merchants:manage': ['administrator'],
  'users:read': ['auditor', 'administrator'],
  'users:manage': ['administrator'],
  /** Lag of projections, unreadable events. */
  'operations:read': ['auditor', 'operations', 'administrator'],
  /** Rebuild, pause and switch projections, skip unreadable events. */
  'operations:manage': ['operations', 'administrator'],
  /** The complete history: replay, actions by user, exports, proofs. */
  'audit:read': ['auditor', 'administrator'],
  'audit:verify': ['auditor', 'administrator'],
  /** Create evidence packages, and request that they disclose personal data. Someone with `privacy:manage` approves that. */
  'audit:evidence': ['auditor', 'administrator'],
  /** Resume payouts after the log did not verify. */
  'integrity:resume': ['administrator'],
  'privacy:read': ['auditor', 'administrator'],
  'privacy:manage': ['administrator'],
  /** The user's own password, sessions and second factor. */
  'account:own': roles,
} as const satisfies { readonly [permission: string]: readonly Role[] }

export type Permission = keyof typeof permissions

/** The permissions to move money, or to change who can: every change under them needs a recent sign-in. */
const sensitive: readonly Permission[] = [
  ...(['transfers:approve', 'merchants:manage', 'users:manage', 'integrity:resume', 'privacy:manage'] as const),
]

export const needsRecentSignIn = (permission: Permission): boolean => sensitive.includes(permission)

export function isAllowed(role: Role, permission: Permission): boolean {
  return (permissions[permission] as readonly Role[]).includes(role)
}

export function permissionsOf(role: Role): readonly Permission[] {
  return (Object.keys(permissions) as Permission[]).filter((permission) => isAllowed(role, permission))
}
