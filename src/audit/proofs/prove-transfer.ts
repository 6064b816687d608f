import {
  type NoteVerifier,
  openCheckpoint,
  type TileStore,
  TreeReader,
  VerificationError,
} from '@transferd/transparency-log'
import { transferStream } from '../../domain/streams.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { leafOf } from '../integrity/event-leaf.js'
import { checkProof } from './check-proof.js'
import { findLeafIndex } from './leaf-index.js'
import { formatProof, type ProvenEvent, type TransferProof } from './proof-file.js'

/** A log and its tree. */
export interface SealedLog {
  /** The log as stored. */
  readonly log: EventStore
  readonly tiles: TileStore
  readonly key: NoteVerifier
}

interface CreatedProof {
  /** The text of the proof file, which was checked. */
  readonly proof: string
  /** The number of events in the proof. */
  readonly events: number
  readonly treeSize: number
  /** The number of the transfer's events that are newer than the checkpoint, and therefore not in the proof. */
  readonly notSealed: number
}

/** A proof file, or the reason for its absence. */
export type ProofOutcome =
  | { readonly outcome: 'made'; readonly proof: string }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'not-sealed' }
  | { readonly outcome: 'unverified'; readonly reason: string }

/** The events are newer than the checkpoint. The next checkpoint will cover them. */
export class NotSealedYet extends Error {
  override readonly name = 'NotSealedYet'
}

/**
 * Proves that all events of a transfer, or the one of `revision`, are in the log. Returns `undefined` if it has none. `older`
 * is a checkpoint that was kept earlier. @throws NotSealedYet; VerificationError if log, tree and checkpoints do not match
 */
export async function proveTransfer(
  { log, tiles, key }: SealedLog,
  trackingId: string,
  { revision, older }: { readonly revision?: number | undefined; readonly older?: string | undefined } = {},
): Promise<CreatedProof | undefined> {
  const stream = await log.readStream(transferStream(trackingId))
  const events = revision === undefined ? stream : stream.filter((event) => event.revision === revision)
  if (events.length === 0) return undefined
  const signed = await tiles.read('checkpoint')
  if (signed === undefined) throw new NotSealedYet('There is no checkpoint yet.')
  const checkpoint = Buffer.from(signed).toString('utf8')
  const tree = new TreeReader(tiles, openCheckpoint(checkpoint, key).size)
  const proven = await proveEvents(events, tree, log)
  if (proven.length === 0)
    throw new NotSealedYet('No checkpoint covers this transfer yet: the next one is signed within a minute.')
  const sinceOlder = older === undefined ? {} : { older: await continuation(older, tree, key) }
  const proof = formatProof({ trackingId, checkpoint, events: proven, ...sinceOlder })
  checkProof(proof, key, older)
  return { proof, events: proven.length, treeSize: tree.size, notSealed: events.length - proven.length }
}

async function proveEvents(
  events: readonly RecordedEvent[],
  tree: TreeReader,
  log: EventStore,
): Promise<ProvenEvent[]> {
  const proven: ProvenEvent[] = []
  for (const event of events) {
    const index = await findLeafIndex(tree, log, event)
    if (index === undefined) break
    const leaf = await tree.leaf(index)
    if (!leaf.equals(leafOf(event))) {
      const place = `${event.stream}@${event.revision}`
      throw new VerificationError(
        `${place} differs from the event sealed as leaf ${index} (run transferd audit verify)`,
      )
    }
    proven.push({ index, leaf: leaf.toString('utf8'), proof: await tree.inclusionProof(index) })
  }
  return proven
}

async function continuation(
  checkpoint: string,
  tree: TreeReader,
  key: NoteVerifier,
): Promise<NonNullable<TransferProof['older']>> {
  const { size } = openCheckpoint(checkpoint, key)
  if (size > tree.size) {
    throw new VerificationError(
      `The log was cut back: the given checkpoint covers ${size} leaves, but the newest one only ${tree.size}.`,
    )
  }
  return { checkpoint, proof: await tree.consistencyProof(size) }
}
