import {
  fromBase64,
  type Hash,
  hashBytes,
  leafHash,
  type NoteVerifier,
  type OpenedCheckpoint,
  openCheckpoint,
  type TileStore,
  type TreeHead,
  type TreeReader,
  VerificationError,
  verifyConsistency,
  verifyInclusion,
} from '@transferd/transparency-log'
import { transferStream } from '../../domain/streams.js'
import { comparePositions, type EventStore, eventAt, type RecordedEvent } from '../../event-store/event-store.js'
import { type Static, Type, Value } from '../../kernel/typebox.js'
import { leafOf, placeIn } from '../integrity/event-leaf.js'
import { readTree } from '../integrity/log-sealer.js'

const format = 'transferd-proof/2'

/** Base64 of 32 bytes each. */
const Hashes = Type.Array(Type.String())

/** Shows that a transfer's events are in the log of a checkpoint. docs/auditing/proofs.md describes every field. */
const TransferProof = Type.Object({
  trackingId: Type.String(),
  /** A signed note. */
  checkpoint: Type.String(),
  /** The index of each leaf in the tree, from 0, and the leaf itself, which is a JSON array. */
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
function formatProof({ trackingId, checkpoint, events, older }: TransferProof): string {
  const file = {
    format,
    trackingId,
    checkpoint,
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

export function hashesIn(proof: readonly string[]): Hash[] {
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
  if (!verifyInclusion(leafHash(leaf), index, size, root, hashesIn(proof)))
    throw new VerificationError(`Leaf ${index} is not in the tree of the checkpoint.`)
  // A leaf in the tree has the form that the service stored, but a holder of its keys can have sealed any text.
  const parsed = JSON.parse(leaf)
  if (JSON.stringify(parsed) !== leaf)
    throw new VerificationError(
      `Leaf ${index} has white space or a repeated name, which programs can read differently.`,
    )
  const [form, stream, revision, recordedAtMs, content] = parsed
  if (stream !== transferStream(trackingId))
    throw new VerificationError(`Leaf ${index} is not an event of transfer ${trackingId}.`)
  const type: string = Array.isArray(content) ? content[1] : form
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

/**
 * Returns the index of an event's leaf, which is at least `from`, or `undefined` if the event is newer than the tree. Leaves are in the log's order, so a binary
 * search reads some twenty leaves. @throws VerificationError if the event should be in the tree and is not
 */
async function findLeafIndex(
  tree: TreeReader,
  log: EventStore,
  event: RecordedEvent,
  from: number,
): Promise<number | undefined> {
  let [low, high] = [from, tree.size]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await firstPosition(tree, log, middle, high)
    if (found === undefined || comparePositions(found.position, event.position) > 0) high = middle
    else low = found.index + 1
  }
  const index = low - 1
  const place = index < 0 ? undefined : placeIn(await tree.entry(index))
  if (place?.stream === event.stream && place.revision === event.revision) return index
  if (low === tree.size) return undefined
  throw new VerificationError(
    `${event.stream}@${event.revision} is not in its place in the tree (run transferd audit verify)`,
  )
}

/** Returns the position of the first leaf in this range that the log still has. A stream of another program may have been deleted. */
async function firstPosition(tree: TreeReader, log: EventStore, from: number, to: number) {
  for (let index = from; index < to; index++) {
    const place = placeIn(await tree.entry(index))
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
  const tree = readTree(tiles, openCheckpoint(checkpoint, key).size)
  const proven = await proveEvents(events, tree, log)
  if (proven.length === 0)
    throw new NotSealedYet('No checkpoint covers this transfer yet: the next one is signed within a minute.')
  const sinceOlder = older === undefined ? {} : { older: await continuation(older, tree, key) }
  const proof = formatProof({ trackingId, checkpoint, events: proven, ...sinceOlder })
  checkProof(proof, key, older)
  return { proof, events: proven.length, treeSize: tree.size, notSealed: events.length - proven.length }
}

/**
 * Proves events in the order of the log, without those that are newer than the tree.
 * @throws VerificationError if log and tree do not match
 */
export async function proveEvents(events: readonly RecordedEvent[], tree: TreeReader, log: EventStore) {
  const proven: TransferProof['events'] = []
  for (const event of events) {
    const index = await findLeafIndex(tree, log, event, (proven.at(-1)?.index ?? -1) + 1)
    if (index === undefined) break
    const leaf = leafOf(event)
    if (!leafHash(leaf).equals(await tree.leafHash(index))) {
      const place = `${event.stream}@${event.revision}`
      throw new VerificationError(`${place} and leaf ${index} of the tree do not match (run transferd audit verify)`)
    }
    proven.push({ index, leaf, proof: base64(await tree.inclusionProof(index)) })
  }
  return proven
}

/** Proves that the log continues a checkpoint. @throws VerificationError */
export async function continuation(checkpoint: string, tree: TreeReader, key: NoteVerifier) {
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
