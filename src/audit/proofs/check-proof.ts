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

/** Shows that a transfer's events are in the log of a checkpoint. docs/auditing/proofs.md describes every field. */
export interface TransferProof {
  readonly trackingId: string
  /** A signed note. */
  readonly checkpoint: string
  readonly events: readonly ProvenEvent[]
  /** The earlier checkpoint that the log continues, with a consistency proof. */
  readonly older?: { readonly checkpoint: string; readonly proof: readonly Hash[] }
}

export interface ProvenEvent {
  /** The index of the leaf in the tree, from 0. */
  readonly index: number
  /** The leaf itself: canonical JSON. */
  readonly leaf: string
  readonly proof: readonly Hash[]
}

const format = 'transferd-proof/1'

/** Returns the file, indented for readers and in a single possible form. */
export function formatProof({ trackingId, checkpoint, events, older }: TransferProof): string {
  const file = {
    format,
    trackingId,
    checkpoint,
    events: events.map(({ index, leaf, proof }) => ({ index, leaf, proof: proof.map(base64) })),
    ...(older && { older: { checkpoint: older.checkpoint, proof: older.proof.map(base64) } }),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/**
 * Parses a file in exactly the form of `formatProof`. A repeated or unknown name could be read differently by different programs.
 * @throws VerificationError
 */
export function parseProof(text: string): TransferProof {
  const file = object(parsedJson(text))
  if (file.format !== format) throw malformed(`it is not a ${format}`)
  const proof: TransferProof = {
    trackingId: string(file.trackingId),
    checkpoint: string(file.checkpoint),
    events: list(file.events).map(eventOf),
    ...(file.older !== undefined && { older: olderOf(object(file.older)) }),
  }
  if (formatProof(proof) !== text) throw malformed('its bytes differ from the form that transferd writes')
  return proof
}

function eventOf(value: unknown): ProvenEvent {
  const { index, leaf, proof } = object(value)
  if (!Number.isSafeInteger(index)) throw malformed('an index is not a whole number')
  return { index: index as number, leaf: string(leaf), proof: hashes(proof) }
}

function olderOf({ checkpoint, proof }: Fields): NonNullable<TransferProof['older']> {
  return { checkpoint: string(checkpoint), proof: hashes(proof) }
}

type Fields = { readonly [name: string]: unknown }

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('it is not JSON')
  }
}

function object(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('an object is missing')
  return value as Fields
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed('a list is missing')
  return value
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw malformed('a string is missing')
  return value
}

function hashes(value: unknown): Hash[] {
  return list(value).map((each) => {
    const hash = fromBase64(string(each))
    if (hash?.length !== hashBytes) throw malformed('a hash is not 32 bytes of Base64')
    return hash
  })
}

function base64(hash: Hash): string {
  return hash.toString('base64')
}

function malformed(problem: string): VerificationError {
  return new VerificationError(`The proof is malformed: ${problem}.`)
}

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
