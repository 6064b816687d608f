import { dayMs } from '../kernel/time.js'
import { Type } from '../kernel/typebox.js'
import { accept, type Decider, type Decision, refuse } from './decider.js'
import { disclosables } from './disclosable.js'
import { Data, type DataOf, type EventsOf, Nullable, OneOf } from './event.js'
import { Actor, Count, Id, Text, Time } from './fields.js'

const DisclosedWords = Type.Array(OneOf(...disclosables), { minItems: 1, uniqueItems: true })
const common = { trackingId: Id, at: Time }
const decision = { ...common, requestId: Id, by: Actor }

/** The evidence packages of a transfer and their disclosures, in `evidence-<trackingId>`. */
export const evidenceEvents = {
  /** `by` wants to disclose personal data of the customer. The next request replaces it. */
  DisclosureRequested: Data({ ...decision, disclose: DisclosedWords, reason: Text }),
  /** Another person agreed. Packages can disclose it from now on, for {@link disclosureDays}. */
  DisclosureApproved: Data(decision),
  DisclosureRejected: Data(decision),
  /** A package was given to `by`. */
  EvidencePackageCreated: Data({
    ...common,
    by: Actor,
    /** The approved request for its disclosure; null if it discloses nothing. */
    requestId: Nullable(Id),
    /** The SHA-256 of the file, in hex. */
    sha256: Id,
    /** The number of events in the package, and of leaves in the tree that proves them. */
    events: Count,
    treeSize: Count,
  }),
}
type EvidenceEvent = EventsOf<typeof evidenceEvents>

/** An approval is valid for this long. */
const disclosureDays = 7

interface Disclosure extends Omit<DataOf<EvidenceEvent, 'DisclosureRequested'>, 'trackingId' | 'at'> {
  readonly requestedAt: string
  readonly state: 'open' | 'approved' | 'rejected'
  readonly decidedBy: string | null
  readonly decidedAt: string | null
}

/** The latest request to disclose personal data of a transfer. */
interface TransferEvidence {
  readonly disclosure: Disclosure | null
}

type OfTransfer<Type extends EvidenceEvent['type']> = DataOf<EvidenceEvent, Type>
export type EvidenceCommand =
  | ({ readonly type: 'Request' } & OfTransfer<'DisclosureRequested'>)
  | ({ readonly type: 'Approve' | 'Reject' } & OfTransfer<'DisclosureApproved'>)
  | ({ readonly type: 'RecordPackage' } & OfTransfer<'EvidencePackageCreated'>)

export const evidenceDecider: Decider<TransferEvidence, EvidenceCommand, EvidenceEvent> = {
  initialState: { disclosure: null },
  decide,
  evolve(state, event) {
    switch (event.type) {
      case 'DisclosureRequested': {
        const { trackingId: _, at: requestedAt, ...data } = event.data
        return { disclosure: { ...data, requestedAt, state: 'open', decidedBy: null, decidedAt: null } }
      }
      case 'DisclosureApproved':
      case 'DisclosureRejected': {
        const { by: decidedBy, at: decidedAt } = event.data
        const decided = event.type === 'DisclosureApproved' ? 'approved' : 'rejected'
        return { disclosure: state.disclosure && { ...state.disclosure, state: decided, decidedBy, decidedAt } }
      }
      case 'EvidencePackageCreated':
        return state
      default:
        return event satisfies never
    }
  },
}

/** Returns whether packages may disclose what the request names. */
export function isInForce({ state, decidedAt }: Disclosure, at: string): boolean {
  return state === 'approved' && Date.parse(at) - Date.parse(decidedAt!) <= disclosureDays * dayMs
}

function decide(command: EvidenceCommand, { disclosure }: TransferEvidence): Decision<EvidenceEvent> {
  const { type, ...data } = command
  switch (command.type) {
    case 'Request': {
      const { by, disclose, reason } = command
      const isRepeat =
        disclosure?.state === 'open' &&
        disclosure.by === by &&
        disclosure.reason === reason &&
        String(disclosure.disclose) === String(disclose)
      return isRepeat
        ? accept()
        : accept({ type: 'DisclosureRequested', data: data as OfTransfer<'DisclosureRequested'> })
    }
    case 'Approve':
    case 'Reject':
      return decideRequest(command, disclosure)
    case 'RecordPackage': {
      const { requestId, at } = command
      const isApproved = disclosure?.requestId === requestId && disclosure !== null && isInForce(disclosure, at)
      if (requestId !== null && !isApproved) return refuse('conflict', 'disclosure-not-approved')
      return accept({ type: 'EvidencePackageCreated', data: data as OfTransfer<'EvidencePackageCreated'> })
    }
    default:
      return command satisfies never
  }
}

function decideRequest(
  { type, ...data }: Extract<EvidenceCommand, { type: 'Approve' | 'Reject' }>,
  disclosure: Disclosure | null,
): Decision<EvidenceEvent> {
  const decided = type === 'Approve' ? 'approved' : 'rejected'
  if (disclosure?.requestId !== data.requestId) return refuse('not-found', 'unknown-disclosure')
  if (disclosure.state === decided && disclosure.decidedBy === data.by) return accept()
  if (disclosure.state !== 'open') return refuse('conflict', 'disclosure-decided')
  if (type === 'Reject') return accept({ type: 'DisclosureRejected', data })
  return disclosure.by === data.by
    ? refuse('conflict', 'disclosure-four-eyes')
    : accept({ type: 'DisclosureApproved', data })
}
