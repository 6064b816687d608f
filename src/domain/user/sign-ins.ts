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

import type { signInEvents } from './user-events.js'

export type SignInEvent = EventsOf<typeof signInEvents>

export const signInDecider: Decider<LoginState, LoginCommand<object>, SignInEvent> = {
  initialState: noLogins,
  decide(command, state) {
    const { device, at } = command
    if (command.type === 'KnowDevice') {
      const data = { device: command.device, at }
      return isNews(state, command.device) ? accept({ type: 'UserSignInDeviceKnown', data }) : accept()
    }
    const failure = nextFailure(state, device, at)
    return failure === undefined ? accept() : accept({ type: 'UserSignInFailed', data: { device, failure, at } })
  },
  evolve(state, { type, data }) {
    if (type === 'UserSignInDeviceKnown') return withDevice(state, data.device)
    return withFailure(state, data.device, data.failure, data.at)
  },
}
