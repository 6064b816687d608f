/** Who may do what on the dashboard. The server asks here for every route; the pages only for what they show. */

export const roles = ['viewer', 'operator', 'approver', 'auditor', 'operations', 'administrator'] as const
export type Role = (typeof roles)[number]

/** Bound to one or more merchants; the others belong to the house and see every merchant. */
export const merchantRoles = ['viewer', 'operator', 'approver'] as const satisfies readonly Role[]

export function isMerchantRole(role: Role): boolean {
  return (merchantRoles as readonly Role[]).includes(role)
}

const everybody = roles

/** Each permission with the roles that have it. */
export const permissions = {
  /** Transfers, their story and callbacks, overview, statement, exports. */
  'transfers:read': everybody,
  /** Claim, pay, complete, cancel, return, send to manual control. */
  'transfers:settle': ['operator', 'approver'],
  /** Approve a payout, reopen, resolve attention. */
  'transfers:approve': ['approver'],
  'callbacks:resend': ['operator', 'approver', 'operations'],
  /** Enable an endpoint again, send it a test event. */
  'endpoints:manage': ['operator', 'approver', 'operations', 'administrator'],
  /** Settings and keys (never their secrets) of the merchants that one may see. */
  'merchants:read': everybody,
  'merchants:manage': ['administrator'],
  'users:read': ['auditor', 'administrator'],
  'users:manage': ['administrator'],
  /** Lag of projections, events that cannot be read. */
  'operations:read': ['auditor', 'operations', 'administrator'],
  /** Rebuild, pause and switch projections, skip unreadable events. */
  'operations:manage': ['operations', 'administrator'],
  /** The history of everything: replay, who did what, exports, proofs. */
  'audit:read': ['auditor', 'administrator'],
  'audit:verify': ['auditor', 'administrator'],
  /** Let payouts go on after the log did not verify. */
  'integrity:resume': ['administrator'],
  'privacy:read': ['auditor', 'administrator'],
  'privacy:manage': ['administrator'],
  /** One's own password, sessions and second factor. */
  'account:own': everybody,
} as const satisfies { readonly [permission: string]: readonly Role[] }

export type Permission = keyof typeof permissions

export function isAllowed(role: Role, permission: Permission): boolean {
  return (permissions[permission] as readonly Role[]).includes(role)
}

export function permissionsOf(role: Role): readonly Permission[] {
  return (Object.keys(permissions) as Permission[]).filter((permission) => isAllowed(role, permission))
}
