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

/** Of the stream `usersignins-<keyed digest of the e-mail>`: wrong passwords and codes for one user, and the browsers that are known. */
export type SignInEvent = EventsOf<{
  UserSignInFailed: {
    /** A browser in which the user signed in before; null for all others together. */
    readonly device: string | null
    /** From 1: how many there were from there, since the last right password of a known browser or a day without any. */
    readonly failure: number
    readonly at: string
  }
  /** The user signed in there: its failures count by themselves from now on, and those until now no more. */
  UserSignInDeviceKnown: { readonly device: string; readonly at: string }
}>

export const signInDecider: Decider<LogIns, LogInCommand<object>, SignInEvent> = {
  initialState: noLogIns,
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
