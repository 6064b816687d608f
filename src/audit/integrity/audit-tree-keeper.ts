import { formatVerifier, type NoteSigner, openCheckpoint, VerificationError } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import { type IntegrityCommands, integrityContext } from '../../commands/integrity/integrity-commands.js'
import type { AuditTree } from '../../domain/audit-tree.js'
import { type Finding, maxFindings } from '../../domain/integrity.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import { type Clock, dayMs } from '../../kernel/time.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../../subscriptions/retry.js'
import { type Part, startUnderLease } from '../../subscriptions/under-lease.js'
import { openTree, type TreeOpening } from './audit-tree-opening.js'
import { CheckpointPublisher, type PublisherOptions } from './checkpoint-publisher.js'
import {
  integrityStatus,
  type Round,
  savedRound,
  saveIntegrityStatus,
  saveRound,
  type VerificationStatus,
  verificationRequestedAt,
} from './integrity-status.js'
import { type CheckpointStore, KeptCheckpoints, type RememberedCheckpoints } from './kept-checkpoints.js'
import { LogSealer, type RequiredHead, signedCheckpoint } from './log-sealer.js'
import type { RunVerification, VerificationStep } from './log-verification.js'

const leaseName = 'audit-tree'
/** The pause between two pages of the log, so that the thread's other work comes first. */
const pagePauseMs = 5
/** The time that a stop grants for sealing the newest events. */
const lastFollowMs = 3_000
/** The number of newest leaves that a start verifies: those that were written last before the stop. */
const newestLeaves = 2_000
/** An older verification starts again, so that saved progress cannot spare a part of the log from verification for long. */
const maxRoundMs = dayMs
const maxVerifications = 10
/** The number of new events after which the log records the newest checkpoint. It also does at a stop. */
const recordEvery = 5_000

/** The intervals of sealing and verification. Tests pass shorter ones. */
const defaultTiming = {
  /** How often new events and requests to verify are read. */
  pollMs: 2_000,
  /** The shortest time between two checkpoints. */
  sealMs: 60_000,
  /** The pause after a failure. */
  retryMs: 10_000,
  /** How often the progress of a verification is saved, and its findings are recorded. */
  progressMs: 2_000,
  /** The time between two verifications at rest. */
  restMs: 3_600_000,
}

interface TreeKeeperOptions extends TreeOpening, PublisherOptions {
  readonly readModels: ReadModels
  readonly commands: IntegrityCommands
  readonly logger: Logger
  readonly clock: Clock
  readonly metrics: { setTreeSize(treeSize: number): void; setFindings(count: number): void }
  readonly timing?: Partial<typeof defaultTiming>
  /** Saves the key once the tree has a checkpoint. */
  readonly keepKey: (signer: NoteSigner) => void
  readonly verify: RunVerification
  /** The other stores, which keep the newest checkpoint. */
  readonly checkpointStores: readonly CheckpointStore[]
  /** Authenticates the saved progress of a verification, and what the stores keep. */
  readonly mac: (text: string) => string
  /** Returns the problems of the service's other files. They do not stop payouts, because no decision depends on these files. */
  readonly checkOthers?: (signal: AbortSignal) => Promise<readonly string[]>
}

/** Seals and verifies the log in the process that holds the lease. It works in small steps, so that it never blocks its thread. */
export function startTreeKeeper(options: TreeKeeperOptions): Part {
  return startUnderLease(options, leaseName, async ({ signal }, { onUnavailable }, stopping) => {
    // A tree that a person starts again has another key.
    while (!signal.aborted) {
      const opened = await whileUnavailable(options, signal, () => openTree(options))
      if (opened && 'signer' in opened)
        await new TreeKeeper({ ...options, onUnavailable }, opened, signal, stopping).run()
      else if (opened) await whileUnavailable(options, signal, () => reportMissing(options, opened.finding))
      await pause(options.timing?.pollMs ?? defaultTiming.pollMs, signal)
    }
  })
}

/** Nothing is sealed until a person decides. */
async function reportMissing({ commands, readModels, logger, metrics }: TreeKeeperOptions, finding: Finding) {
  const problem = `The log is not sealed: ${finding.place}: ${finding.problem} (transferd audit restart-tree)`
  metrics.setFindings(1)
  const status = (await integrityStatus(readModels)) ?? { note: null, signedAt: null, verifierKey: null, witnesses: [] }
  const verifications = 'verifications' in status ? status.verifications : []
  await saveIntegrityStatus(readModels, { ...status, verifications, problems: [problem] })
  if ((await commands.report([finding], 0, integrityContext)) > 0)
    logger.error({ findings: finding }, 'payouts are stopped: the tree of the log cannot be used')
}

function whileUnavailable<Result>({ logger }: TreeKeeperOptions, signal: AbortSignal, attempt: () => Promise<Result>) {
  const onUnavailable = (err: Error, failures: number) =>
    logger.warn({ err, failures }, 'the audit tree waits for the stores')
  return retryWhileUnavailable(attempt, { signal, onUnavailable })
}

class TreeKeeper {
  readonly #publisher: CheckpointPublisher
  readonly #timing: typeof defaultTiming
  readonly #signal: AbortSignal
  readonly #replaced = new AbortController()
  readonly #signer: NoteSigner
  readonly #tree: AuditTree
  readonly #kept: KeptCheckpoints
  #sealer: LogSealer | undefined
  #note: string | null = null
  #signedAt: string | null = null
  #verifications: readonly VerificationStatus[] = []
  #sealProblem: string | undefined
  #fileProblems: readonly string[] = []
  #keepingProblems: readonly string[] = []

  /** @param stopping aborts when the service stops, but not when the lease is lost */
  constructor(
    private readonly options: TreeKeeperOptions & Pick<RetryOptions, 'onUnavailable'>,
    { signer, tree }: { readonly signer: NoteSigner; readonly tree: AuditTree },
    signal: AbortSignal,
    private readonly stopping: AbortSignal,
  ) {
    this.#signer = signer
    this.#tree = tree
    this.#kept = new KeptCheckpoints(options.checkpointStores, options.mac)
    this.#signal = AbortSignal.any([signal, this.#replaced.signal])
    this.#publisher = new CheckpointPublisher({ ...options, signer })
    this.#timing = { ...defaultTiming, ...options.timing }
  }

  async run(): Promise<void> {
    const { tiles, readModels } = this.options
    const before = await whileUnavailable(this.options, this.#signal, () => integrityStatus(readModels))
    this.#signedAt = before?.signedAt ?? null
    this.#verifications = before?.verifications ?? []
    const size = (await signedCheckpoint(tiles, this.#signer).catch(() => undefined))?.size ?? 0
    const hasTree = (await tiles.read('checkpoint')) !== undefined
    const newest = {
      occasion: 'start',
      startedAt: this.options.clock(),
      verified: Math.max(0, size - newestLeaves),
    } as const
    const verifyNewest = () => this.#verify(newest, this.#signal)
    if (hasTree) await whileUnavailable(this.options, this.#signal, verifyNewest)
    await Promise.all([this.#keepSealing(), this.#keepVerifying(hasTree)])
    // After a failure, another attempt would only delay the stop.
    if (this.stopping.aborted && this.#sealProblem === undefined) await this.#sealLast()
  }

  async #keepSealing(): Promise<void> {
    const { pollMs, sealMs, retryMs } = this.#timing
    let sealedAtMs = Number.NEGATIVE_INFINITY
    while (!this.#signal.aborted) {
      try {
        if ((await this.options.tree.state())?.treeId !== this.#tree.treeId) return this.#replaced.abort()
        this.#sealer ??= await this.#openSealer()
        const sealer = this.#sealer
        await sealer.follow(() => pause(pagePauseMs, this.#signal), this.#signal)
        if (performance.now() - sealedAtMs >= sealMs && !this.#signal.aborted) {
          sealedAtMs = performance.now()
          await this.#seal(sealer)
          await this.#publish(sealer)
        }
        this.#sealProblem = undefined
        await pause(pollMs, this.#signal)
      } catch (error) {
        this.#sealer = undefined
        await this.#reportSealFailure(error)
        await pause(retryMs, this.#signal)
      }
    }
  }

  async #openSealer(): Promise<LogSealer> {
    const { size, root } = (await this.options.tree.state()) ?? this.#tree
    const required: RequiredHead[] = [{ place: 'the log', size, root: Buffer.from(root, 'base64') }]
    const { kept, problems } = await this.#keptCheckpoints()
    // A store that cannot be read now may have seen more, and sealing would replace its checkpoint.
    if (problems.length > 0) throw new StoreUnavailableError(problems.join(' '))
    for (const { name, note } of kept) required.push({ place: name, ...openKept(name, note, this.#signer) })
    return LogSealer.open(this.options, this.#signer, required)
  }

  /** Reads the checkpoints in the other stores, and reports stores that are older than another one has seen. */
  async #keptCheckpoints(): Promise<RememberedCheckpoints> {
    const remembered = await this.#kept.read(this.#tree)
    await this.#report(remembered.findings, 0)
    return remembered
  }

  async #seal(sealer: LogSealer): Promise<void> {
    const note = await sealer.seal()
    let isNew = false
    if (note !== undefined || this.#note === null) {
      const checkpoint = await signedCheckpoint(this.options.tiles, this.#signer)
      this.#note = checkpoint?.note ?? null
      isNew = true
      // Without new events, a checkpoint from before a loss of the read models covers all of them.
      this.#signedAt = note === undefined ? (this.#signedAt ?? this.options.clock()) : this.options.clock()
    }
    if (this.#note !== null && (isNew || this.#keepingProblems.length > 0))
      this.#keepingProblems = await this.#kept.write(this.#note)
    if (sealer.sealedSize > 0) this.options.keepKey(this.#signer)
    this.options.metrics.setTreeSize(sealer.sealedSize)
    await this.#saveStatus()
    await this.#recordSeal(sealer, recordEvery)
  }

  /** Records the tree and its checkpoints in the log, so that removing the tree is noticed. */
  async #recordSeal(sealer: LogSealer, minEvents: number): Promise<void> {
    const tree = await this.options.tree.state()
    if (!tree || sealer.sealedSize === 0 || (tree.isSealed && sealer.sealedSize - tree.size < minEvents)) return
    const { size, root } = sealer.head()
    const command = { type: 'RecordSeal', treeId: this.#tree.treeId, size, root: root.toString('base64') } as const
    await this.options.tree.execute(command, integrityContext)
  }

  async #publish({ sealedSize }: LogSealer): Promise<void> {
    if (this.#note === null) return
    const { note, findings } = await this.#publisher.publish({ note: this.#note, size: sealedSize })
    this.#note = note
    await this.#report(findings, sealedSize)
    await this.#saveStatus()
  }

  async #reportSealFailure(error: unknown): Promise<void> {
    this.#sealProblem = `The log is not sealed: ${(error as Error).message}.`
    this.options.logger.error({ err: error }, 'the log is not sealed')
    if (!(error instanceof VerificationError)) this.options.onUnavailable(error as Error, 1)
    else {
      const problem = `The tree cannot be extended: ${error.message}.`
      await this.#report([{ kind: 'tree', place: 'checkpoint', leafIndex: null, problem }], 0)
    }
    await this.#saveStatus()
  }

  /** Seals the newest events, so that a stopped service leaves none unsealed. */
  async #sealLast(): Promise<void> {
    try {
      const sealer = this.#sealer ?? (await this.#openSealer())
      const follow = () => sealer.follow(async () => undefined, AbortSignal.timeout(lastFollowMs))
      await follow()
      await this.#seal(sealer)
      // More than the event that recorded the last one.
      await this.#recordSeal(sealer, 2)
      await follow()
      await this.#seal(sealer)
    } catch (error) {
      this.options.logger.warn({ err: error }, 'the newest events stay unsealed until the next start')
    }
  }

  async #keepVerifying(hasTree: boolean): Promise<void> {
    const { clock, readModels, mac, logger } = this.options
    const { pollMs, retryMs, restMs } = this.#timing
    let round = await whileUnavailable(this.options, this.#signal, () => savedRound(readModels, mac))
    if (round && Date.parse(clock()) - Date.parse(round.startedAt) > maxRoundMs) round = { ...round, isDone: true }
    let dueAtMs = hasTree ? 0 : performance.now() + restMs
    while (!this.#signal.aborted) {
      try {
        const request = (await verificationRequestedAt(readModels)) ?? ''
        const isRequested = request > (round?.request ?? '') && (hasTree || this.#note !== null)
        if (isRequested || performance.now() >= dueAtMs) {
          if (isRequested || !round || round.isDone) {
            const occasion = isRequested ? 'requested' : 'rest'
            round = { occasion, startedAt: clock(), verified: 0, request, isDone: false }
          }
          const isContinued = round.verified > 0
          round = await this.#verifyRound(round)
          // While the service was stopped, someone can have edited events that were verified before.
          if (round.isDone) dueAtMs = isContinued ? 0 : performance.now() + restMs
        }
      } catch (error) {
        logger.warn({ err: error }, 'the verification of the log failed')
        this.options.onUnavailable(error as Error, 1)
        await pause(retryMs, this.#signal)
      }
      await pause(pollMs, this.#signal)
    }
  }

  /** Continues a round, and returns it with its new progress. At rest, a request of an auditor ends it. */
  async #verifyRound(start: Round): Promise<Round> {
    let round = start
    const requested = new AbortController()
    const signal = AbortSignal.any([this.#signal, requested.signal])
    const watching = start.occasion === 'rest' ? this.#untilRequested(start, signal) : undefined
    void watching?.then(() => requested.abort())
    try {
      await this.#verify(start, signal, async ({ verified }, isDone) => {
        const progress = { ...round, verified, isDone }
        await saveRound(this.options.readModels, progress, this.options.mac)
        round = progress
      })
      return round
    } finally {
      requested.abort()
    }
  }

  async #untilRequested({ request }: Round, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#timing.pollMs, signal)
      const newest = await verificationRequestedAt(this.options.readModels).catch(() => undefined)
      if (newest !== undefined && newest > request) return
    }
  }

  /** Verifies the log from the leaf `verified` on. `save` saves the progress, after the findings before it are recorded. */
  async #verify(
    { occasion, startedAt, verified: from }: Pick<VerificationStatus, 'occasion' | 'startedAt' | 'verified'>,
    signal: AbortSignal,
    save = async (_step: VerificationStep, _isDone: boolean): Promise<void> => undefined,
  ): Promise<void> {
    const { verify, clock, metrics, logger, checkOthers } = this.options
    const earlier = this.#verifications.find((each) => each.startedAt === startedAt)?.findings ?? []
    const others = this.#verifications.filter((each) => each.finishedAt !== null || occasion === 'start')
    if (occasion !== 'start' && from === 0) {
      this.#fileProblems = (await checkOthers?.(signal)) ?? []
      if (this.#fileProblems.length > 0) logger.error({ findings: this.#fileProblems }, 'files are damaged')
    }
    let recorded = 0
    const record = async (step: VerificationStep, finishedAt: string | null) => {
      const { verified, treeSize } = step
      const findings = [...earlier, ...step.findings].slice(0, maxFindings)
      const status = { occasion, startedAt, finishedAt, verified, treeSize, findings }
      this.#verifications = [status, ...others].slice(0, maxVerifications)
      await this.#report(step.findings.slice(recorded), treeSize)
      recorded = step.findings.length
      await save(step, finishedAt !== null)
      await this.#saveStatus()
    }
    let recording = Promise.resolve()
    const onStep = (step: VerificationStep) => {
      recording = recording
        .then(() => record(step, null))
        .catch((err) => logger.warn({ err }, 'the progress of the verification was not saved'))
    }
    const copied = await this.#publisher.copied()
    const remembered = await this.#keptCheckpoints()
    // The next checkpoint is written to these stores again.
    this.#keepingProblems = [...new Set([...this.#keepingProblems, ...remembered.problems])]
    const kept = [...(copied ? [{ name: 'the copy', note: copied }] : []), ...remembered.kept]
    const tree = await this.options.tree.state()
    const recordedTree = tree?.isSealed ? { size: tree.size, root: tree.root } : undefined
    const stepMs = this.#timing.progressMs
    const mayLag = this.options.isShared
    const result = await verify(
      { occasion, verifier: this.#signer, kept, recorded: recordedTree, mayLag, from, stepMs },
      onStep,
      signal,
    )
    await recording
    if (!result) return
    metrics.setFindings(earlier.length + result.count)
    await record(result, clock())
  }

  async #report(findings: readonly Finding[], treeSize: number): Promise<void> {
    if (findings.length === 0) return
    const { commands, logger } = this.options
    const recorded = await commands.report(findings, treeSize, integrityContext)
    if (recorded === 0) return
    for (const finding of findings.slice(0, 10)) logger.error({ findings: finding }, 'the log does not verify')
    logger.error({ findings: recorded }, 'payouts are stopped: the log does not verify')
  }

  async #saveStatus(): Promise<void> {
    const { readModels, logger } = this.options
    const sealProblems = this.#sealProblem ? [this.#sealProblem] : []
    try {
      await saveIntegrityStatus(readModels, {
        note: this.#note,
        signedAt: this.#signedAt,
        verifierKey: formatVerifier(this.#signer),
        witnesses: this.#publisher.witnesses(this.#note),
        verifications: this.#verifications,
        problems: [...sealProblems, ...this.#fileProblems, ...this.#keepingProblems, ...this.#publisher.problems()],
      })
    } catch (error) {
      logger.warn({ err: error }, 'the status of the audit tree was not saved')
    }
  }
}

/** @throws VerificationError if the note is not a checkpoint of the tree */
function openKept(name: string, note: string, signer: NoteSigner) {
  try {
    return openCheckpoint(note, signer)
  } catch (error) {
    throw new VerificationError(`the checkpoint in ${name} is not one of this log: ${(error as Error).message}`)
  }
}
