import { accept, type Decider } from './decider.js'
import { Data, type EventsOf, Nullable } from './event.js'
import { Id, Index, Text, Time } from './fields.js'

export const auditTreeEvents = {
  /** A tree over the log starts. The log's first `size` events have the root, in base64. A first start has no reason. */
  AuditTreeStarted: Data({
    treeId: Id,
    origin: Text,
    keyId: Text,
    size: Index,
    root: Text,
    reason: Nullable(Text),
    at: Time,
  }),
  /** A checkpoint of the tree covers the log's first `size` events, and has this root. */
  AuditTreeSealed: Data({ treeId: Id, size: Index, root: Text, at: Time }),
}

type AuditTreeEvent = EventsOf<typeof auditTreeEvents>
type Started = Extract<AuditTreeEvent, { type: 'AuditTreeStarted' }>['data']

export type AuditTreeCommand =
  | ({ readonly type: 'StartTree' } & Started)
  | {
      readonly type: 'RecordSeal'
      readonly treeId: string
      readonly size: number
      readonly root: string
      readonly at: string
    }

/** The log's tree, or `null` before its first start. */
export type AuditTree = Started & {
  readonly startedAt: string
  /** Whether a checkpoint of this tree was recorded: from then on, a missing tree is a finding. */
  readonly isSealed: boolean
  /** The ids of the keys of earlier trees of this log. */
  readonly earlierKeyIds: readonly string[]
}

export const auditTreeDecider: Decider<AuditTree | null, AuditTreeCommand, AuditTreeEvent> = {
  initialState: null,
  decide({ type, ...data }, tree) {
    if (type === 'StartTree') {
      const started = data as Started
      return tree && started.reason === null ? accept() : accept({ type: 'AuditTreeStarted', data: started })
    }
    const { treeId, size, root, at } = data
    if (tree?.treeId !== treeId || (tree.isSealed && size <= tree.size)) return accept()
    return accept({ type: 'AuditTreeSealed', data: { treeId, size, root, at } })
  },
  evolve(tree, event) {
    if (event.type === 'AuditTreeStarted') {
      const earlierKeyIds = tree ? [...tree.earlierKeyIds, tree.keyId] : []
      return { ...event.data, startedAt: event.data.at, isSealed: false, earlierKeyIds }
    }
    const { treeId, size, root } = event.data
    return tree?.treeId === treeId ? { ...tree, size, root, isSealed: true } : tree
  },
}
