import {
  type NoteVerifier,
  type OpenedCheckpoint,
  openCheckpoint,
  type TileStore,
  TreeAppender,
  tileWidth,
  VerificationError,
} from '@transferd/transparency-log'
import { type Finding, forgedProblem } from '../../domain/integrity.js'
import { StoreUnavailableError, unparsedPages } from '../../event-store/event-store.js'
import { leavesOf } from './event-leaf.js'
import type { VerificationStatus } from './integrity-status.js'
import { checkMetadata, checkStreams, Findings, isForged, LogComparison } from './log-comparison.js'
import {
  checkpointPath,
  contains,
  positionAfter,
  readTree,
  signedCheckpoint,
  type TreeParts,
  treeBundles,
} from './log-sealer.js'

/** Creates a tile store that compares the files that a tree should have with the stored files, instead of writing them. */
function comparingTiles(tiles: TileStore, findings: Findings): TileStore {
  return {
    read: (path) => tiles.read(path),
    async write(path, bytes) {
      // A full tile starts with its partial tiles, so it replaces them.
      const full = path.replace(/\.p\/\d+$/, '')
      const found = (await tiles.read(path)) ?? (full === path ? undefined : await tiles.read(full))
      if (found === undefined) findings.add('tree', path, 'The file is missing.')
      else if (
        Buffer.compare(found.subarray(0, bytes.length), bytes) !== 0 ||
        (full === path && found.length > bytes.length)
      )
        findings.add('tree', path, 'The file is not the one that was written.')
    },
  }
}

/** An earlier checkpoint that was kept elsewhere. */
export interface KeptCheckpoint {
  /** Where it is kept, human-readable. */
  readonly name: string
  readonly note: string
}

/** The newest tree that the log recorded, with its root in base64. */
export interface RecordedTree {
  readonly size: number
  readonly root: string
}

export interface VerifyOptions extends TreeParts {
  readonly verifier: NoteVerifier
  /** Checkpoints of this log that were kept elsewhere. The log must still have everything that they cover. */
  readonly kept?: readonly KeptCheckpoint[]
  readonly recorded?: RecordedTree | undefined
  /** The verified tree can be smaller than those: it is a snapshot, or another node of the log has sealed it. */
  readonly mayLag?: boolean
  /** The first leaf to verify. Defaults to 0. */
  readonly from?: number
  /** Returns the problems of the database file, as sentences. Omitted on a server. */
  readonly checkFile?: () => readonly string[] | Promise<readonly string[]>
  /** Stops the verification between two pages. */
  readonly signal?: AbortSignal
  readonly onProgress?: (verified: number, treeSize: number, findings: readonly Finding[]) => void
  /** Awaited after each page. */
  readonly pause?: () => Promise<void>
}

/** The progress of a verification, or its result. */
export interface VerificationStep {
  /** The number of verified leaves, from the first leaf of the tree; at a start, from the first leaf that is verified then. */
  readonly verified: number
  readonly treeSize: number
  /** The first hundred findings since the verification started or continued. */
  readonly findings: readonly Finding[]
  readonly count: number
}

interface VerificationTask extends Required<Pick<VerifyOptions, 'verifier' | 'kept' | 'from' | 'mayLag'>> {
  readonly recorded: RecordedTree | undefined
  readonly occasion: VerificationStatus['occasion']
  /** The time between two steps. */
  readonly stepMs: number
}

/** Verifies the log and calls `onStep` with its progress. Resolves with `undefined` if the signal aborts. @throws if it cannot be determined */
export type RunVerification = (
  task: VerificationTask,
  onStep: (step: VerificationStep) => void,
  signal: AbortSignal,
) => Promise<VerificationStep | undefined>

export type Verification = Awaited<ReturnType<typeof verifySealedLog>>

/**
 * Verifies that the log matches its tree and signature, and that each stream matches the log. The result has the checkpoint, or `undefined`
 * without a valid one; the compared leaves `from` (inclusive) `to` (exclusive); the number of events that no checkpoint covers yet; the
 * recording time of the last compared leaf; and the first hundred findings with the `count` of all. It is incomplete if the signal aborted.
 * @throws StoreUnavailableError if this cannot be determined
 */
export async function verifySealedLog(options: VerifyOptions) {
  const findings = new Findings()
  const nothing = { from: 0, to: 0, unsealed: 0, lastEventAt: null as string | null, isComplete: true }
  const result = (compared: typeof nothing, checkpoint: Awaited<ReturnType<typeof newestCheckpoint>>) => ({
    ...compared,
    checkpoint,
    findings: findings.list as readonly Finding[],
    count: findings.count,
  })
  for (const problem of (await options.checkFile?.()) ?? []) findings.add('file', 'events.db', problem)
  const checkpoint = await newestCheckpoint(options, findings)
  if (!checkpoint) return result(nothing, undefined)
  try {
    await compareKept(options, checkpoint, findings)
    if (options.recorded) await compareRecorded(options, checkpoint, options.recorded, findings)
    return result(await compareLog(options, checkpoint, findings), checkpoint)
  } catch (error) {
    // An unreadable database is a finding if its file is damaged. An unavailable one is not.
    if (!(error instanceof StoreUnavailableError) || findings.count === 0) throw error
    findings.add('file', 'events.db', `The log cannot be read: ${error.message}.`)
    return result({ ...nothing, isComplete: false }, checkpoint)
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

/** Compares the tree with kept checkpoints. They reveal a log that was cut back, even if it was signed again with the same key. */
export async function compareKept(
  { tiles, verifier, kept = [], mayLag = false }: Pick<VerifyOptions, 'tiles' | 'verifier' | 'kept' | 'mayLag'>,
  { size, root }: OpenedCheckpoint,
  findings: Findings,
): Promise<void> {
  for (const { name, note } of kept) {
    try {
      const older = openCheckpoint(note, verifier)
      if (older.size > size ? mayLag : await contains(tiles, { size, root }, older)) continue
      // The same text for a log that is shorter and for one that has grown since, because a decision to resume payouts covers equal findings.
      const problem = `The checkpoint covers ${older.size} events that the log does not have: it was cut back, or an earlier state was restored.`
      findings.add('checkpoint', name, problem)
    } catch (error) {
      findings.add('checkpoint', name, sentence(error))
    }
  }
}

/** Compares the tree with the newest one that the log recorded. It reveals a tree that was created again over an edited log. */
async function compareRecorded(
  { tiles, mayLag }: Pick<VerifyOptions, 'tiles' | 'mayLag'>,
  checkpoint: OpenedCheckpoint,
  { size, root }: RecordedTree,
  findings: Findings,
): Promise<void> {
  if (size > checkpoint.size) {
    if (mayLag) return
    const problem = `The log recorded a tree of ${size} events, but the checkpoint covers ${checkpoint.size}.`
    findings.add('checkpoint', checkpointPath, problem)
  } else if (!(await contains(tiles, checkpoint, { size, root: Buffer.from(root, 'base64') })))
    findings.add(
      'checkpoint',
      checkpointPath,
      `The tree does not contain the ${size} events that the log recorded as sealed.`,
    )
}

async function compareLog(options: VerifyOptions, checkpoint: OpenedCheckpoint, findings: Findings) {
  const { store, tiles, signal, onProgress, pause } = options
  const { size, root } = checkpoint
  const { tree, after, from } = await openStart(options, size, findings)
  const comparison = new LogComparison({ store, findings, from, root, tree: readTree(tiles, size) })
  let unsealed = 0
  let lastRecordedAtMs: number | undefined
  const lastEventAt = () => (lastRecordedAtMs === undefined ? null : new Date(lastRecordedAtMs).toISOString())
  for await (const { events, through, atEnd } of unparsedPages(store, after)) {
    const leaves = leavesOf(events)
    for (const [place, event] of events.entries()) {
      if (await comparison.take(event, leaves.hashes[place]!, leaves.names[place]!)) {
        lastRecordedAtMs = event.recordedAtMs
        continue
      }
      unsealed++
      if (isForged(event)) findings.add('log', `${event.stream}@${event.revision}`, forgedProblem)
    }
    if (through) await checkStreams(store, events, through, findings)
    await comparison.extend(tree)
    onProgress?.(comparison.index, size, findings.list)
    if (signal?.aborted) return { from, to: comparison.index, unsealed, lastEventAt: lastEventAt(), isComplete: false }
    if (!atEnd) await pause?.()
  }
  await checkMetadata(store, after, findings)
  await comparison.end()
  await comparison.extend(tree)
  await tree.flush()
  if (!tree.root().equals(root))
    findings.add('checkpoint', checkpointPath, 'The checkpoint belongs to a different tree than these leaves.')
  return { from, to: comparison.index, unsealed, lastEventAt: lastEventAt(), isComplete: true }
}

/** Starts at the bundle with leaf `from`, or at the first leaf if the tree or the log does not allow that. */
async function openStart({ store, tiles, from = 0 }: VerifyOptions, size: number, findings: Findings) {
  const comparing = comparingTiles(tiles, findings)
  const first = Math.floor(Math.min(from, size) / tileWidth) * tileWidth
  try {
    const after = await positionAfter({ store, tiles }, first)
    return { tree: await TreeAppender.open(comparing, first, { within: size, ...treeBundles }), after, from: first }
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    findings.add('tree', `leaf ${first}`, sentence(error))
    return { tree: await TreeAppender.open(comparing, 0, treeBundles), after: undefined, from: 0 }
  }
}

function sentence(error: unknown): string {
  if (!(error instanceof VerificationError)) throw error
  return `${error.message[0]?.toUpperCase()}${error.message.slice(1)}.`
}
