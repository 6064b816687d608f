import { formatVerifier, type NoteSigner, VerificationError } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import { type IntegrityCommands, integrityContext } from '../../commands/integrity/integrity-commands.js'
import type { Finding } from '../../domain/integrity.js'
import type { Clock } from '../../kernel/time.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../../subscriptions/retry.js'
import { type Part, startUnderLease } from '../../subscriptions/under-lease.js'
import { CheckpointPublisher, type PublisherOptions } from './checkpoint-publisher.js'
import {
  integrityStatus,
  saveIntegrityStatus,
  type VerificationStatus,
  verificationRequestedAt,
} from './integrity-status.js'
import { LogSealer, signedCheckpoint, type TreeParts } from './log-sealer.js'
import { verifySealedLog } from './log-verification.js'

const leaseName = 'audit-tree'
/** The pause between two pages of the log, so that the thread's other work comes first. */
const pagePauseMs = 5
/** The time that a stop grants for sealing the newest events. */
const lastFollowMs = 3_000
/** The number of newest leaves that a start verifies: those that were written last before the stop. */
const newestLeaves = 2_000
/** The resting time per working time of a verification. At rest it uses 2 % of a core, and on request half of one. */
const pausePerWork = { start: 0, rest: 49, asked: 1 } as const
const maxVerifications = 10

/** The intervals of sealing and verification. Tests pass shorter ones. */
const defaultTiming = {
  /** How often new events and requests to verify are read. */
  pollMs: 2_000,
  /** The shortest time between two checkpoints. */
  sealMs: 60_000,
  /** The pause after a failure. */
  retryMs: 10_000,
  /** How often the progress of a verification is saved. */
  progressMs: 2_000,
  /** The time between two verifications at rest. */
  restMs: 3_600_000,
}

interface TreeKeeperOptions extends TreeParts, Omit<PublisherOptions, 'tiles'> {
  readonly readModels: ReadModels
  readonly commands: IntegrityCommands
  readonly logger: Logger
  readonly clock: Clock
  readonly metrics: { setTreeSize(treeSize: number): void; setFindings(count: number): void }
  readonly timing?: Partial<typeof defaultTiming>
  /** Returns `undefined` while the log is empty. */
  readonly signer: () => Promise<NoteSigner | undefined>
  /** Saves the key once the tree has a checkpoint. */
  readonly keepKey: (signer: NoteSigner) => void
  /** Whether this node has signed before. If so, a missing tree was removed. */
  readonly hasKey: () => boolean
  /** Returns the problems of the log's file. At a start the check must be fast. */
  readonly checkFile?: (
    occasion: VerificationStatus['occasion'],
    signal: AbortSignal,
  ) => readonly string[] | Promise<readonly string[]>
  /** Returns the problems of the service's other files. They do not stop payouts, because no decision depends on these files. */
  readonly checkOthers?: (signal: AbortSignal) => Promise<readonly string[]>
}

/** Seals and verifies the log in the process that holds the lease. It works in small steps, so that it never blocks its thread. */
export function startTreeKeeper(options: TreeKeeperOptions): Part {
  return startUnderLease(options, leaseName, async ({ signal }, _retry, stopping) => {
    const signer = await waitForSigner(options, signal)
    if (signer) await new TreeKeeper(options, signer, signal, stopping).run()
  })
}

async function waitForSigner(options: TreeKeeperOptions, signal: AbortSignal): Promise<NoteSigner | undefined> {
  while (!signal.aborted) {
    const signer = await whileUnavailable(options, signal, () => options.signer())
    if (signer) return signer
    await pause(options.timing?.pollMs ?? defaultTiming.pollMs, signal)
  }
  return undefined
}

function whileUnavailable<Result>({ logger }: TreeKeeperOptions, signal: AbortSignal, attempt: () => Promise<Result>) {
  const onUnavailable = (err: Error, failures: number) =>
    logger.warn({ err, failures }, 'the audit tree waits for the stores')
  return retryWhileUnavailable(attempt, { signal, onUnavailable })
}

class TreeKeeper {
  readonly #publisher: CheckpointPublisher
  readonly #timing: typeof defaultTiming
  #sealer: LogSealer | undefined
  #note: string | null = null
  #signedAt: string | null = null
  #verifications: readonly VerificationStatus[] = []
  #sealTrouble: string | undefined
  #fileTroubles: readonly string[] = []

  /** @param stopping aborts when the service stops, but not when the lease is lost */
  constructor(
    private readonly options: TreeKeeperOptions,
    private readonly signer: NoteSigner,
    private readonly signal: AbortSignal,
    private readonly stopping: AbortSignal,
  ) {
    this.#publisher = new CheckpointPublisher({ ...options, signer })
    this.#timing = { ...defaultTiming, ...options.timing }
  }

  async run(): Promise<void> {
    const { tiles, hasKey, readModels } = this.options
    const before = await whileUnavailable(this.options, this.signal, () => integrityStatus(readModels))
    this.#signedAt = before?.signedAt ?? null
    this.#verifications = (before?.verifications ?? []).filter(({ finishedAt }) => finishedAt !== null)
    const size = (await signedCheckpoint(tiles, this.signer).catch(() => undefined))?.size ?? 0
    const hasTree = hasKey() || (await tiles.read('checkpoint')) !== undefined
    const verifyNewest = () => this.#verify('start', Math.max(0, size - newestLeaves))
    if (hasTree) await whileUnavailable(this.options, this.signal, verifyNewest)
    await Promise.all([this.#keepSealing(), this.#keepVerifying(hasTree)])
    if (this.stopping.aborted) await this.#sealLast()
  }

  async #keepSealing(): Promise<void> {
    const { pollMs, sealMs, retryMs } = this.#timing
    let sealedAtMs = Number.NEGATIVE_INFINITY
    while (!this.signal.aborted) {
      try {
        this.#sealer ??= await LogSealer.open(this.options, this.signer)
        const sealer = this.#sealer
        await sealer.follow(() => pause(pagePauseMs, this.signal), this.signal)
        if (performance.now() - sealedAtMs >= sealMs && !this.signal.aborted) {
          sealedAtMs = performance.now()
          await this.#seal(sealer)
          await this.#publish(sealer)
        }
        this.#sealTrouble = undefined
        await pause(pollMs, this.signal)
      } catch (error) {
        this.#sealer = undefined
        await this.#reportSealFailure(error)
        await pause(retryMs, this.signal)
      }
    }
  }

  async #seal(sealer: LogSealer): Promise<void> {
    const note = await sealer.seal()
    if (note !== undefined || this.#note === null) {
      const checkpoint = await signedCheckpoint(this.options.tiles, this.signer)
      this.#note = checkpoint?.note ?? null
      this.#signedAt = note === undefined ? this.#signedAt : this.options.clock()
    }
    if (sealer.sealedSize > 0) this.options.keepKey(this.signer)
    this.options.metrics.setTreeSize(sealer.sealedSize)
    await this.#saveStatus()
  }

  async #publish({ sealedSize }: LogSealer): Promise<void> {
    if (this.#note === null) return
    const { note, findings } = await this.#publisher.publish({ note: this.#note, size: sealedSize })
    this.#note = note
    await this.#report(findings, sealedSize)
    await this.#saveStatus()
  }

  async #reportSealFailure(error: unknown): Promise<void> {
    this.#sealTrouble = `The log is not sealed: ${(error as Error).message}.`
    this.options.logger.error({ err: error }, 'the log is not sealed')
    if (error instanceof VerificationError) {
      const problem = `The tree cannot be extended: ${error.message}.`
      await this.#report([{ kind: 'tree', place: 'checkpoint', leafIndex: null, problem }], 0)
    }
    await this.#saveStatus()
  }

  /** Seals the newest events, so that a stopped service leaves none unsealed. */
  async #sealLast(): Promise<void> {
    try {
      const sealer = this.#sealer ?? (await LogSealer.open(this.options, this.signer))
      await sealer.follow(async () => undefined, AbortSignal.timeout(lastFollowMs))
      await this.#seal(sealer)
    } catch (error) {
      this.options.logger.warn({ err: error }, 'the newest events stay unsealed until the next start')
    }
  }

  async #keepVerifying(hasTree: boolean): Promise<void> {
    const { pollMs, retryMs, restMs } = this.#timing
    let dueAtMs = hasTree ? 0 : performance.now() + restMs
    let handled = ''
    while (!this.signal.aborted) {
      try {
        const requestedAt = (await verificationRequestedAt(this.options.readModels)) ?? ''
        const isRequested = requestedAt > handled && this.#note !== null
        if (isRequested || performance.now() >= dueAtMs) {
          await this.#verify(isRequested ? 'asked' : 'rest', 0)
          handled = requestedAt
          dueAtMs = performance.now() + restMs
        }
      } catch (error) {
        this.options.logger.warn({ err: error }, 'the verification of the log failed')
        await pause(retryMs, this.signal)
      }
      await pause(pollMs, this.signal)
    }
  }

  async #verify(occasion: VerificationStatus['occasion'], from: number): Promise<void> {
    const { store, tiles, clock, checkFile, metrics } = this.options
    let status: VerificationStatus = {
      ...{ occasion, startedAt: clock(), finishedAt: null, verified: 0, treeSize: 0, findings: [] },
    }
    const others = this.#verifications.filter(({ finishedAt }) => finishedAt !== null)
    const update = (changes: Partial<VerificationStatus>) => {
      status = { ...status, ...changes }
      this.#verifications = [status, ...others].slice(0, maxVerifications)
    }
    if (occasion !== 'start') this.#fileTroubles = (await this.options.checkOthers?.(this.signal)) ?? []
    if (occasion !== 'start' && this.#fileTroubles.length > 0)
      this.options.logger.error({ findings: this.#fileTroubles }, 'files are damaged')
    let restedAtMs = performance.now()
    let savedAtMs = Number.NEGATIVE_INFINITY
    const copied = await this.#publisher.copied()
    const verification = await verifySealedLog({
      ...{ store, tiles, verifier: this.signer, signal: this.signal, from },
      ...(checkFile && { checkFile: () => checkFile(occasion, this.signal) }),
      kept: copied ? [{ name: 'the copy', note: copied }] : [],
      pause: async () => {
        if (this.#note !== null && performance.now() - savedAtMs >= this.#timing.progressMs) {
          savedAtMs = performance.now()
          await this.#saveStatus()
        }
        await pause(Math.ceil((performance.now() - restedAtMs) * pausePerWork[occasion]), this.signal)
        restedAtMs = performance.now()
      },
      onProgress: (verified, treeSize) => update({ verified, treeSize }),
    })
    const { findings, checkpoint } = verification
    const treeSize = checkpoint?.size ?? 0
    // A verification that a damaged database ended has finished too.
    const finishedAt = this.signal.aborted ? null : clock()
    update({ verified: verification.to - verification.from, treeSize, findings, finishedAt })
    metrics.setFindings(verification.count)
    await this.#report(findings, treeSize)
    await this.#saveStatus()
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
    const sealTroubles = this.#sealTrouble ? [this.#sealTrouble] : []
    try {
      await saveIntegrityStatus(readModels, {
        note: this.#note,
        signedAt: this.#signedAt,
        verifierKey: formatVerifier(this.signer),
        witnesses: this.#publisher.witnesses(this.#note),
        verifications: this.#verifications,
        troubles: [...sealTroubles, ...this.#fileTroubles, ...this.#publisher.troubles()],
      })
    } catch (error) {
      logger.warn({ err: error }, 'the status of the audit tree was not saved')
    }
  }
}
