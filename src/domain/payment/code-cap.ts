import { accept, type Decider } from '../../kernel/decision.js'
import { dayMs } from '../../kernel/time.js'
import type { DataOf, EventsOf } from '../event.js'
import type { codeCapEvents } from './payment-events.js'

type WalletCodeRefused = EventsOf<typeof codeCapEvents>
type WrongCode = DataOf<WalletCodeRefused, 'WalletCodeRefused'>

/** The wrong codes allowed for one account in {@link codeCapWindowMs}. A guesser who has the password needs 50,000 days on average. */
export const maxWrongCodes = 20
export const codeCapWindowMs = dayMs

interface WrongCodes {
  /** The times of the latest {@link maxWrongCodes}, oldest first. */
  readonly latest: readonly string[]
}

export const codeCapDecider: Decider<WrongCodes, WrongCode, WalletCodeRefused> = {
  initialState: { latest: [] },
  decide: (data) => accept({ type: 'WalletCodeRefused', data }),
  evolve: ({ latest }, { data }) => ({ latest: [...latest, data.at].slice(-maxWrongCodes) }),
}

/** Returns when (in milliseconds since the epoch) codes of the account are compared again, or `undefined` if they are compared now. */
export function codesLockedUntilMs({ latest }: WrongCodes, nowMs: number): number | undefined {
  if (latest.length < maxWrongCodes) return undefined
  const untilMs = Date.parse(latest[0]!) + codeCapWindowMs
  return untilMs > nowMs ? untilMs : undefined
}
