import { accept, type Decider } from './decider.js'
import { Data, type DataOf, type EventsOf, Nullable, OneOf, type ValueOf } from './event.js'
import { Index, Text, Time } from './fields.js'

const finding = {
  /** `log`: an event. `tree`: a file of the tree. `checkpoint`: its signature or size. `file`: the database itself. */
  kind: OneOf('log', 'tree', 'checkpoint', 'file'),
  /** Where it was found, such as `transfer-…@3`, `tile/0/000` or `checkpoint`. */
  place: Text,
  /** The index of the leaf in the tree, from 0; null if the finding concerns no single leaf. */
  leafIndex: Nullable(Index),
  /** A sentence without any of the event's data. */
  problem: Text,
}

const Finding = Data(finding)
export type Finding = ValueOf<typeof Finding>

export const integrityEvents = {
  /** From the first violation, stop or restore on nothing is paid out, until an administrator resumes payouts. */
  IntegrityViolated: Data({ ...finding, treeSize: Index, at: Time }),
  PayoutsStopped: Data({ reason: Text, at: Time }),
  /** A backup replaced the log, so withdrawals that were paid after it are payable again. A field is null if the restore did not record it. */
  LogRestored: Data({
    backupCreatedAt: Nullable(Time),
    restoredAt: Nullable(Time),
    /** The number of events in the backup, and the time of the last one. */
    events: Nullable(Index),
    lastEventAt: Nullable(Time),
    /** The events of a newer checkpoint that the backup does not contain. */
    lostEvents: Nullable(Index),
    at: Time,
  }),
  PayoutsResumed: Data({ reason: Text, at: Time }),
}

export type IntegrityEvent = EventsOf<typeof integrityEvents>

/** The backup and the time of a restore. */
export type Restore = Omit<DataOf<IntegrityEvent, 'LogRestored'>, 'at'>

export type IntegrityCommand =
  | { readonly type: 'Report'; readonly finding: Finding; readonly treeSize: number; readonly at: string }
  | { readonly type: 'Stop'; readonly reason: string; readonly at: string }
  | { readonly type: 'RecordRestore'; readonly restore: Restore; readonly at: string }
  | { readonly type: 'Resume'; readonly reason: string; readonly at: string }

export interface Integrity {
  readonly stoppedSince: string | null
  /** The decision of an operator to stop payouts, if it is in force. */
  readonly stop: { readonly reason: string; readonly at: string } | null
  /** The last restore of the log since payouts were resumed. */
  readonly restored: (Restore & { readonly at: string }) | null
  readonly findings: readonly Finding[]
  /** The findings before the last decision to resume payouts. Found again, they do not stop payouts. */
  readonly decided: ReadonlySet<string>
}

/** The problem of an event that the service did not write in its place. */
export const forgedProblem = 'The event has no valid authentication code.'

/** Returns the place of an event that the finding is about because the service did not write it, or `undefined`. */
export function forgedPlace({ kind, place, problem }: Finding): { stream: string; revision: number } | undefined {
  const [, stream, revision] = (kind === 'log' && problem === forgedProblem && /^(.+)@(\d{1,15})$/.exec(place)) || []
  return stream === undefined ? undefined : { stream, revision: Number(revision) }
}

/** An edited log causes findings in many places. More than this adds no information. */
export const maxFindings = 100

export const integrityDecider: Decider<Integrity, IntegrityCommand, IntegrityEvent> = {
  initialState: { stoppedSince: null, stop: null, restored: null, findings: [], decided: new Set() },
  decide(command, { stoppedSince, stop, findings, decided }) {
    const { at } = command
    if (command.type === 'Stop')
      return stop === null ? accept({ type: 'PayoutsStopped', data: { reason: command.reason, at } }) : accept()
    if (command.type === 'RecordRestore') return accept({ type: 'LogRestored', data: { ...command.restore, at } })
    if (command.type === 'Resume') {
      if (stoppedSince === null) return accept()
      return accept({ type: 'PayoutsResumed', data: { reason: command.reason, at } })
    }
    const { finding, treeSize } = command
    const known = findings.some((each) => keyOf(each) === keyOf(finding)) || decided.has(keyOf(finding))
    if (known || findings.length >= maxFindings) return accept()
    return accept({ type: 'IntegrityViolated', data: { ...finding, treeSize, at } })
  },
  // The event may have stopped payouts.
  evolveUnreadable(state, recordedAtMs) {
    return { ...state, stoppedSince: state.stoppedSince ?? new Date(recordedAtMs).toISOString() }
  },
  evolve(state, { type, data }) {
    if (type === 'PayoutsResumed') {
      const decided = new Set([...state.decided, ...state.findings.map(keyOf)])
      return { stoppedSince: null, stop: null, restored: null, findings: [], decided }
    }
    if (type === 'PayoutsStopped') return { ...state, stoppedSince: state.stoppedSince ?? data.at, stop: data }
    if (type === 'LogRestored') return { ...state, stoppedSince: state.stoppedSince ?? data.at, restored: data }
    const { treeSize: _, at, ...finding } = data
    return { ...state, stoppedSince: state.stoppedSince ?? at, findings: [...state.findings, finding] }
  },
}

/** Returns whether an operator has resumed payouts in spite of this finding. */
export const isDecided = ({ decided }: Integrity, finding: Finding): boolean => decided.has(keyOf(finding))

const keyOf = ({ kind, place, problem }: Finding): string => `${kind} ${place} ${problem}`
