import type { Static } from '@sinclair/typebox'
import { disclosables } from '../../../domain/disclosable.js'
import { Type } from '../../../kernel/typebox.js'
import { Data, Items, List, Nullable, OneOf, Reason, StatementResponse, Text, Time } from '../api.js'

/**
 * The API of the audit pages under `/dashboard/api/audit`, with the conventions of api.ts. `at` is an ISO 8601 time, which refers to the
 * recording time, or a position in the log, which is exact. It defaults to now.
 */

const PointInTime = Type.Optional(Type.String({ maxLength: 64 }))

// ── History ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const AuditStoryQuery = Type.Object({ at: PointInTime })
/** One event of a transfer, or a related event of its merchant. */
export const AuditStoryItem = Type.Object({
  /** The time of the decision by the service's clock. */
  at: Time,
  /** The recording time by the log's clock. */
  recordedAt: Time,
  /** The position in the log, which `at` accepts. */
  position: Text,
  /** `wallet`: an account of the built-in wallet. `merchant`: settings, keys and endpoint at the creation, and their changes since. */
  source: OneOf(['transfer', 'payment', 'wallet', 'callback', 'merchant']),
  /** The event's type, such as TransferCompleted. */
  type: Text,
  stream: Text,
  revision: Type.Integer(),
  /** The actor in the log: `user:<id>`, `merchant:<id>`, `customer`, `cli:<login>`, `system:<part>`. */
  actor: Text,
  /** The name of a user, or the actor otherwise. */
  actorName: Text,
  correlationId: Text,
  /** The fields of the event without secrets. Amounts end in `Minor`. */
  data: Data,
})
export type AuditStoryItem = Static<typeof AuditStoryItem>
/** In the order of the log. */
export const AuditStoryResponse = Items(AuditStoryItem)
export type AuditStoryResponse = Static<typeof AuditStoryResponse>

export const AuditStateQuery = Type.Object({
  of: OneOf(['transfer', 'merchant', 'user', 'statement']),
  /** A trackingId, a merchantId, a userId, or for a statement `<merchantId>` or `<merchantId>/<2026-11-21>`. */
  id: Type.String({ minLength: 1, maxLength: 128 }),
  at: PointInTime,
})
/** Rejected as unknown if it did not exist at that time. */
export const AuditStateResponse = Type.Object({
  of: OneOf(['transfer', 'merchant', 'user', 'statement']),
  id: Text,
  /** The position of the last event that counts, or null for an empty statement. */
  position: Nullable(Text),
  recordedAt: Nullable(Time),
  /** The state of a transfer, a merchant or a user, without secrets. Null for a statement. */
  state: Nullable(Data),
  /** The lines of a statement. Null for other subjects. */
  statement: Nullable(StatementResponse.properties.items),
})
export type AuditStateResponse = Static<typeof AuditStateResponse>

export const AuditActionsQuery = Type.Object({
  /** The actor in the log. A prefix with a trailing colon, such as `user:`, matches all actors with it. */
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  /** The type of the event. */
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  /** Recorded at or after this ISO 8601 time. */
  from: Type.Optional(Text),
  /** Recorded before this time. */
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
export type AuditAction = Static<typeof AuditAction>
/**
 * The actions, oldest first. One response covers a limited part of the log, so a page can be empty and have a successor. `lookedUpTo` is
 * the time of the last event that it covers.
 */
export const AuditActionsResponse = Type.Object({
  items: List(AuditAction),
  nextCursor: Nullable(Text),
  lookedUpTo: Nullable(Time),
})
export type AuditActionsResponse = Static<typeof AuditActionsResponse>

/** For export and manifest, which are identical for the same query with the same `until`. */
export const AuditExportQuery = Type.Object({
  merchantId: Type.Optional(Text),
  from: Type.Optional(Text),
  to: Type.Optional(Text),
  format: OneOf(['ndjson', 'csv']),
  /** The last position to read, as in a manifest. Defaults to the last event that a checkpoint covers. */
  until: Type.Optional(Type.String({ maxLength: 64 })),
})
/** The content of an export. Request it first, then the export with its `until`. */
export const AuditManifestResponse = Type.Object({
  format: OneOf(['ndjson', 'csv']),
  merchantId: Nullable(Text),
  from: Nullable(Time),
  to: Nullable(Time),
  until: Nullable(Text),
  events: Type.Integer(),
  firstPosition: Nullable(Text),
  lastPosition: Nullable(Text),
  files: List(Type.Object({ name: Text, events: Type.Integer(), bytes: Type.Integer(), sha256: Text })),
  /** The signed checkpoint that covers all events of the export, if there is one. */
  checkpoint: Type.Optional(Text),
  /** The signature by the log's key (docs/auditing/README.md#check-an-export). */
  signature: Type.Optional(Text),
})
export type AuditManifestResponse = Static<typeof AuditManifestResponse>

// ── Integrity ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A part of the log, its tree or a signature that does not verify. */
export const AuditFinding = Type.Object({
  /** `log`: an event. `tree`: a file of the tree. `checkpoint`: its signature or size. `file`: the database itself. */
  kind: OneOf(['log', 'tree', 'checkpoint', 'file']),
  /** The place, such as `transfer-…@3`, `tile/0/000` or `checkpoint`. */
  place: Text,
  /** The index of the leaf in the tree, or null if the finding concerns no single leaf. */
  leafIndex: Nullable(Type.Integer()),
  /** A sentence. */
  problem: Text,
})
export type AuditFinding = Static<typeof AuditFinding>
/** The extent and the findings of a verification. */
export const AuditVerification = Type.Object({
  /** `start`: the newest part only. `rest`: everything, slowly. `requested`: everything, on request. */
  occasion: OneOf(['start', 'rest', 'requested']),
  startedAt: Time,
  /** Null while it is running. */
  finishedAt: Nullable(Time),
  /** The number of verified leaves, and of leaves in the tree. */
  verified: Type.Integer(),
  treeSize: Type.Integer(),
  findings: List(AuditFinding),
})
export type AuditVerification = Static<typeof AuditVerification>
const PayoutDecision = Type.Object({ at: Time, by: Text, byName: Text, reason: Text })
const RestoredLog = Type.Object({
  backupCreatedAt: Nullable(Time),
  restoredAt: Nullable(Time),
  /** The number of events in the backup, and the time of the last one. */
  events: Nullable(Type.Integer()),
  lastEventAt: Nullable(Time),
  /** The events of a newer checkpoint that the backup does not contain. */
  lostEvents: Nullable(Type.Integer()),
  /** The first start on the restored log. All payable withdrawals that were created before it are from the backup. */
  at: Time,
})
/** GET /audit/integrity. */
export const AuditIntegrityResponse = Type.Object({
  /** Null before the first checkpoint and on a node without a tree. */
  checkpoint: Nullable(
    Type.Object({
      origin: Text,
      treeSize: Type.Integer(),
      /** Base64. */
      root: Text,
      signedAt: Time,
      /** The checkpoint file. A copy that is stored elsewhere reveals a log that is truncated later. */
      note: Text,
      /** The names of the witnesses that have cosigned it. */
      witnesses: List(Text),
    }),
  ),
  /** The verifier key, or null if this node has no key yet. */
  verifierKey: Nullable(Text),
  /** The verifications of this node, newest first, at most 10. */
  verifications: List(AuditVerification),
  /** Set while withdrawals cannot be claimed, approved or completed. */
  payoutsStopped: Nullable(
    Type.Object({
      since: Time,
      findings: List(AuditFinding),
      /** Set if an operator stopped them. */
      stop: Nullable(PayoutDecision),
      /** Set if the log was restored. A field is null if the restore did not record it. */
      restored: Nullable(RestoredLog),
      revision: Type.Integer(),
    }),
  ),
  /** The last resumption of payouts. */
  resumed: Nullable(PayoutDecision),
  /** Other problems as sentences, such as an unreachable copy or witness. */
  problems: List(Text),
})
export type AuditIntegrityResponse = Static<typeof AuditIntegrityResponse>
/** POST /audit/verify has no body and returns immediately. GET /audit/integrity shows the progress. */
export const AuditVerifyResponse = Type.Object({
  /** False if a requested verification is already running. */
  started: Type.Boolean(),
})
export type AuditVerifyResponse = Static<typeof AuditVerifyResponse>
/** POST /audit/resume-payouts, which needs a sign-in within the last ten minutes. */
export const ResumePayoutsBody = Type.Object({
  reason: Reason,
  /** The revision that the user saw. A finding or a stop after it is `changed-meanwhile`. */
  revision: Type.Integer({ minimum: 0 }),
})
export type ResumePayoutsBody = Static<typeof ResumePayoutsBody>
export const ResumePayoutsResponse = Type.Object({
  /** False if payouts were not stopped. */
  changed: Type.Boolean(),
})
export type ResumePayoutsResponse = Static<typeof ResumePayoutsResponse>

// ── Evidence packages ───────────────────────────────────────────────────────────────────────────────────────────────────────

const Disclose = OneOf(disclosables)
/** GET /audit/evidence/:trackingId. */
export const AuditEvidenceResponse = Type.Object({
  /** The latest request to disclose personal data, or null. */
  disclosure: Nullable(
    Type.Object({
      requestId: Text,
      disclose: List(Disclose),
      reason: Text,
      by: Text,
      byName: Text,
      requestedAt: Time,
      state: OneOf(['open', 'approved', 'rejected']),
      decidedBy: Nullable(Text),
      decidedByName: Nullable(Text),
      decidedAt: Nullable(Time),
      /** Whether packages may disclose it now: an approval ends. */
      isInForce: Type.Boolean(),
    }),
  ),
})
export type AuditEvidenceResponse = Static<typeof AuditEvidenceResponse>
/** POST /audit/evidence/:trackingId returns a package (application/zip, an attachment), which is recorded as an action of the user. */
export const CreateEvidenceBody = Type.Object({
  /** Discloses what the request in force names; nothing by default. */
  requestId: Type.Optional(Text),
})
export type CreateEvidenceBody = Static<typeof CreateEvidenceBody>
/** POST /audit/evidence/:trackingId/disclosure. */
export const RequestDisclosureBody = Type.Object({
  disclose: Type.Array(Disclose, { minItems: 1, uniqueItems: true, maxItems: disclosables.length }),
  reason: Reason,
})
export type RequestDisclosureBody = Static<typeof RequestDisclosureBody>
/** POST /audit/evidence/:trackingId/disclosure/decision, which needs a sign-in within the last ten minutes. */
export const DecideDisclosureBody = Type.Object({ requestId: Text, approve: Type.Boolean() })
export type DecideDisclosureBody = Static<typeof DecideDisclosureBody>
/** The response of both. `changed` is false for a repeat. */
export const DisclosureResponse = Type.Object({ changed: Type.Boolean() })
export type DisclosureResponse = Static<typeof DisclosureResponse>

// GET /audit/proof/:trackingId returns a proof file (text/plain, an attachment), as `transferd audit prove` writes it.
