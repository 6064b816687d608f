import {
  fromBase64,
  type Hash,
  hashBytes,
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
import type { RecordedEvent } from '../../event-store/event-store.js'
import { type Static, Type, Value } from '../../kernel/typebox.js'

const format = 'transferd-proof/1'

/** Base64 of 32 bytes each. */
const Hashes = Type.Array(Type.String())

/** Shows that a transfer's events are in the log of a checkpoint. docs/auditing/proofs.md describes every field. */
const TransferProof = Type.Object({
  trackingId: Type.String(),
  /** A signed note. */
  checkpoint: Type.String(),
  /** The index of each leaf in the tree, from 0, and the leaf itself, which is canonical JSON. */
  events: Type.Array(
    Type.Object({
      index: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      leaf: Type.String(),
      proof: Hashes,
    }),
  ),
  /** The earlier checkpoint that the log continues, with a consistency proof. */
  older: Type.Optional(Type.Object({ checkpoint: Type.String(), proof: Hashes })),
})
export type TransferProof = Static<typeof TransferProof>

/** Returns the file, indented for readers and in a single possible form. */
export function formatProof({ trackingId, checkpoint, events, older }: TransferProof): string {
  const file = {
    ...{ format, trackingId, checkpoint },
    events: events.map(({ index, leaf, proof }) => ({ index, leaf, proof })),
    ...(older && { older: { checkpoint: older.checkpoint, proof: older.proof } }),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/** Parses a file in exactly the form of `formatProof`: programs could read a repeated name differently. @throws VerificationError */
function parseProof(text: string): TransferProof {
  const file = parsedJson(text)
  if ((file as { readonly format?: unknown } | null)?.format !== format) throw malformed(`it is not a ${format}`)
  const wrong = Value.Errors(TransferProof, file).First()
  if (wrong) throw malformed(`${wrong.path} is missing or invalid`)
  const proof = file as TransferProof
  if (formatProof(proof) !== text) throw malformed('its bytes differ from the form that transferd writes')
  return proof
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('it is not JSON')
  }
}

function hashesIn(proof: readonly string[]): Hash[] {
  return proof.map((each) => {
    const hash = fromBase64(each)
    if (hash?.length !== hashBytes) throw malformed('a hash is not 32 bytes of Base64')
    return hash
  })
}

function malformed(problem: string): VerificationError {
  return new VerificationError(`The proof is malformed: ${problem}.`)
}

/**
 * Checks a proof file with the log's public key and, if given, a checkpoint that was kept earlier. Returns its content: the root is Base64,
 * and `continues` the size of the checkpoint that the log continues, or null if the proof has none.
 * @throws VerificationError with the reason
 */
export function checkProof(text: string, log: NoteVerifier, kept?: string) {
  const proof = parseProof(text)
  const checkpoint = openCheckpoint(proof.checkpoint, log)
  const older = proof.older && openCheckpoint(proof.older.checkpoint, log)
  if (older && !verifyConsistency(older, checkpoint, hashesIn(proof.older!.proof))) {
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

function checkEvent(
  { index, leaf, proof }: TransferProof['events'][number],
  { trackingId }: TransferProof,
  { size, root }: OpenedCheckpoint,
) {
  if (!verifyInclusion(leafHash(Buffer.from(leaf)), index, size, root, hashesIn(proof)))
    throw new VerificationError(`Leaf ${index} is not in the tree of the checkpoint.`)
  // A leaf in the tree has the form that the service stored.
  const { stream, revision, type, recordedAtMs } = JSON.parse(leaf) as RecordedEvent
  if (stream !== transferStream(trackingId))
    throw new VerificationError(`Leaf ${index} is not an event of transfer ${trackingId}.`)
  return { index, revision, type, recordedAt: new Date(recordedAtMs).toISOString() }
}

function requireNoGap(events: readonly ReturnType<typeof checkEvent>[]): void {
  if (events.length === 0) throw new VerificationError('The proof has no event.')
  for (const [place, { index, revision }] of events.entries()) {
    const previous = events[place - 1]
    if (previous && (revision !== previous.revision + 1 || index <= previous.index))
      throw new VerificationError(`Event ${revision} does not follow event ${previous.revision}.`)
  }
}
