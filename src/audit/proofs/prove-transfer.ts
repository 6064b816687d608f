import {
  type NoteVerifier,
  openCheckpoint,
  type TileStore,
  TreeReader,
  VerificationError,
} from '@transferd/transparency-log'
import { transferStream } from '../../domain/streams.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { leafOf } from '../integrity/leaf.js'
import { checkProof } from './check-proof.js'
import { LeafIndex } from './leaf-index.js'
import { formatProof, type ProvenEvent, type TransferProof } from './proof-file.js'

/** A log and the tree over it. */
export interface SealedLog {
  /** As it is stored. */
  readonly log: EventStore
  readonly tiles: TileStore
  readonly key: NoteVerifier
}

export interface MadeProof {
  /** The file, which holds. */
  readonly proof: string
  /** How many events it shows, and in a tree of how many leaves. */
  readonly events: number
  readonly treeSize: number
  /** How many events of the transfer are newer than the checkpoint and not in the proof. */
  readonly notSealed: number
}

/** Nothing is wrong: the next checkpoint will have it. */
export class NotSealedYet extends Error {
  override readonly name = 'NotSealedYet'
}

/**
 * Every event of a transfer, or the one of that revision, with all that shows that it is in the log; undefined where there is none.
 * `older` is a checkpoint that somebody has kept. @throws NotSealedYet; VerificationError when log, tree and checkpoints do not agree.
 */
export async function proveTransfer(
  { log, tiles, key }: SealedLog,
  trackingId: string,
  { revision, older }: { readonly revision?: number | undefined; readonly older?: string | undefined } = {},
): Promise<MadeProof | undefined> {
  const stream = await log.readStream(transferStream(trackingId))
  const events = revision === undefined ? stream : stream.filter((event) => event.revision === revision)
  if (events.length === 0) return undefined
  const signed = await tiles.read('checkpoint')
  if (signed === undefined) throw new NotSealedYet('There is no checkpoint yet.')
  const checkpoint = Buffer.from(signed).toString('utf8')
  const tree = new TreeReader(tiles, openCheckpoint(checkpoint, key).size)
  const proven = await provenEvents(events, tree, log)
  if (proven.length === 0)
    throw new NotSealedYet('No checkpoint has this transfer yet: the next one is at most a minute away.')
  const made: TransferProof = { trackingId, checkpoint, events: proven }
  const proof = formatProof(older === undefined ? made : { ...made, older: await continuation(older, tree, key) })
  checkProof(proof, key, older)
  return { proof, events: proven.length, treeSize: tree.size, notSealed: events.length - proven.length }
}

async function provenEvents(
  events: readonly RecordedEvent[],
  tree: TreeReader,
  log: EventStore,
): Promise<ProvenEvent[]> {
  const leaves = new LeafIndex(tree, log)
  const proven: ProvenEvent[] = []
  for (const event of events) {
    const index = await leaves.indexOf(event)
    if (index === undefined) break
    const leaf = await tree.leaf(index)
    if (!leaf.equals(leafOf(event))) {
      throw new VerificationError(
        `${event.stream}@${event.revision} is not what was sealed as leaf ${index}: transferd audit verify`,
      )
    }
    proven.push({ index, leaf: leaf.toString('utf8'), proof: await tree.inclusionProof(index) })
  }
  return proven
}

async function continuation(
  kept: string,
  tree: TreeReader,
  key: NoteVerifier,
): Promise<NonNullable<TransferProof['older']>> {
  const { size } = openCheckpoint(kept, key)
  if (size > tree.size) {
    throw new VerificationError(
      `The log was cut back: the checkpoint given has ${size} leaves, the newest of the log ${tree.size}.`,
    )
  }
  return { checkpoint: kept, proof: await tree.consistencyProof(size) }
}
