import { accept, type Decider } from '../../kernel/decision.js'
import type { EventsOf } from '../event.js'
import {
  isNews,
  type LoginCommand,
  type LoginState,
  nextFailure,
  noLogins,
  withDevice,
  withFailure,
} from '../login-lock.js'

import type { walletLoginEvents } from './payment-events.js'

/** The fields that are recorded in addition to the device and the time. */
export interface WalletLoginSubject {
  readonly merchantId: string
  readonly trackingId: string
}

export type LoginEvent = EventsOf<typeof walletLoginEvents>

export const loginDecider: Decider<LoginState, LoginCommand<WalletLoginSubject>, LoginEvent> = {
  initialState: noLogins,
  decide(command, state) {
    if (command.type === 'KnowDevice') {
      const { type: _, ...data } = command
      return isNews(state, data.device) ? accept({ type: 'WalletLogInDeviceKnown', data }) : accept()
    }
    const { type: _, ...data } = command
    const failure = nextFailure(state, data.device, data.at)
    return failure === undefined ? accept() : accept({ type: 'WalletLogInFailed', data: { ...data, failure } })
  },
  evolve(state, { type, data }) {
    if (type === 'WalletLogInDeviceKnown') return withDevice(state, data.device)
    return withFailure(state, data.device, data.failure, data.at)
  },
}
