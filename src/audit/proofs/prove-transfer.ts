import {
  type NoteVerifier,
  openCheckpoint,
  type TileStore,
  TreeReader,
  VerificationError,
} from '@transferd/transparency-log'
import { transferStream } from '../../domain/streams.js'
import { comparePositions, type EventStore, eventAt, type RecordedEvent } from '../../event-store/event-store.js'
import { leafOf, placeInLeaf } from '../integrity/event-leaf.js'
import { checkProof, formatProof, type TransferProof } from './check-proof.js'

/**
 * Returns the index of an event's leaf, or `undefined` if the event is newer than the tree. Leaves are in the log's order, so a binary
 * search reads some twenty leaves. @throws VerificationError if the event should be in the tree and is not
 */
async function findLeafIndex(tree: TreeReader, log: EventStore, event: RecordedEvent): Promise<number | undefined> {
  let [low, high] = [0, tree.size]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await firstPosition(tree, log, middle, high)
    if (found === undefined || comparePositions(found.position, event.position) > 0) high = middle
    else low = found.index + 1
  }
  const index = low - 1
  const place = index < 0 ? undefined : placeInLeaf(await tree.leaf(index))
  if (place?.stream === event.stream && place.revision === event.revision) return index
  if (low === tree.size) return undefined
  throw new VerificationError(
    `${event.stream}@${event.revision} is not in its place in the tree (run transferd audit verify)`,
  )
}

/** Returns the position of the first leaf in this range that the log still has. A stream of another program may have been deleted. */
async function firstPosition(tree: TreeReader, log: EventStore, from: number, to: number) {
  for (let index = from; index < to; index++) {
    const place = placeInLeaf(await tree.leaf(index))
    const event = place && (await eventAt(log, place))
    if (event) return { index, position: event.position }
  }
  return undefined
}

export interface SealedLog {
  /** The log as stored. */
  readonly log: EventStore
  readonly tiles: TileStore
  readonly key: NoteVerifier
}

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
 * Proves that all events of a transfer, or the one of `revision`, are in the log. `older` is a checkpoint that was kept earlier. Returns the
 * text of the checked proof file, the number of events in the proof, and the number of events that are newer than the checkpoint and
 * therefore not in the proof; or `undefined` if the transfer has no such event.
 * @throws NotSealedYet; VerificationError if log, tree and checkpoints do not match
 */
export async function proveTransfer(
  { log, tiles, key }: SealedLog,
  trackingId: string,
  { revision, older }: { readonly revision?: number | undefined; readonly older?: string | undefined } = {},
) {
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

async function proveEvents(events: readonly RecordedEvent[], tree: TreeReader, log: EventStore) {
  const proven: TransferProof['events'] = []
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
    proven.push({ index, leaf: leaf.toString('utf8'), proof: base64(await tree.inclusionProof(index)) })
  }
  return proven
}

async function continuation(checkpoint: string, tree: TreeReader, key: NoteVerifier) {
  const { size } = openCheckpoint(checkpoint, key)
  if (size > tree.size) {
    throw new VerificationError(
      `The log was cut back: the given checkpoint covers ${size} leaves, but the newest one only ${tree.size}.`,
    )
  }
  return { checkpoint, proof: base64(await tree.consistencyProof(size)) }
}

function base64(hashes: readonly Buffer[]): string[] {
  return hashes.map((hash) => hash.toString('base64'))
}
