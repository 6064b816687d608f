import type { Static } from '@sinclair/typebox'
import { type Status, statusCodes } from '../../../domain/transfer/transfer.js'
import type { TransferKind } from '../../../domain/transfer/transfer-events.js'
import { Type } from '../../../kernel/typebox.js'

/** What the pages of operations and the server say to one another, beside `api.ts`, whose rules hold here. Positions are those of the log. */

const OneOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values] })
const Nullable = <Schema extends Parameters<typeof Type.Array>[0]>(schema: Schema) => Type.Union([schema, Type.Null()])
const Text = Type.String()
const Time = Type.String()
const Count = Type.Integer({ minimum: 0 })
const Reason = Type.String({ minLength: 1, maxLength: 500 })

// ── Projections ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The documents of two versions, compared at the same position of the log. */
export const ProjectionComparison = Type.Object({
  at: Time,
  position: Nullable(Text),
  /** Documents looked at. */
  compared: Count,
  /** How many are not the same; 0 when the versions are equal, byte for byte. */
  differing: Count,
  /** Ids of the first of them. */
  differences: Type.Array(Text),
})

/** Documents that stand beside those in use. */
export const ProjectionVersion = Type.Object({
  /** When they were built, or were in use last. */
  at: Time,
  position: Nullable(Text),
  /** With those in use; null when nobody has compared them. */
  comparison: Nullable(ProjectionComparison),
})

export const projectionActions = ['rebuild', 'verify', 'switch', 'rollback', 'pause', 'resume', 'cancel'] as const

/** What was asked of whoever runs the projection, last. */
export const ProjectionTask = Type.Object({
  what: OneOf(['rebuild', 'verify', 'switch', 'rollback']),
  state: OneOf(['requested', 'running', 'cancelling', 'done', 'failed']),
  /** Null unless it runs. */
  phase: Nullable(OneOf(['building', 'comparing', 'switching'])),
  /** `cli:ada`, `user:<id>`, `system:projections`. */
  by: Text,
  requestedAt: Time,
  updatedAt: Time,
  /** What the new documents have come to, and what they had to come to as it began. */
  position: Nullable(Text),
  end: Nullable(Text),
  /** From 0 to 1, of the log. */
  progress: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  eventsPerSecond: Nullable(Count),
  secondsLeft: Nullable(Count),
  comparison: Nullable(ProjectionComparison),
  /** Why it failed, or why what was built is not in use. */
  reason: Nullable(Text),
})

export const ProjectionItem = Type.Object({
  name: Text,
  /** `new`: nothing was built yet. `outdated`: built by another version of the program, or from another log or state of it. */
  state: OneOf(['current', 'behind', 'failed', 'paused', 'outdated', 'new']),
  checkpoint: Nullable(Text),
  /** Of the log. */
  end: Nullable(Text),
  /** Not yet applied; counting stops at 1,000. */
  lagEvents: Count,
  /** When the first of them was recorded. */
  waitingSince: Nullable(Time),
  lastEventAt: Nullable(Time),
  /** `host/pid/…` of the process that runs it; null when none does. */
  holder: Nullable(Text),
  paused: Nullable(Type.Object({ at: Time, by: Text, reason: Nullable(Text) })),
  failure: Nullable(
    Type.Object({
      /** Where it is stopped; null when no event is the cause. */
      stream: Nullable(Text),
      revision: Nullable(Count),
      reason: Text,
      at: Time,
      /** What helps, for a shell; null where the guide must be read. */
      command: Nullable(Text),
    }),
  ),
  task: Nullable(ProjectionTask),
  /** Built, and waits to be switched to. */
  built: Nullable(ProjectionVersion),
  /** In use before; kept until the next switch. */
  previous: Nullable(ProjectionVersion),
  /** What can be asked of it now, whoever may ask. */
  actions: Type.Array(OneOf(projectionActions)),
})
export const ProjectionsAnswer = Type.Object({ items: Type.Array(ProjectionItem) })

/** For one projection, and (`POST /operations/projections/rebuild`) for all in one pass over the log. */
export const RebuildRequest = Type.Object({
  /** True: what was built waits for a switch. False or absent: it is compared with what is in use, and switched to when it is equal. */
  keep: Type.Optional(Type.Boolean()),
})
export const PauseRequest = Type.Object({ reason: Type.Optional(Reason) })
/** For verify, switch, rollback, resume and cancel. */
export const PlainRequest = Type.Object({})

// ── Problems ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An event that cannot be read, and that no one has decided to skip. */
export const ProblemItem = Type.Object({
  stream: Text,
  revision: Count,
  /** A sentence, without anything of the event's data. */
  reason: Text,
  /** The projections that are stopped at it. */
  stopped: Type.Array(Text),
})
export const ProblemsAnswer = Type.Object({ items: Type.Array(ProblemItem) })

/** From then on the event counts as if it were not there, for good: an event of its own says who decided it and why. */
export const SkipEventRequest = Type.Object({
  stream: Type.String({ minLength: 1, maxLength: 1024 }),
  revision: Type.Integer({ minimum: 0, maximum: 4_294_967_295 }),
  reason: Reason,
})
export const SkipEventAnswer = Type.Object({
  problem: Text,
  /** False when it was decided before. */
  changed: Type.Boolean(),
})

// ── Nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A process of the service that wrote to these read models within the last day; newest sign of life first. */
export const NodeItem = Type.Object({
  /** `host/pid`, as the leases name their holder. */
  nodeId: Text,
  host: Text,
  processId: Type.Integer(),
  version: Text,
  roles: Type.Array(Text),
  startedAt: Time,
  /** Every ten seconds while it lives. */
  lastSeenAt: Time,
  /** `gone`: no sign of life for 30 seconds. */
  state: OneOf(['alive', 'gone']),
  /** The node that answers. */
  current: Type.Boolean(),
})
/** What runs in one process at a time, such as `projection:transfers`, `callbacks` and `expiry`. */
export const LeaseItem = Type.Object({
  name: Text,
  /** Null: nobody does this work now. */
  nodeId: Nullable(Text),
  renewedAt: Time,
})
export const NodesAnswer = Type.Object({ nodes: Type.Array(NodeItem), leases: Type.Array(LeaseItem) })

// ── Stuck transfers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const stuckReasons = [
  /** A deposit is Pending though its time is over: nothing expires deposits. */
  'pending-past-expiry',
  /** A person has to look at it. */
  'manual-control',
  /** A withdrawal above the merchant's threshold that nobody has approved. */
  'awaiting-approval',
  /** A withdrawal that was claimed, and not paid before the claim's time was over, again and again. */
  'claims-lapse',
  /** A withdrawal that nobody pays. */
  'unpaid',
] as const
/** What has to be done next, and by whom. */
export const nextActions = ['start-expiry', 'decide', 'approve', 'find-who-pays', 'pay'] as const

export const StuckItem = Type.Object({
  trackingId: Text,
  merchantId: Text,
  referenceId: Text,
  kind: OneOf<readonly TransferKind[]>(['deposit', 'withdrawal']),
  status: OneOf(Object.keys(statusCodes) as Status[]),
  amountMinor: Type.Integer(),
  reason: OneOf(stuckReasons),
  next: OneOf(nextActions),
  /** Since when it is stuck for this reason. */
  since: Time,
  /** How many claims and approvals there were; 0 for deposits. */
  steps: Type.Integer(),
})
/** The oldest first, at most 100 of each reason; what is stuck for less than a reason's time is not listed. */
export const StuckAnswer = Type.Object({
  at: Time,
  items: Type.Array(StuckItem),
  reasons: Type.Array(
    Type.Object({
      reason: OneOf(stuckReasons),
      /** Older than this is stuck. */
      afterMinutes: Type.Integer(),
      /** How many of them are listed. */
      count: Type.Integer(),
      /** There are more than were looked at. */
      more: Type.Boolean(),
    }),
  ),
})

// ── Checks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One check of `transferd doctor`. */
export const CheckItem = Type.Object({
  /** `disk`, `clock`, `master-key` …: stable. */
  name: Text,
  /** What was looked at, where there are several: a directory, a projection. */
  subject: Nullable(Text),
  result: OneOf(['ok', 'warning', 'failed', 'unknown']),
  /** A sentence in English: what was found. */
  found: Text,
  /** A sentence in English: what to do; null where there is nothing to do. */
  advice: Nullable(Text),
})
export const ChecksAnswer = Type.Object({ at: Time, checks: Type.Array(CheckItem) })

export type StuckReason = (typeof stuckReasons)[number]
export type NextAction = (typeof nextActions)[number]
export type Check = Static<typeof CheckItem>
