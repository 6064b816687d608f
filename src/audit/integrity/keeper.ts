import { formatVerifier, type NoteSigner, VerificationError } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import type { IntegrityCommands } from '../../commands/integrity/integrity-commands.js'
import type { Finding } from '../../domain/integrity/integrity.js'
import type { Lease } from '../../read-models/leases.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { pause, retryWhileUnavailable } from '../../subscriptions/retry.js'
import { type Part, startUnderLease } from '../../subscriptions/under-lease.js'
import { askedToVerify, integrityStatus, keepIntegrityStatus, type VerificationStatus } from './integrity-status.js'
import { Publisher, type PublisherOptions } from './publisher.js'
import { Sealer, signedCheckpoint, type TreeParts } from './sealer.js'
import { type KeptCheckpoint, type VerifyOptions, verify } from './verify.js'

const leaseName = 'audit-tree'
const lookEveryMs = 2_000
const sealEveryMs = 60_000
const retryAfterMs = 10_000
/** How far a verification is. */
const tellEveryMs = 2_000
/** Between two pages of the log: what else the thread does comes first. */
const pagePauseMs = 5
/** How much of what is left at shutdown is still taken in. */
const lastFollowMs = 3_000
/** Leaves that a start verifies: what was written last before it stopped. */
const newestPart = 2_000
const restMs = 3_600_000
/** At rest a verification takes two hundredths of a core, and one that was asked for half of one. */
const pausePerWork = { start: 0, rest: 49, asked: 1 } as const
const maxVerifications = 10
const context = { actor: 'system:integrity', $correlationId: 'integrity', $causationId: 'integrity' }

export interface KeeperMetrics {
  sealed(treeSize: number): void
  found(findings: number): void
}

export interface KeeperOptions extends TreeParts, Omit<PublisherOptions, 'tiles'> {
  readonly readModels: ReadModels
  readonly commands: IntegrityCommands
  readonly logger: Logger
  readonly clock: () => string
  readonly metrics: KeeperMetrics
  /** Undefined while the log is empty. */
  readonly signer: () => Promise<NoteSigner | undefined>
  /** Called when the tree has a checkpoint. */
  readonly keepKey: (signer: NoteSigner) => void
  /** Whether this node has signed before: then there is a tree, or somebody took it away. */
  readonly hasKey: () => boolean
  /** What is wrong with the log's file. At a start, nothing that takes time. */
  readonly checkFile?: (
    occasion: VerificationStatus['occasion'],
    signal: AbortSignal,
  ) => readonly string[] | Promise<readonly string[]>
  /** What is wrong with other files of the service: told, and no reason to stop payouts, as nothing is decided by them. */
  readonly checkOthers?: (signal: AbortSignal) => Promise<readonly string[]>
}

/** Seals the log and verifies it, wherever the lease is held. What it takes in stays small: it never holds up who shares its thread. */
export function startTreeKeeper(options: KeeperOptions): Part {
  const stopping = new AbortController()
  const run = async (lease: Lease) => {
    const signer = await waitForSigner(options, lease.signal)
    if (signer) await new TreeKeeper(options, signer, lease.signal, stopping.signal).run()
  }
  const part = startUnderLease(options, leaseName, run)
  return {
    async stop() {
      stopping.abort()
      await part.stop()
    },
  }
}

async function waitForSigner(options: KeeperOptions, signal: AbortSignal): Promise<NoteSigner | undefined> {
  while (!signal.aborted) {
    const found = await whileUnavailable(options, signal, () => options.signer())
    if (found) return found
    await pause(lookEveryMs, signal)
  }
  return undefined
}

function whileUnavailable<Result>({ logger }: KeeperOptions, signal: AbortSignal, attempt: () => Promise<Result>) {
  const onUnavailable = (err: Error, failures: number) =>
    logger.warn({ err, failures }, 'the tree waits for the stores')
  return retryWhileUnavailable(attempt, { signal, onUnavailable })
}

class TreeKeeper {
  readonly #options: KeeperOptions
  readonly #signer: NoteSigner
  readonly #signal: AbortSignal
  readonly #stopping: AbortSignal
  readonly #publisher: Publisher
  #sealer: Sealer | undefined
  #note: string | null = null
  #signedAt: string | null = null
  #verifications: VerificationStatus[] = []
  #sealTrouble: string | undefined
  #fileTroubles: readonly string[] = []

  /** @param stopping aborts when the service stops, and not when the lease is lost */
  constructor(options: KeeperOptions, signer: NoteSigner, signal: AbortSignal, stopping: AbortSignal) {
    this.#options = options
    this.#signer = signer
    this.#signal = signal
    this.#stopping = stopping
    this.#publisher = new Publisher({ ...options, signer })
  }

  async run(): Promise<void> {
    const { tiles, hasKey, readModels } = this.#options
    const before = await whileUnavailable(this.#options, this.#signal, () => integrityStatus(readModels))
    this.#signedAt = before?.signedAt ?? null
    this.#verifications = (before?.verifications ?? []).filter(({ finishedAt }) => finishedAt !== null)
    const size = (await signedCheckpoint(tiles, this.#signer).catch(() => undefined))?.size ?? 0
    const isBegun = hasKey() || (await tiles.read('checkpoint')) !== undefined
    const newest = () => this.#verify('start', { from: Math.max(0, size - newestPart) })
    if (isBegun) await whileUnavailable(this.#options, this.#signal, newest)
    await Promise.all([this.#keepSealing(), this.#keepVerifying(isBegun)])
    if (this.#stopping.aborted) await this.#sealLast()
  }

  async #keepSealing(): Promise<void> {
    let sealedAtMs = Number.NEGATIVE_INFINITY
    while (!this.#signal.aborted) {
      try {
        const sealer = await this.#opened()
        await sealer.follow(() => pause(pagePauseMs, this.#signal), this.#signal)
        if (performance.now() - sealedAtMs >= sealEveryMs && !this.#signal.aborted) {
          sealedAtMs = performance.now()
          await this.#seal(sealer)
          await this.#publish(sealer)
        }
        this.#sealTrouble = undefined
        await pause(lookEveryMs, this.#signal)
      } catch (error) {
        this.#sealer = undefined
        await this.#sealingFailed(error)
        await pause(retryAfterMs, this.#signal)
      }
    }
  }

  async #opened(): Promise<Sealer> {
    this.#sealer ??= await Sealer.open(this.#options, this.#signer)
    return this.#sealer
  }

  async #seal(sealer: Sealer): Promise<void> {
    const note = await sealer.seal()
    if (note !== undefined || this.#note === null) {
      const checkpoint = await signedCheckpoint(this.#options.tiles, this.#signer)
      this.#note = checkpoint?.note ?? null
      this.#signedAt = note === undefined ? this.#signedAt : this.#options.clock()
    }
    if (sealer.sealedSize > 0) this.#options.keepKey(this.#signer)
    this.#options.metrics.sealed(sealer.sealedSize)
    await this.#tell()
  }

  async #publish({ sealedSize }: Sealer): Promise<void> {
    if (this.#note === null) return
    const { note, findings } = await this.#publisher.publish({ note: this.#note, size: sealedSize })
    this.#note = note
    await this.#report(findings, sealedSize)
    await this.#tell()
  }

  async #sealingFailed(error: unknown): Promise<void> {
    this.#sealTrouble = `The log is not sealed: ${(error as Error).message}.`
    this.#options.logger.error({ err: error }, 'the log is not sealed')
    if (error instanceof VerificationError) {
      const problem = `The tree cannot go on: ${error.message}.`
      await this.#report([{ kind: 'tree', place: 'checkpoint', leafIndex: null, problem }], 0)
    }
    await this.#tell()
  }

  /** What came since, so that nothing is left unsealed by a service that is stopped. */
  async #sealLast(): Promise<void> {
    try {
      const sealer = await this.#opened()
      await sealer.follow(async () => undefined, AbortSignal.timeout(lastFollowMs))
      await this.#seal(sealer)
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'the newest events are not sealed before the next start')
    }
  }

  async #keepVerifying(isBegun: boolean): Promise<void> {
    let dueAtMs = isBegun ? 0 : performance.now() + restMs
    let handled = ''
    while (!this.#signal.aborted) {
      try {
        const asked = (await askedToVerify(this.#options.readModels)) ?? ''
        // What was asked before this began has been answered, or is by what comes first.
        const isAsked = asked > handled && this.#note !== null
        if (isAsked || performance.now() >= dueAtMs) {
          await this.#verify(isAsked ? 'asked' : 'rest', {})
          handled = asked
          dueAtMs = performance.now() + restMs
        }
      } catch (error) {
        this.#options.logger.warn({ err: error }, 'the log is not verified')
        await pause(retryAfterMs, this.#signal)
      }
      await pause(lookEveryMs, this.#signal)
    }
  }

  async #verify(occasion: VerificationStatus['occasion'], part: Pick<VerifyOptions, 'from'>): Promise<void> {
    const { store, tiles, clock, checkFile, metrics } = this.#options
    const startedAt = clock()
    const status = { occasion, startedAt, finishedAt: null, verified: 0, treeSize: 0, findings: [] }
    let now: VerificationStatus = status
    const others = this.#verifications.filter(({ finishedAt }) => finishedAt !== null)
    const show = () => {
      this.#verifications = [now, ...others].slice(0, maxVerifications)
    }
    if (occasion !== 'start') await this.#checkOthers()
    const rest = pacer(pausePerWork[occasion], this.#signal)
    let toldAtMs = Number.NEGATIVE_INFINITY
    const tellNowAndThen = async () => {
      if (this.#note === null || performance.now() - toldAtMs < tellEveryMs) return
      toldAtMs = performance.now()
      await this.#tell()
    }
    const { findings, checkpoint, from, to, count } = await verify({
      ...{ store, tiles, verifier: this.#signer, signal: this.#signal, ...part },
      ...(checkFile && { checkFile: () => checkFile(occasion, this.#signal) }),
      kept: await this.#kept(),
      pause: async () => {
        await tellNowAndThen()
        await rest()
      },
      onProgress: (verified, treeSize) => {
        now = { ...now, verified, treeSize }
        show()
      },
    })
    const treeSize = checkpoint?.size ?? 0
    // One that a damaged database ended is done with, too.
    const finishedAt = this.#signal.aborted ? null : clock()
    now = { ...now, verified: to - from, treeSize, findings, finishedAt }
    show()
    metrics.found(count)
    await this.#report(findings, treeSize)
    await this.#tell()
  }

  async #checkOthers(): Promise<void> {
    this.#fileTroubles = (await this.#options.checkOthers?.(this.#signal)) ?? []
    if (this.#fileTroubles.length > 0) this.#options.logger.error({ findings: this.#fileTroubles }, 'files are damaged')
  }

  async #kept(): Promise<readonly KeptCheckpoint[]> {
    const copied = await this.#publisher.copied()
    return copied ? [{ name: 'the copy', note: copied }] : []
  }

  async #report(findings: readonly Finding[], treeSize: number): Promise<void> {
    if (findings.length === 0) return
    const { commands, logger } = this.#options
    const recorded = await commands.report(findings, treeSize, context)
    if (recorded === 0) return
    for (const finding of findings.slice(0, 10)) logger.error({ findings: finding }, 'the log does not verify')
    logger.error({ findings: recorded }, 'payouts are stopped: the log does not verify')
  }

  async #tell(): Promise<void> {
    const { readModels, logger } = this.#options
    try {
      await keepIntegrityStatus(readModels, {
        note: this.#note,
        signedAt: this.#signedAt,
        verifierKey: formatVerifier(this.#signer),
        witnesses: this.#publisher.witnesses(this.#note),
        verifications: this.#verifications,
        troubles: [
          ...(this.#sealTrouble ? [this.#sealTrouble] : []),
          ...this.#fileTroubles,
          ...this.#publisher.troubles(),
        ],
      })
    } catch (error) {
      logger.warn({ err: error }, 'what is known of the tree cannot be shown')
    }
  }
}

/** Rests so many times as long as there was work since it rested last. */
function pacer(times: number, signal: AbortSignal): () => Promise<void> {
  let restedAtMs = performance.now()
  return async () => {
    const workedMs = performance.now() - restedAtMs
    await pause(Math.ceil(workedMs * times), signal)
    restedAtMs = performance.now()
  }
}
