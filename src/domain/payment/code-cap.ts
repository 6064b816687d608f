import { accept, type Decider } from '../../kernel/decision.js'
import { dayMs } from '../../kernel/time.js'
import type { EventsOf } from '../event.js'

interface WrongCode {
  readonly accountNumber: number
  readonly trackingId: string
  readonly merchantId: string
  readonly challengeId: string
  readonly attempt: number
  readonly at: string
}

/** A wrong code for a wallet account, whichever merchant's deposit it was for (`walletcodes-<keyed digest>`). */
export type WalletCodeRefused = EventsOf<{ WalletCodeRefused: WrongCode }>

/** Wrong codes for one account in {@link codeCapWindowMs}: a guesser who has the password hits one in 50,000 days. */
export const maxWrongCodes = 20
export const codeCapWindowMs = dayMs

interface WrongCodes {
  /** Of the latest {@link maxWrongCodes}, oldest first (ISO 8601). */
  readonly latest: readonly string[]
}

export const codeCapDecider: Decider<WrongCodes, WrongCode, WalletCodeRefused> = {
  initialState: { latest: [] },
  decide: (data) => accept({ type: 'WalletCodeRefused', data }),
  evolve: ({ latest }, { data }) => ({ latest: [...latest, data.at].slice(-maxWrongCodes) }),
}

/** Until when (milliseconds since the epoch) no code of the account is compared; undefined while codes are. */
export function codesLockedUntilMs({ latest }: WrongCodes, nowMs: number): number | undefined {
  if (latest.length < maxWrongCodes) return undefined
  const untilMs = Date.parse(latest[0]!) + codeCapWindowMs
  return untilMs > nowMs ? untilMs : undefined
}
