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

/** What a proof that holds has shown. */
export interface CheckedProof {
  readonly trackingId: string
  readonly origin: string
  readonly treeSize: number
  /** Base64. */
  readonly root: string
  /** Size of the checkpoint that the log is the continuation of; null when the proof has none. */
  readonly continues: number | null
  readonly events: readonly CheckedEvent[]
}

export interface CheckedEvent {
  readonly index: number
  readonly revision: number
  readonly type: string
  readonly recordedAt: string
}

/**
 * Checks a proof file with nothing but the log's public key, and with a checkpoint that was kept earlier, if there is one.
 * @throws VerificationError with the reason.
 */
export function checkProof(text: string, log: NoteVerifier, kept?: string): CheckedProof {
  const proof = parseProof(text)
  const checkpoint = openCheckpoint(proof.checkpoint, log)
  const older = proof.older && openCheckpoint(proof.older.checkpoint, log)
  if (older && !verifyConsistency(older, checkpoint, proof.older!.proof)) {
    throw new VerificationError(
      `The log of ${checkpoint.size} leaves is not the continuation of the one of ${older.size}.`,
    )
  }
  if (kept !== undefined) requireFrom(openCheckpoint(kept, log), older, checkpoint)
  const events = proof.events.map((event) => checkedEvent(event, proof, checkpoint))
  requireNoGap(events)
  const { origin, size, root } = checkpoint
  return {
    trackingId: proof.trackingId,
    origin,
    treeSize: size,
    root: root.toString('base64'),
    continues: older?.size ?? null,
    events,
  }
}

/** That what was kept is where the proof begins, or where it ends. */
function requireFrom(kept: TreeHead, older: TreeHead | undefined, newer: TreeHead): void {
  const same = [older, newer].find((head) => head?.size === kept.size)
  if (same?.root.equals(kept.root)) return
  throw new VerificationError(
    same
      ? `The checkpoint has another root for ${kept.size} leaves: the log is not the one that it was.`
      : `The proof does not begin at the checkpoint of ${kept.size} leaves: make it with --from that checkpoint.`,
  )
}

function checkedEvent(event: ProvenEvent, { trackingId }: TransferProof, checkpoint: OpenedCheckpoint): CheckedEvent {
  const { index, leaf, proof } = event
  if (!verifyInclusion(leafHash(Buffer.from(leaf)), index, checkpoint.size, checkpoint.root, proof)) {
    throw new VerificationError(`Leaf ${index} is not in the tree of the checkpoint.`)
  }
  const { stream, revision, type, recordedAtMs } = JSON.parse(leaf) as LeafFields
  if (stream !== transferStream(trackingId))
    throw new VerificationError(`Leaf ${index} is no event of transfer ${trackingId}.`)
  return { index, revision, type, recordedAt: new Date(recordedAtMs).toISOString() }
}

/** Of every leaf of a transfer. What is in the tree is what the service has stored. */
interface LeafFields {
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly recordedAtMs: number
}

function requireNoGap(events: readonly CheckedEvent[]): void {
  if (events.length === 0) throw new VerificationError('The proof has no event.')
  for (const [place, { index, revision }] of events.entries()) {
    const before = events[place - 1]
    if (before === undefined) continue
    if (revision !== before.revision + 1 || index <= before.index) {
      throw new VerificationError(`Event ${revision} does not follow event ${before.revision}.`)
    }
  }
}
