import {
  leafHash,
  type NoteVerifier,
  type OpenedCheckpoint,
  openCheckpoint,
  readBundle,
  type TileStore,
  TreeAppender,
  TreeReader,
  tileWidth,
  VerificationError,
  verifyConsistency,
  widthOf,
} from '@transferd/transparency-log'
import type { Finding } from '../../domain/integrity/integrity.js'
import { type Position, StoreUnavailableError } from '../../event-store/event-store.js'
import { ComparingTiles } from './comparing-tiles.js'
import { Findings } from './findings.js'
import { LogComparison } from './log-comparison.js'
import { checkpointPath, signedCheckpoint, type TreeParts } from './sealer.js'
import { placeBehind, storedPages } from './stored-log.js'
import { checkStreams } from './stream-check.js'

/** Somebody kept it when it was the newest. */
export interface KeptCheckpoint {
  /** Where it is, for people. */
  readonly name: string
  readonly note: string
}

export interface VerifyOptions extends TreeParts {
  readonly verifier: NoteVerifier
  /** Checkpoints of this log from elsewhere: it must have all that was in it then. */
  readonly kept?: readonly KeptCheckpoint[]
  /** Leaves before are not looked at again: the whole is verified when absent. */
  readonly from?: number
  /** What is wrong with the database itself, as sentences; absent on a server. */
  readonly checkFile?: () => readonly string[] | Promise<readonly string[]>
  /** Stops between two pages. */
  readonly signal?: AbortSignal
  readonly onProgress?: (verified: number, treeSize: number) => void
  /** Awaited after each page. */
  readonly pause?: () => Promise<void>
}

export interface Verification {
  /** Undefined where there is none that can be believed. */
  readonly checkpoint: OpenedCheckpoint | undefined
  /** The leaves from here on were compared. */
  readonly from: number
  /** The leaves before here were. */
  readonly to: number
  /** Events behind the tree, so far: they are sealed by the next checkpoint. */
  readonly unsealed: number
  /** The first hundred. */
  readonly findings: readonly Finding[]
  readonly count: number
  /** False when the signal aborted. */
  readonly isComplete: boolean
}

/**
 * Whether the log, its tree and the signature belong together, and each stream reads as the log has it. @throws StoreUnavailableError where
 * that cannot be said
 */
export async function verify(options: VerifyOptions): Promise<Verification> {
  const findings = new Findings()
  const nothing = { from: 0, to: 0, unsealed: 0, isComplete: true }
  const answer = (found: Partial<Verification>, checkpoint: OpenedCheckpoint | undefined): Verification => {
    return { ...nothing, ...found, checkpoint, findings: findings.list, count: findings.count }
  }
  for (const problem of (await options.checkFile?.()) ?? []) findings.add('file', 'events.db', problem)
  const checkpoint = await newestCheckpoint(options, findings)
  if (!checkpoint) return answer({}, undefined)
  try {
    await compareKept(options, checkpoint, findings)
    return answer(await walk(options, checkpoint, findings), checkpoint)
  } catch (error) {
    // A database that is damaged cannot be read, which is a finding; one that is away is none.
    if (!(error instanceof StoreUnavailableError) || findings.count === 0) throw error
    findings.add('file', 'events.db', `The log cannot be read: ${error.message}.`)
    return answer({ isComplete: false }, checkpoint)
  }
}

async function newestCheckpoint({ tiles, verifier }: VerifyOptions, findings: Findings) {
  try {
    const checkpoint = await signedCheckpoint(tiles, verifier)
    if (!checkpoint) findings.add('checkpoint', checkpointPath, 'There is no checkpoint, so nothing can be verified.')
    return checkpoint
  } catch (error) {
    findings.add('checkpoint', checkpointPath, sentence(error))
    return undefined
  }
}

/** Whoever kept a checkpoint finds out a log that was cut back, even one signed anew with the same key. */
export async function compareKept(
  { tiles, verifier, kept = [] }: Pick<VerifyOptions, 'tiles' | 'verifier' | 'kept'>,
  { size, root }: OpenedCheckpoint,
  findings: Findings,
): Promise<void> {
  for (const { name, note } of kept) {
    try {
      const older = openCheckpoint(note, verifier)
      if (older.size > size) {
        findings.add('checkpoint', name, `It is of ${older.size} leaves, the tree has ${size}: the log was cut back.`)
        continue
      }
      const proof = await new TreeReader(tiles, size).consistencyProof(older.size)
      if (!verifyConsistency(older, { size, root }, proof)) {
        findings.add('checkpoint', name, `The tree is not one that the first ${older.size} leaves have grown into.`)
      }
    } catch (error) {
      findings.add('checkpoint', name, sentence(error))
    }
  }
}

async function walk(options: VerifyOptions, checkpoint: OpenedCheckpoint, findings: Findings) {
  const { store, signal, onProgress, pause } = options
  const { size, root } = checkpoint
  const start = await startOf(options, size, findings)
  const { tree, after, from } = start
  const leaves: Uint8Array[] = []
  const comparison = new LogComparison({
    ...{ store, findings, from },
    leaves: sealedLeaves(options.tiles, from, size),
    isSealed: (leaf, index) => isSealed(options.tiles, size, leaf, index),
    onLeaf: (leaf) => leaves.push(leaf),
  })
  let unsealed = 0
  let isDone = false
  for await (const { events, through, atEnd } of storedPages(store, after)) {
    for (const event of events) {
      if (isDone || !(await comparison.take(event))) unsealed++
    }
    isDone ||= await comparison.isDone()
    if (through) await checkStreams(store, events, through, findings)
    await tree.append(leaves.splice(0))
    onProgress?.(comparison.index, size)
    if (signal?.aborted) return { from, to: comparison.index, unsealed, isComplete: false }
    if (!atEnd) await pause?.()
  }
  await comparison.end()
  await tree.append(leaves.splice(0))
  await tree.flush()
  if (!tree.root().equals(root)) {
    findings.add('checkpoint', checkpointPath, 'The checkpoint is of another tree than these leaves make.')
  }
  return { from, to: comparison.index, unsealed, isComplete: true }
}

interface Start {
  readonly tree: TreeAppender
  readonly after: Position | undefined
  readonly from: number
}

/** At the beginning of a bundle; where the tree or the log does not allow that, at the very beginning. */
async function startOf({ store, tiles, from = 0 }: VerifyOptions, size: number, findings: Findings): Promise<Start> {
  const comparing = new ComparingTiles(tiles, findings)
  const first = Math.floor(Math.min(from, size) / tileWidth) * tileWidth
  try {
    const after = await placeBehind({ store, tiles }, first)
    return { tree: await TreeAppender.open(comparing, first, size), after, from: first }
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    findings.add('tree', `leaf ${first}`, sentence(error))
    return { tree: await TreeAppender.open(comparing, 0), after: undefined, from: 0 }
  }
}

/** Undefined for each leaf whose file is damaged: it is told when the file is compared. */
async function* sealedLeaves(tiles: TileStore, from: number, size: number) {
  for (let bundle = from / tileWidth; bundle * tileWidth < size; bundle++) {
    try {
      yield* await readBundle(tiles, bundle, size)
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      for (let place = 0; place < widthOf('entries', bundle, size); place++) yield undefined
    }
  }
}

/** The hashes have their own files: of a leaf and an event that differ they say which of the two was changed. */
async function isSealed(tiles: TileStore, size: number, leaf: Uint8Array, index: number): Promise<boolean> {
  try {
    return (await new TreeReader(tiles, size).leafHash(index)).equals(leafHash(leaf))
  } catch (error) {
    if (error instanceof VerificationError) return false
    throw error
  }
}

function sentence(error: unknown): string {
  if (!(error instanceof VerificationError)) throw error
  return `${error.message[0]?.toUpperCase()}${error.message.slice(1)}.`
}
