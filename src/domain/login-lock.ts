import { dayMs, hourMs, leftOfWaitMs } from '../kernel/time.js'
import { accept, type Decider } from './decider.js'
import type { EventsOf } from './event.js'
import type { walletLoginEvents } from './payment.js'
import type { signInEvents } from './user/user.js'

/** Limits wrong passwords per known device, and those of all others jointly, so that no stranger locks out the owner (docs/decisions/0020). */

interface Failures {
  /** Null for all unknown devices jointly. */
  readonly device: string | null
  readonly count: number
  readonly at: string
}

export interface LoginState {
  /** The known devices, the longest known first. */
  readonly knownDevices: readonly string[]
  /** One entry per device, the one with the oldest failure first. */
  readonly failures: readonly Failures[]
}

/** `Subject`: the fields that are recorded in addition to the device and the time. */
export type LoginCommand<Subject> = Subject &
  (
    | { readonly type: 'FailLogIn'; readonly device: string | null; readonly at: string }
    | { readonly type: 'KnowDevice'; readonly device: string; readonly at: string }
  )

const noLogins: LoginState = { knownDevices: [], failures: [] }

/** The largest number of known devices per account. Beyond it, the longest known device becomes unknown. */
export const maxKnownDevices = 100
/** The number of wrong passwords without a wait. */
export const freeFailures = 2
/** The wait after the next wrong password, which doubles with each further one. */
const firstPauseMs = 12_000
const longestPauseMs = hourMs
const forgottenAfterMs = dayMs

function isNews({ knownDevices, failures }: LoginState, device: string): boolean {
  return !knownDevices.includes(device) || failures.some((each) => each.device === device)
}

/** Returns the number of the next failure, or `undefined` while the device is locked: a simultaneous guess does not extend the lock. */
function nextFailure(state: LoginState, device: string | null, at: string): number | undefined {
  const nowMs = Date.parse(at)
  if (loginLockedUntilMs(state, device, nowMs) !== undefined) return undefined
  const failures = state.failures.find((each) => each.device === device)
  return failures && nowMs - Date.parse(failures.at) < forgottenAfterMs ? failures.count + 1 : 1
}

/** Adds a device on which the password was correct. Its failures are counted separately from now on, and start at 0. */
function withDevice(state: LoginState, device: string): LoginState {
  const others = state.knownDevices.filter((each) => each !== device)
  return { knownDevices: [...others, device].slice(-maxKnownDevices), failures: withoutFailuresOf(state, device) }
}

export function withFailure(state: LoginState, device: string | null, count: number, at: string): LoginState {
  const others = withoutFailuresOf(state, device)
  const unknown = others.filter((each) => each.device === null)
  const known = others.filter((each) => each.device !== null).slice(1 - maxKnownDevices)
  return { ...state, failures: [...unknown, ...known, { device, count, at }] }
}

/** Returns when (in milliseconds since the epoch) passwords from the device are compared again, or `undefined` if they are compared now. */
export function loginLockedUntilMs(state: LoginState, device: string | null, nowMs: number): number | undefined {
  const failures = state.failures.find((each) => each.device === device)
  if (!failures || failures.count <= freeFailures) return undefined
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (failures.count - freeFailures - 1))
  const sinceMs = Date.parse(failures.at)
  return leftOfWaitMs(sinceMs, sinceMs + pauseMs, nowMs) > 0 ? sinceMs + pauseMs : undefined
}

function withoutFailuresOf({ failures }: LoginState, device: string | null): readonly Failures[] {
  return failures.filter((each) => each.device !== device)
}

type SignInEvent = EventsOf<typeof signInEvents>

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

export type WalletLoginSubject = { readonly merchantId: string; readonly trackingId: string }
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
