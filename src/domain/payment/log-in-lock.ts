import { accept, type Decider } from '../decision.js'
import type { EventsOf } from '../event.js'
import { dayMs, hourMs } from '../time.js'

/** Of the stream `walletlogins-<keyed digest of the e-mail>`: wrong passwords for one wallet account, and where it is known. */
interface Common {
  readonly merchantId: string
  readonly trackingId: string
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

interface Failures {
  readonly device: string | null
  readonly count: number
  /** Of the latest one, ISO 8601. */
  readonly at: string
}

export interface LogIns {
  /** The one known longest first. */
  readonly knownDevices: readonly string[]
  /** One entry for each device, the one that failed longest ago first. */
  readonly failures: readonly Failures[]
}

export type LogInCommand =
  | (Common & { readonly type: 'FailLogIn'; readonly device: string | null })
  | (Common & { readonly type: 'KnowDevice'; readonly device: string })

/** Of each account; beyond it the one known longest is a stranger again. */
export const maxKnownDevices = 100
/** Wrong passwords without a wait. */
export const freeFailures = 2
/** After the next one; it doubles with each that follows. */
const firstPauseMs = 12_000
const longestPauseMs = hourMs
const forgottenAfterMs = dayMs

export const logInDecider: Decider<LogIns, LogInCommand, LogInEvent> = {
  initialState: { knownDevices: [], failures: [] },
  decide(command, state) {
    if (command.type === 'KnowDevice') {
      const { type: _, ...data } = command
      const hasFailed = state.failures.some(({ device }) => device === data.device)
      if (state.knownDevices.includes(data.device) && !hasFailed) return accept()
      return accept({ type: 'WalletLogInDeviceKnown', data })
    }
    const { type: _, ...data } = command
    const atMs = Date.parse(data.at)
    // Two guesses at once, of two nodes: the lock that one of them led to is not made longer by the other.
    if (logInLockedUntilMs(state, data.device, atMs) !== undefined) return accept()
    return accept({ type: 'WalletLogInFailed', data: { ...data, failure: countAt(state, data.device, atMs) + 1 } })
  },
  evolve(state, { type, data }) {
    const others = state.failures.filter(({ device }) => device !== data.device)
    if (type === 'WalletLogInDeviceKnown') {
      const before = state.knownDevices.filter((device) => device !== data.device)
      return { knownDevices: [...before, data.device].slice(-maxKnownDevices), failures: others }
    }
    const strangers = others.filter(({ device }) => device === null)
    const devices = others.filter(({ device }) => device !== null).slice(1 - maxKnownDevices)
    const failures = [...strangers, ...devices, { device: data.device, count: data.failure, at: data.at }]
    return { ...state, failures }
  },
}

/** Until when (milliseconds since the epoch) no password from there is compared; undefined while passwords are. */
export function logInLockedUntilMs(state: LogIns, device: string | null, nowMs: number): number | undefined {
  const failures = state.failures.find((each) => each.device === device)
  if (!failures || failures.count <= freeFailures) return undefined
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (failures.count - freeFailures - 1))
  const untilMs = Date.parse(failures.at) + pauseMs
  return untilMs > nowMs ? untilMs : undefined
}

function countAt(state: LogIns, device: string | null, nowMs: number): number {
  const failures = state.failures.find((each) => each.device === device)
  return failures && nowMs - Date.parse(failures.at) < forgottenAfterMs ? failures.count : 0
}
