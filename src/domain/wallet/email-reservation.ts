import { accept, type Decider } from '../decision.js'
import type { WalletEmailReserved } from './events.js'

/** The account an e-mail belongs to; null while it is free. */
export interface EmailReservation {
  readonly accountNumber: number | null
}

export interface ReserveEmail {
  readonly accountNumber: number
  readonly at: string
}

/** Accounts are one stream each, so that no two of them have the same e-mail is decided by the e-mail's own. */
export const emailReservationDecider: Decider<EmailReservation, ReserveEmail, WalletEmailReserved> = {
  initialState: { accountNumber: null },
  decide: (data) => accept({ type: 'WalletEmailReserved', data }),
  evolve: (_state, { data }) => ({ accountNumber: data.accountNumber }),
}
