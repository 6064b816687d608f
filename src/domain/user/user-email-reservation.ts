import { accept, type Decider } from '../../kernel/decision.js'
import type { EventsOf } from '../event.js'

interface Reservation {
  readonly userId: string
  readonly at: string
}

/** The user that an e-mail belongs to. */
export type UserEmailReserved = EventsOf<{ UserEmailReserved: Reservation }>

/** Users are one stream each, so that no two of them have the same e-mail is decided by the e-mail's own. */
export const userEmailDecider: Decider<{ userId: string | null }, Reservation, UserEmailReserved> = {
  /** Null while it is free. */
  initialState: { userId: null },
  decide: (data) => accept({ type: 'UserEmailReserved', data }),
  evolve: (_state, { data }) => ({ userId: data.userId }),
}
