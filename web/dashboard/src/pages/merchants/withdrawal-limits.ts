import type { Settings } from './setting-groups'

export type Limit = Settings['withdrawalLimits'][number]

/** The limits that a merchant can have, each a number and an amount. */
export const limitScopes = ['merchant', 'account', 'customer'] as const
export const limitHours = [24, 720] as const
export const limitField = (per: Limit['per'], hours: Limit['hours'], kind: 'count' | 'amount') =>
  `withdrawalLimits.${per}.${hours}.${kind}`
