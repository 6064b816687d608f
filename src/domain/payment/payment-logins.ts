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

/** Of the stream `walletlogins-<keyed digest of the e-mail>`: wrong passwords for one wallet account, and where it is known. */
export interface WalletLogInSubject {
  readonly merchantId: string
  readonly trackingId: string
}

interface Common extends WalletLogInSubject {
  readonly at: string
}

export type LogInEvent = EventsOf<{
  WalletLogInFailed: Common & {
    /** A device that is known to the account; null for all others together, who are strangers to it. */
    device: string | null
    /** From 1: how many there were from there, since the last right password of a known device or a day without any. */
    failure: number
  }
  /** The password was right there: its failures count by themselves from now on, and those until now no more. */
  WalletLogInDeviceKnown: Common & { device: string }
}>

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
