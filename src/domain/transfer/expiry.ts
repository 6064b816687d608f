import type { Deposit } from './transfer.js'

/** The message of a deposit that was cancelled because its time was over. */
export const expiredMessage = 'expired'

/** Whether the time of a deposit ran out before it was paid, also while the sweep that cancels it has not come by. `now`: ISO 8601. */
export function hasExpired({ status, message, expiresAt }: Deposit, now: string): boolean {
  if (now < expiresAt) return false
  return status === 'Pending' || (status === 'Cancelled' && message === expiredMessage)
}
