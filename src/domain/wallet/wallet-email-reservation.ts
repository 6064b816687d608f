import { accept, type Decider } from '../../kernel/decision.js'
import type { EventsOf } from '../event.js'

interface Reservation {
  readonly accountNumber: number
  readonly at: string
}

/** The account that an e-mail belongs to. Another one follows only where the first could not be opened under its number. */
export type WalletEmailReserved = EventsOf<{ WalletEmailReserved: Reservation }>

/** Accounts are one stream each, so that no two of them have the same e-mail is decided by the e-mail's own. */
export const emailReservationDecider: Decider<{ accountNumber: number | null }, Reservation, WalletEmailReserved> = {
  /** Null while it is free. */
  initialState: { accountNumber: null },
  decide: (data) => accept({ type: 'WalletEmailReserved', data }),
  evolve: (_state, { data }) => ({ accountNumber: data.accountNumber }),
}
