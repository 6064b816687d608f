import { dayMs, hourMs } from '../kernel/time.js'

/**
 * How often a password may be guessed, without letting strangers lock out whose it is: wrong ones from a device that is known to the account
 * count for that device, all others together (docs/decisions/0020). Wallet accounts and the dashboard's users have it alike.
 */

interface Failures {
  /** Null for all devices together that are not known to the account. */
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

/** `Subject`: what is recorded of the attempt beside device and time. */
export type LogInCommand<Subject> = Subject &
  (
    | { readonly type: 'FailLogIn'; readonly device: string | null; readonly at: string }
    | { readonly type: 'KnowDevice'; readonly device: string; readonly at: string }
  )

export const noLogIns: LogIns = { knownDevices: [], failures: [] }

/** Of each account; beyond it the one known longest is a stranger again. */
export const maxKnownDevices = 100
/** Wrong passwords without a wait. */
export const freeFailures = 2
/** After the next one; it doubles with each that follows. */
const firstPauseMs = 12_000
const longestPauseMs = hourMs
const forgottenAfterMs = dayMs

/** Whether it is news that the password was right there. */
export function isNews({ knownDevices, failures }: LogIns, device: string): boolean {
  return !knownDevices.includes(device) || failures.some((each) => each.device === device)
}

/**
 * The number of one more failure, from 1; undefined while the device is locked: of two guesses at once, of two nodes, the lock that one of
 * them led to is not made longer by the other.
 */
export function nextFailure(state: LogIns, device: string | null, at: string): number | undefined {
  const nowMs = Date.parse(at)
  if (logInLockedUntilMs(state, device, nowMs) !== undefined) return undefined
  const failures = state.failures.find((each) => each.device === device)
  return failures && nowMs - Date.parse(failures.at) < forgottenAfterMs ? failures.count + 1 : 1
}

/** The password was right there: its failures count by themselves from now on, and those until now no more. */
export function withDevice(state: LogIns, device: string): LogIns {
  const before = state.knownDevices.filter((each) => each !== device)
  return { knownDevices: [...before, device].slice(-maxKnownDevices), failures: withoutFailuresOf(state, device) }
}

export function withFailure(state: LogIns, device: string | null, count: number, at: string): LogIns {
  const others = withoutFailuresOf(state, device)
  const strangers = others.filter((each) => each.device === null)
  const devices = others.filter((each) => each.device !== null).slice(1 - maxKnownDevices)
  return { ...state, failures: [...strangers, ...devices, { device, count, at }] }
}

/** Until when (milliseconds since the epoch) no password from there is compared; undefined while passwords are. */
export function logInLockedUntilMs(state: LogIns, device: string | null, nowMs: number): number | undefined {
  const failures = state.failures.find((each) => each.device === device)
  if (!failures || failures.count <= freeFailures) return undefined
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (failures.count - freeFailures - 1))
  const untilMs = Date.parse(failures.at) + pauseMs
  return untilMs > nowMs ? untilMs : undefined
}

function withoutFailuresOf({ failures }: LogIns, device: string | null): readonly Failures[] {
  return failures.filter((each) => each.device !== device)
}
