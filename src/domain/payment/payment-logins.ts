import { accept, type Decider } from '../../kernel/decision.js'
import type { EventsOf } from '../event.js'
import {
  isNews,
  type LogInCommand,
  type LogIns,
  nextFailure,
  noLogIns,
  withDevice,
  withFailure,
} from '../login-lock.js'

import type { walletLogInEvents } from './payment-events.js'

/** What is recorded of a login besides the device and the time. */
export interface WalletLogInSubject {
  readonly merchantId: string
  readonly trackingId: string
}

export type LogInEvent = EventsOf<typeof walletLogInEvents>

export const logInDecider: Decider<LogIns, LogInCommand<WalletLogInSubject>, LogInEvent> = {
  initialState: noLogIns,
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
