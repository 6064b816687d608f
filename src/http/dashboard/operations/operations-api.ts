import type { Static } from '@sinclair/typebox'
import { Type } from '../../../kernel/typebox.js'
import { projectionActions } from '../../../projections/projection-status.js'
import { Items, Kind, List, Nullable, OneOf, Reason, StatusName, Text, Time } from '../api.js'

/** The API of the operations pages, with the conventions of api.ts. Positions are positions in the log. */

const Count = Type.Integer({ minimum: 0 })

// ── Projections ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The documents of two versions, compared at the same position of the log. */
export const ProjectionComparison = Type.Object({
  at: Time,
  position: Nullable(Text),
  /** The number of compared documents. */
  compared: Count,
  /** The number of differing documents. 0 if the versions are identical. */
  differing: Count,
  /** The ids of the first differing documents. */
  differences: List(Text),
})
export type ProjectionComparison = Static<typeof ProjectionComparison>

/** Documents that exist next to the served ones. */
const ProjectionVersion = Type.Object({
  /** The time at which they were built or last served. */
  at: Time,
  position: Nullable(Text),
  /** The comparison with the served documents, or null without a comparison. */
  comparison: Nullable(ProjectionComparison),
})

/** The latest task of the projection. */
export const ProjectionTask = Type.Object({
  what: OneOf(['rebuild', 'verify', 'switch', 'rollback']),
  state: OneOf(['requested', 'running', 'cancelling', 'done', 'failed']),
  /** Null unless it is running. */
  phase: Nullable(OneOf(['building', 'merging', 'comparing', 'switching'])),
  /** `cli:ada`, `user:<id>`, `system:projections`. */
  by: Text,
  requestedAt: Time,
  updatedAt: Time,
  /** The position of the new documents, and the target position at the start. */
  position: Nullable(Text),
  end: Nullable(Text),
  /** The progress through the log, from 0 to 1. */
  progress: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  eventsPerSecond: Nullable(Count),
  secondsLeft: Nullable(Count),
  comparison: Nullable(ProjectionComparison),
  /** The reason for a failure, or why the built documents are not served. */
  reason: Nullable(Text),
})
export type ProjectionTask = Static<typeof ProjectionTask>

export const ProjectionItem = Type.Object({
  name: Text,
  /** `new`: not built yet. `outdated`: built by a different version of the program or from a different log. */
  state: OneOf(['current', 'behind', 'failed', 'paused', 'outdated', 'new']),
  checkpoint: Nullable(Text),
  /** The end of the log. */
  end: Nullable(Text),
  /** The number of events that are not applied yet, at most 1,000. */
  lagEvents: Count,
  /** The recording time of the first of these events. */
  waitingSince: Nullable(Time),
  lastEventAt: Nullable(Time),
  /** `host/pid/…` of the process that runs it, or null. */
  holder: Nullable(Text),
  paused: Nullable(Type.Object({ at: Time, by: Text, reason: Nullable(Text) })),
  failure: Nullable(
    Type.Object({
      /** The event at which it stopped, or null if no event is the cause. */
      stream: Nullable(Text),
      revision: Nullable(Count),
      reason: Text,
      at: Time,
      /** The remedy as a shell command, or null if the guide describes it. */
      command: Nullable(Text),
    }),
  ),
  task: Nullable(ProjectionTask),
  /** Built documents that wait for a switch. */
  built: Nullable(ProjectionVersion),
  /** Previously served documents, kept until the next switch. */
  previous: Nullable(ProjectionVersion),
  /** The possible actions, regardless of the user's permissions. */
  actions: List(OneOf(projectionActions)),
})
export type ProjectionItem = Static<typeof ProjectionItem>
export type ProjectionAction = ProjectionItem['actions'][number]
export const ProjectionsResponse = Items(
  Type.Intersect([
    ProjectionItem,
    Type.Object({
      /** The lag of the last hour, a value per minute, as the responding node measured it. */
      lags: List(Type.Object({ at: Time, lagMs: Nullable(Count) })),
    }),
  ]),
)
export type ProjectionsResponse = Static<typeof ProjectionsResponse>

/** The projections whose lists are out of date: stopped, or more than five seconds behind. */
export const FreshnessResponse = Type.Object({
  at: Time,
  stale: List(
    Type.Object({
      name: Text,
      state: ProjectionItem.properties.state,
      /** The time whose state its lists show. */
      since: Nullable(Time),
    }),
  ),
})
export type FreshnessResponse = Static<typeof FreshnessResponse>

/** For one projection, and (`POST /operations/projections/rebuild`) for all of them together. */
export const RebuildRequest = Type.Object({
  /** If true, the built documents wait for a switch. Otherwise they are compared with the served ones, and served if they are identical. */
  keep: Type.Optional(Type.Boolean()),
})
export type RebuildRequest = Static<typeof RebuildRequest>
export const PauseRequest = Type.Object({ reason: Type.Optional(Reason) })
export type PauseRequest = Static<typeof PauseRequest>
/** For verify, switch, rollback, resume and cancel. */
export const PlainRequest = Type.Object({})

// ── Problems ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An unreadable event that is not skipped. */
export const ProblemItem = Type.Object({
  stream: Text,
  revision: Count,
  /** A sentence that contains no data of the event. */
  reason: Text,
  /** The projections that have stopped at it. */
  stopped: List(Text),
})
export type ProblemItem = Static<typeof ProblemItem>
export const ProblemsResponse = Items(ProblemItem)
export type ProblemsResponse = Static<typeof ProblemsResponse>

/** Ignores the event permanently. A separate event records the user and the reason. */
export const SkipEventRequest = Type.Object({
  stream: Type.String({ minLength: 1, maxLength: 1024 }),
  revision: Type.Integer({ minimum: 0, maximum: 4_294_967_295 }),
  reason: Reason,
})
export type SkipEventRequest = Static<typeof SkipEventRequest>
export const SkipEventResponse = Type.Object({
  problem: Text,
  /** False if it was already skipped. */
  changed: Type.Boolean(),
})
export type SkipEventResponse = Static<typeof SkipEventResponse>

// ── Nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A process that has sent a heartbeat to these read models within the last day, latest heartbeat first. */
export const NodeItem = Type.Object({
  /** `host/pid`, as in the holders of leases. */
  nodeId: Text,
  host: Text,
  processId: Type.Integer(),
  version: Text,
  roles: List(Text),
  startedAt: Time,
  /** The last heartbeat, sent every ten seconds. */
  lastSeenAt: Time,
  /** `gone` after 30 seconds without a heartbeat. */
  state: OneOf(['alive', 'gone']),
  /** True for the responding node. */
  current: Type.Boolean(),
})
export type NodeItem = Static<typeof NodeItem>
/** A task that runs in one process at a time, such as `projection:transfers`, `callbacks` or `expiry`. */
export const LeaseItem = Type.Object({
  name: Text,
  /** Null if no process performs the task. */
  nodeId: Nullable(Text),
  renewedAt: Time,
})
export type LeaseItem = Static<typeof LeaseItem>
export const NodesResponse = Type.Object({ nodes: List(NodeItem), leases: List(LeaseItem) })
export type NodesResponse = Static<typeof NodesResponse>

// ── Stuck transfers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const StuckReason = OneOf([
  /** A deposit is Pending after its expiry, so the expiry does not run. */
  'pending-past-expiry',
  /** It needs manual review. */
  'manual-control',
  /** A withdrawal above the merchant's threshold without an approval. */
  'awaiting-approval',
  /** A withdrawal that was claimed repeatedly and not paid before the claims expired. */
  'claims-lapse',
  /** A withdrawal in a bank file that was neither completed nor released for a day. */
  'in-bank-file',
  /** An unpaid withdrawal without a claim. */
  'unpaid',
])

export const StuckItem = Type.Object({
  trackingId: Text,
  merchantId: Text,
  referenceId: Text,
  kind: Kind,
  status: StatusName,
  amountMinor: Type.Integer(),
  reason: StuckReason,
  /** The next action and the role that can take it. */
  next: OneOf(['start-expiry', 'decide', 'approve', 'find-who-pays', 'check-bank-file', 'pay']),
  /** The time since which it is stuck for this reason. */
  since: Time,
  /** The number of claims and approvals. 0 for deposits. */
  steps: Type.Integer(),
})
export type StuckItem = Static<typeof StuckItem>
/** The oldest first, at most 100 per reason. Each reason has a minimum age. */
export const StuckResponse = Type.Object({
  at: Time,
  items: List(StuckItem),
  reasons: List(
    Type.Object({
      reason: StuckReason,
      /** The minimum age. */
      afterMinutes: Type.Integer(),
      /** The number of listed transfers. */
      count: Type.Integer(),
      /** True if there are more than were checked. */
      more: Type.Boolean(),
    }),
  ),
})
export type StuckResponse = Static<typeof StuckResponse>

// ── Checks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One check of `transferd doctor`. */
export const CheckItem = Type.Object({
  /** `disk`, `clock`, `master-key` …: stable. */
  name: Text,
  /** The checked item if there are several, such as a directory or a projection. */
  subject: Nullable(Text),
  result: OneOf(['ok', 'warning', 'failed', 'unknown']),
  /** The finding, as an English sentence. */
  found: Text,
  /** The remedy, as an English sentence, or null if none is needed. */
  advice: Nullable(Text),
})
export type CheckItem = Static<typeof CheckItem>
export const ChecksResponse = Type.Object({ at: Time, checks: List(CheckItem) })
export type ChecksResponse = Static<typeof ChecksResponse>
