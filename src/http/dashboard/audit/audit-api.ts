import type { Static, TSchema } from '@sinclair/typebox'
import { Type } from '../../../kernel/typebox.js'
import { StatementAnswer } from '../api.js'

/**
 * What the pages of auditors and the server say to one another, under `/dashboard/api/audit`; as api.ts in all else. A moment (`at`) is an
 * ISO 8601 time, which is looked up by the log's clock, or a position in the log, which is exact; now when absent.
 */

const OneOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values] })
const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Text = Type.String()
const Time = Type.String()
const Data = Type.Record(Text, Type.Unknown())
const Moment = Type.Optional(Type.String({ maxLength: 64 }))

// ── History ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const AuditStoryQuery = Type.Object({ at: Moment })
/** One thing that happened to a transfer, or to its merchant and bore on it. */
export const AuditStoryItem = Type.Object({
  /** When it was decided, by the service's clock. */
  at: Time,
  /** When it was recorded, by the log's. */
  recordedAt: Time,
  /** In the log: what `at` takes. */
  position: Text,
  /** `wallet`: an account of the built-in wallet. `merchant`: settings, keys and endpoint, in force at the beginning or changed meanwhile. */
  source: OneOf(['transfer', 'payment', 'wallet', 'callback', 'merchant']),
  /** The event's type, such as TransferCompleted. */
  type: Text,
  stream: Text,
  revision: Type.Integer(),
  /** As the log has it: `user:<id>`, `merchant:<id>`, `customer`, `cli:<login>`, `system:<part>`. */
  actor: Text,
  /** The user's name, where it is one; the actor otherwise. */
  actorName: Text,
  correlationId: Text,
  /** The event's fields that are no secrets; amounts end in Minor. */
  data: Data,
})
/** In the order of the log. */
export const AuditStoryAnswer = Type.Object({ items: Type.Array(AuditStoryItem) })

export const AuditStateQuery = Type.Object({
  of: OneOf(['transfer', 'merchant', 'statement']),
  /** trackingId; merchantId; `<merchantId>` for every day of a statement, or `<merchantId>/<2026-11-21>` for one. */
  id: Type.String({ minLength: 1, maxLength: 128 }),
  at: Moment,
})
/** Refused as unknown where it did not exist then. */
export const AuditStateAnswer = Type.Object({
  of: OneOf(['transfer', 'merchant', 'statement']),
  id: Text,
  /** Of the last event that counts; null where a statement has none. */
  position: Nullable(Text),
  recordedAt: Nullable(Time),
  /** Of a transfer or a merchant, without secrets; null for a statement. */
  state: Nullable(Data),
  /** Its lines, as the statement page has them; null for the others. */
  statement: Nullable(StatementAnswer.properties.items),
})

export const AuditActionsQuery = Type.Object({
  /** As the log has it; `user:` or another beginning with a colon at its end means all that begin so. */
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  /** Of the event. */
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  /** Recorded then or later; ISO 8601. */
  from: Type.Optional(Text),
  /** Recorded before. */
  to: Type.Optional(Text),
  cursor: Type.Optional(Type.String({ maxLength: 64 })),
})
export const AuditAction = Type.Object({
  recordedAt: Time,
  position: Text,
  type: Text,
  actor: Text,
  actorName: Text,
  stream: Text,
  revision: Type.Integer(),
  correlationId: Text,
  merchantId: Nullable(Text),
  trackingId: Nullable(Text),
})
/**
 * Oldest first. One answer looks at a stretch of the log only, so a page may have no items and another one after it: `lookedUpTo` says how
 * far it has come.
 */
export const AuditActionsAnswer = Type.Object({
  items: Type.Array(AuditAction),
  nextCursor: Nullable(Text),
  lookedUpTo: Nullable(Time),
})

/** For export and manifest, which are the same bytes for the same query with the same `until`. */
export const AuditExportQuery = Type.Object({
  merchantId: Type.Optional(Text),
  from: Type.Optional(Text),
  to: Type.Optional(Text),
  format: OneOf(['ndjson', 'csv']),
  /** The last position that is looked at, as a manifest says it; the end of the log when absent. */
  until: Type.Optional(Type.String({ maxLength: 64 })),
})
/** What an export holds; ask for it first, and then for the export with its `until`. */
export const AuditManifestAnswer = Type.Object({
  format: OneOf(['ndjson', 'csv']),
  merchantId: Nullable(Text),
  from: Nullable(Time),
  to: Nullable(Time),
  until: Nullable(Text),
  events: Type.Integer(),
  firstPosition: Nullable(Text),
  lastPosition: Nullable(Text),
  files: Type.Array(Type.Object({ name: Text, events: Type.Integer(), bytes: Type.Integer(), sha256: Text })),
  /** The signed checkpoint of the tree, where there is one. */
  checkpoint: Type.Optional(Text),
})

export type AuditStory = Static<typeof AuditStoryAnswer>
export type AuditState = Static<typeof AuditStateAnswer>
export type AuditActions = Static<typeof AuditActionsAnswer>
export type AuditManifest = Static<typeof AuditManifestAnswer>

// ── Integrity ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Something that does not verify: the log, its tree or a signature is not what it was. */
export const AuditFinding = Type.Object({
  /** `log`: an event. `tree`: a file of the tree. `checkpoint`: its signature or size. `file`: the database itself. */
  kind: OneOf(['log', 'tree', 'checkpoint', 'file']),
  /** Where: `transfer-…@3`, `tile/entries/000`, `checkpoint`. */
  place: Text,
  /** Of the leaf in the tree, from 0; null where it is about no single one. */
  leafIndex: Nullable(Type.Integer()),
  /** A sentence. */
  problem: Text,
})
/** What a verification looked at and found. */
export const AuditVerification = Type.Object({
  /** `start`: the newest part only. `rest`: the whole, slowly. `asked`: the whole, because somebody asked. */
  occasion: OneOf(['start', 'rest', 'asked']),
  startedAt: Time,
  /** Null while it is under way. */
  finishedAt: Nullable(Time),
  /** Leaves looked at so far, and leaves of the tree. */
  verified: Type.Integer(),
  treeSize: Type.Integer(),
  findings: Type.Array(AuditFinding),
})
/** GET /audit/integrity. */
export const AuditIntegrityAnswer = Type.Object({
  /** Null before the first checkpoint, and on a node that has no tree. */
  checkpoint: Nullable(
    Type.Object({
      origin: Text,
      treeSize: Type.Integer(),
      /** Base64. */
      root: Text,
      signedAt: Time,
      /** The checkpoint's file, to keep elsewhere: whoever has it finds out a log that is cut back later. */
      note: Text,
      /** Names of the witnesses that have cosigned it. */
      witnesses: Type.Array(Text),
    }),
  ),
  /** What signatures are verified with. Null where this node has no key yet. */
  verifierKey: Nullable(Text),
  /** The newest of this node first, at most 10. */
  verifications: Type.Array(AuditVerification),
  /** Set while withdrawals are neither claimed, approved nor completed. */
  payoutsStopped: Nullable(Type.Object({ since: Time, findings: Type.Array(AuditFinding) })),
  /** When payouts were resumed last, by whom and why. */
  resumed: Nullable(Type.Object({ at: Time, by: Text, byName: Text, reason: Text })),
  /** What is wrong beside that, as sentences: a copy or a witness that cannot be reached. */
  troubles: Type.Array(Text),
})
/** POST /audit/verify has no body and answers at once; GET /audit/integrity tells how far it is. */
export const AuditVerifyAnswer = Type.Object({
  /** False where one that was asked for is under way already. */
  started: Type.Boolean(),
})
/** POST /audit/resume-payouts; a sign-in not longer than ten minutes ago. */
export const ResumePayoutsBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 500 }) })
export const ResumePayoutsAnswer = Type.Object({
  /** False where nothing was stopped. */
  changed: Type.Boolean(),
})
// GET /audit/proof/:trackingId answers a proof file (text/plain, an attachment), as `transferd audit prove` writes it.

export type AuditFinding = Static<typeof AuditFinding>
export type AuditVerification = Static<typeof AuditVerification>
export type AuditIntegrity = Static<typeof AuditIntegrityAnswer>
export type AuditVerify = Static<typeof AuditVerifyAnswer>
export type ResumePayouts = Static<typeof ResumePayoutsAnswer>
