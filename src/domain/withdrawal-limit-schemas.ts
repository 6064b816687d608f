import { Type } from '../kernel/typebox.js'
import { Data, Nullable, OneOf } from './event.js'
import { Count, PositiveMinor } from './fields.js'
import { limitScopes } from './withdrawal-limits.js'

// Separate from withdrawal-limits.ts, which the pages and every start of the command line load.

const limit = {
  per: OneOf(...limitScopes),
  hours: Type.Union([Type.Literal(24), Type.Literal(720)]),
  count: Nullable(Count),
  amountMinor: Nullable(PositiveMinor),
}
export const WithdrawalLimitData = Data(limit)
export const ExceededLimitData = Data({ ...limit, actualCount: Count, actualMinor: PositiveMinor })
