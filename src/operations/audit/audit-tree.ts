import { DirectoryTiles, parseVerifier, VerificationError } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { EvidencePackages } from '../../audit/evidence/evidence-packages.js'
import { startTreeKeeper } from '../../audit/integrity/audit-tree-keeper.js'
import { type OpenedTree, openTree, type TreeOpening } from '../../audit/integrity/audit-tree-opening.js'
import type { Witness } from '../../audit/integrity/checkpoint-publisher.js'
import { type IntegrityStatus, integrityStatus } from '../../audit/integrity/integrity-status.js'
import type { RunVerification } from '../../audit/integrity/log-verification.js'
import { type ExportSealing, exportSealing } from '../../audit/proofs/export-signature.js'
import { NotSealedYet, type ProofOutcome, proveTransfer } from '../../audit/proofs/transfer-proof.js'
import { AuditTreeCommands } from '../../commands/integrity/audit-tree-commands.js'
import { IntegrityCommands } from '../../commands/integrity/integrity-commands.js'
import { type Integrity, isDecided } from '../../domain/integrity.js'
import { integrityStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import { type Clock, systemClock } from '../../kernel/time.js'
import type { KeyStore } from '../../privacy/customer-keys.js'
import { newestEventMs } from '../../projections/projection-status.js'
import type { ReadModels } from '../../read-models/read-models.js'
import type { KeyRing, SecretBox } from '../../security/secret-box.js'
import type { Part } from '../../subscriptions/under-lease.js'
import { type Configuration, ConfigurationError } from '../configuration/configuration.js'
import { checkOtherFiles } from '../files/file-checks.js'
import { gaugesOf } from '../metrics.js'
import { markedStore, type OpenedLog } from '../stores/stores.js'
import { auditKeyOf, keepAuditKey, readAuditKey, setAuditKeyAside, setTreeAside, treeKeyOf } from './audit-files.js'
import { checkpointStoresOf } from './checkpoint-stores.js'
import { verificationsOf } from './log-verifications.js'

export function startAuditTree(parts: {
  readonly configuration: Configuration
  readonly rawStore: EventStore
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly keys: KeyStore
  readonly box: SecretBox
  readonly keyRing: KeyRing
  readonly clock: () => string
  readonly logger: Logger
  readonly registry: Registry
  /** Verifies the log; in a separate thread by default. */
  readonly verify?: RunVerification | undefined
}): Part {
  const { configuration, rawStore, store, readModels, keys, box, keyRing, clock, logger, registry } = parts
  const { audit, dataDirectory } = configuration
  const commands = new IntegrityCommands(store, clock)
  const { publishFailed, ...metrics } = treeMetrics(registry, commands, readModels, clock)
  return startTreeKeeper({
    readModels,
    commands,
    clock,
    logger,
    metrics,
    publishFailed,
    ...treeOpeningOf(configuration, store, box, clock),
    // Sealing needs no codes. The verification checks them.
    store: rawStore,
    async setAside() {
      setTreeAside(audit.directory)
      setAuditKeyAside(dataDirectory)
    },
    keepKey: (signer) => keepAuditKey(dataDirectory, box, signer),
    verify: parts.verify ?? verificationsOf(configuration, keyRing, markedStore(rawStore, box)),
    checkpointStores: checkpointStoresOf(configuration, readModels, keys),
    mac: (text) => box.mac('audit tree', text),
    checkOthers: (signal) => checkOtherFiles(configuration, signal),
    copyTo: audit.copyTo,
    witnesses: witnessesOf(configuration),
  })
}

function treeOpeningOf(
  { audit, dataDirectory, eventStore }: Configuration,
  store: EventStore,
  box: SecretBox,
  clock: () => string,
): Omit<TreeOpening, 'setAside'> {
  return {
    tiles: new DirectoryTiles(audit.directory, audit),
    tree: new AuditTreeCommands(store, clock),
    isShared: eventStore.engine !== 'embedded',
    keyOf: (tree) => treeKeyOf(tree, box),
    keptKey: () => readAuditKey(dataDirectory, box),
  }
}

/** Opens the tree of this node like the service, but changes no file. @throws StoreUnavailableError */
export function treeOf(configuration: Configuration, store: EventStore, box: SecretBox): Promise<OpenedTree> {
  return openTree({ ...treeOpeningOf(configuration, store, box, systemClock()), setAside: async () => undefined })
}

/** Adds the gauges of the tree. Those of shared stores show the same on every node. */
export function treeMetrics(
  registry: Registry,
  commands: IntegrityCommands,
  readModels: ReadModels,
  clock: () => string,
) {
  const now = { size: 0, findings: 0, stopped: 0 }
  const gauge = gaugesOf(registry)
  const size = 'Events in the newest checkpoint; 0 on a node without the tree.'
  gauge('transferd_audit_tree_size', size, null, async (set) => set(now.size))
  const findings = 'Findings of the last verification of the log; 0 on a node without the tree.'
  gauge('transferd_audit_findings', findings, null, async (set) => set(now.findings))
  const stopped = '1 while payouts are stopped by a finding, a restore or an operator.'
  gauge('transferd_payouts_stopped', stopped, null, async (set) => {
    const state = await commands.state().catch(() => undefined)
    // An unavailable log leaves the value.
    if (state) now.stopped = state.stoppedSince === null ? 0 : 1
    set(now.stopped)
  })
  const age = 'Age of the newest checkpoint while it does not cover all events; 0 while it does; +Inf without one.'
  gauge('transferd_audit_checkpoint_age_seconds', age, null, async (set) => {
    const signedAt = (await integrityStatus(readModels))?.signedAt ?? null
    const signedMs = signedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(signedAt)
    const newest = await newestEventMs(readModels)
    set(newest === null || newest <= signedMs ? 0 : Math.max(0, Date.parse(clock()) - signedMs) / 1_000)
  })
  const lastComplete = async () => {
    const verifications = (await integrityStatus(readModels))?.verifications ?? []
    const last = verifications.find(({ occasion, finishedAt }) => occasion !== 'start' && finishedAt !== null)
    return { startMs: Date.parse(last?.startedAt ?? '') || 0, endMs: Date.parse(last?.finishedAt ?? '') || 0 }
  }
  const duration = 'Duration of the last verification of the whole log; 0 before the first.'
  gauge('transferd_audit_verification_duration_seconds', duration, null, async (set) => {
    const { startMs, endMs } = await lastComplete()
    set((endMs - startMs) / 1_000)
  })
  const verified = 'Start of the last complete verification of the whole log; 0 before the first.'
  gauge('transferd_audit_verified_timestamp_seconds', verified, null, async (set) =>
    set((await lastComplete()).startMs / 1_000),
  )
  const failures = new Counter({
    name: 'transferd_audit_publish_failures_total',
    help: 'Checkpoints that a witness did not cosign, or that could not be copied.',
    labelNames: ['to'],
    registers: [registry],
  })
  return {
    setTreeSize(treeSize: number) {
      now.size = treeSize
    },
    setFindings(count: number) {
      now.findings = count
    },
    publishFailed: (to: 'copy' | 'witness'): void => failures.inc({ to }),
  }
}

/** @throws ConfigurationError if a key does not match its id */
export function witnessesOf({ audit }: Configuration): readonly Witness[] {
  return audit.witnesses.map(({ url, verifierKey }) => {
    try {
      return { url, key: parseVerifier(verifierKey) }
    } catch (error) {
      throw new ConfigurationError([`AUDIT_WITNESSES contains an invalid key: ${(error as Error).message}`])
    }
  })
}

/** Returns the integrity problems and their consequences as sentences. @throws StoreUnavailableError */
export async function integrityDetails(commands: IntegrityCommands, readModels: ReadModels): Promise<string[]> {
  const state = await commands.state()
  const { stoppedSince, stop, restored, findings } = state
  const status = await integrityStatus(readModels).catch(() => undefined)
  const problems = [...(status?.problems ?? []), ...knownFindings(state, status)]
  const [first, ...others] = findings
  if (stop) problems.unshift(`an operator stopped payouts at ${stop.at}: ${stop.reason} (transferd payouts resume)`)
  if (restored) problems.unshift(restoreDetail(restored))
  const isUnexplained = stoppedSince !== null && !stop && !restored && !first
  if (isUnexplained)
    problems.unshift(
      `payouts are stopped since ${stoppedSince}, as an event of ${integrityStream} cannot be read (transferd events problems)`,
    )
  if (!first) return problems
  const more = others.length > 0 ? `, and ${others.length} more` : ''
  const stopped = `payouts are stopped since ${stoppedSince}, as the log does not verify: ${first.place}: ${first.problem}`
  return [`${stopped}${more} (transferd audit verify)`, ...problems]
}

/** The metric of findings still counts those in spite of which payouts were resumed. */
function knownFindings(state: Integrity, status: IntegrityStatus | undefined): string[] {
  const verified = status?.verifications.find(({ finishedAt }) => finishedAt !== null)
  const [first, ...others] = (verified?.findings ?? []).filter((finding) => isDecided(state, finding))
  if (!first) return []
  const more = others.length > 0 ? `, and ${others.length} more` : ''
  return [
    `the log does not verify, as known when payouts were resumed: ${first.place}: ${first.problem}${more} (transferd audit verify)`,
  ]
}

function restoreDetail({ backupCreatedAt, at }: NonNullable<Integrity['restored']>): string {
  const from = backupCreatedAt === null ? 'a backup' : `the backup of ${backupCreatedAt}`
  const advice = 'compare the payable withdrawals with the bank, then transferd payouts resume'
  return `payouts are stopped since ${at}, as the log was restored from ${from}: ${advice}`
}

/** Returns the signer of exports, which uses the tree in this node's directory. */
export function sealingOf(
  { audit, dataDirectory }: Configuration,
  { rawEventStore: store, box }: Pick<OpenedLog, 'rawEventStore' | 'box'>,
): ExportSealing {
  const parts = { store, tiles: new DirectoryTiles(audit.directory) }
  return exportSealing(parts, () => auditKeyOf(dataDirectory, store, box))
}

/** Returns the evidence packages of the log, which use the tree in this node's directory. */
export function evidencePackages(
  { audit, dataDirectory }: Configuration,
  {
    eventStore: store,
    rawEventStore: log,
    customerKeys: keys,
    box,
  }: Pick<OpenedLog, 'eventStore' | 'rawEventStore' | 'customerKeys' | 'box'>,
  clock: Clock,
): EvidencePackages {
  const tiles = new DirectoryTiles(audit.directory)
  return new EvidencePackages({ store, log, tiles, keys, clock, key: () => auditKeyOf(dataDirectory, log, box) })
}

/** Returns a function that proves transfers with the tree in this node's directory. */
export function proofs(
  { audit, dataDirectory }: Configuration,
  { rawEventStore: log, box }: Pick<OpenedLog, 'rawEventStore' | 'box'>,
): (trackingId: string) => Promise<ProofOutcome> {
  return async (trackingId) => {
    const key = await auditKeyOf(dataDirectory, log, box)
    if (!key) return { outcome: 'unknown' }
    try {
      const made = await proveTransfer({ log, tiles: new DirectoryTiles(audit.directory), key }, trackingId)
      return made ? { outcome: 'made', proof: made.proof } : { outcome: 'unknown' }
    } catch (error) {
      if (error instanceof NotSealedYet) return { outcome: 'not-sealed' }
      if (error instanceof VerificationError) return { outcome: 'unverified', reason: error.message }
      throw error
    }
  }
}
