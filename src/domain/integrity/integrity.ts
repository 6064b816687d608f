import { accept, type Decider } from '../../kernel/decision.js'
import type { EventsOf } from '../event.js'

/** What was found not to verify. */
export interface Finding {
  /** `log`: an event. `tree`: a file of the tree. `checkpoint`: its signature or size. `file`: the database itself. */
  readonly kind: 'log' | 'tree' | 'checkpoint' | 'file'
  /** `transfer-…@3`, `tile/entries/000`, `checkpoint`. */
  readonly place: string
  /** Of the leaf in the tree, from 0; null where it is about no single one. */
  readonly leafIndex: number | null
  /** A sentence, without any of the event's data. */
  readonly problem: string
}

interface IntegrityData {
  /** From the first one on nothing is paid out until a person says otherwise. */
  IntegrityViolated: Finding & { readonly treeSize: number; readonly at: string }
  PayoutsResumed: { readonly reason: string; readonly at: string }
}

export type IntegrityEvent = EventsOf<IntegrityData>

export type IntegrityCommand =
  | { readonly type: 'Report'; readonly finding: Finding; readonly treeSize: number; readonly at: string }
  | { readonly type: 'Resume'; readonly reason: string; readonly at: string }

export interface Integrity {
  /** When payouts were stopped; null while they are not. */
  readonly stoppedSince: string | null
  /** Since payouts were resumed last. */
  readonly findings: readonly Finding[]
  /** Findings that a person has decided about: found again, they stop nothing. */
  readonly decided: ReadonlySet<string>
}

/** What an edited log leads to is found in one place after the other: more than this says nothing new. */
export const maxFindings = 100

export const integrityDecider: Decider<Integrity, IntegrityCommand, IntegrityEvent> = {
  initialState: { stoppedSince: null, findings: [], decided: new Set() },
  decide(command, { stoppedSince, findings, decided }) {
    const { at } = command
    if (command.type === 'Resume') {
      return stoppedSince === null ? accept() : accept({ type: 'PayoutsResumed', data: { reason: command.reason, at } })
    }
    const { finding, treeSize } = command
    const known = findings.some((each) => keyOf(each) === keyOf(finding)) || decided.has(keyOf(finding))
    if (known || findings.length >= maxFindings) return accept()
    return accept({ type: 'IntegrityViolated', data: { ...finding, treeSize, at } })
  },
  evolve(state, { type, data }) {
    if (type === 'PayoutsResumed') {
      const decided = new Set([...state.decided, ...state.findings.map(keyOf)])
      return { stoppedSince: null, findings: [], decided }
    }
    const { treeSize: _, at, ...finding } = data
    return { ...state, stoppedSince: state.stoppedSince ?? at, findings: [...state.findings, finding] }
  },
}

function keyOf({ kind, place, problem }: Finding): string {
  return `${kind} ${place} ${problem}`
}
