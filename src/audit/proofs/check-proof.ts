import {
  leafHash,
  type NoteVerifier,
  type OpenedCheckpoint,
  openCheckpoint,
  type TreeHead,
  VerificationError,
  verifyConsistency,
  verifyInclusion,
} from '@transferd/transparency-log'
import { transferStream } from '../../domain/streams.js'
import { type ProvenEvent, parseProof, type TransferProof } from './proof-file.js'

/** The content of a valid proof. */
export interface CheckedProof {
  readonly trackingId: string
  readonly origin: string
  readonly treeSize: number
  /** Base64. */
  readonly root: string
  /** The size of the checkpoint that the log continues, or null if the proof has none. */
  readonly continues: number | null
  readonly events: readonly CheckedEvent[]
}

interface CheckedEvent {
  readonly index: number
  readonly revision: number
  readonly type: string
  readonly recordedAt: string
}

/**
 * Checks a proof file with the log's public key and, if given, a checkpoint that was kept earlier.
 * @throws VerificationError with the reason
 */
export function checkProof(text: string, log: NoteVerifier, kept?: string): CheckedProof {
  const proof = parseProof(text)
  const checkpoint = openCheckpoint(proof.checkpoint, log)
  const older = proof.older && openCheckpoint(proof.older.checkpoint, log)
  if (older && !verifyConsistency(older, checkpoint, proof.older!.proof)) {
    throw new VerificationError(
      `The log of ${checkpoint.size} leaves is not a continuation of the log of ${older.size} leaves.`,
    )
  }
  if (kept !== undefined) requireKept(openCheckpoint(kept, log), older, checkpoint)
  const events = proof.events.map((event) => checkEvent(event, proof, checkpoint))
  requireNoGap(events)
  const { origin, size, root } = checkpoint
  const continues = older?.size ?? null
  return { trackingId: proof.trackingId, origin, treeSize: size, root: root.toString('base64'), continues, events }
}

/** Requires that the proof starts or ends at the kept checkpoint. */
function requireKept(kept: TreeHead, older: TreeHead | undefined, newer: TreeHead): void {
  const same = [older, newer].find((head) => head?.size === kept.size)
  if (same?.root.equals(kept.root)) return
  throw new VerificationError(
    same
      ? `The checkpoint has a different root for ${kept.size} leaves: the log was changed.`
      : `The proof does not start at the checkpoint of ${kept.size} leaves: create it with --from that checkpoint.`,
  )
}

function checkEvent(event: ProvenEvent, { trackingId }: TransferProof, checkpoint: OpenedCheckpoint): CheckedEvent {
  const { index, leaf, proof } = event
  if (!verifyInclusion(leafHash(Buffer.from(leaf)), index, checkpoint.size, checkpoint.root, proof))
    throw new VerificationError(`Leaf ${index} is not in the tree of the checkpoint.`)
  const { stream, revision, type, recordedAtMs } = JSON.parse(leaf) as LeafFields
  if (stream !== transferStream(trackingId))
    throw new VerificationError(`Leaf ${index} is not an event of transfer ${trackingId}.`)
  return { index, revision, type, recordedAt: new Date(recordedAtMs).toISOString() }
}

/** The fields of a transfer's leaves. A leaf in the tree has the form that the service stored. */
interface LeafFields {
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly recordedAtMs: number
}

function requireNoGap(events: readonly CheckedEvent[]): void {
  if (events.length === 0) throw new VerificationError('The proof has no event.')
  for (const [place, { index, revision }] of events.entries()) {
    const previous = events[place - 1]
    if (previous && (revision !== previous.revision + 1 || index <= previous.index))
      throw new VerificationError(`Event ${revision} does not follow event ${previous.revision}.`)
  }
}
