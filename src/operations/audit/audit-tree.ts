import { DirectoryTiles } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { startTreeKeeper } from '../../audit/integrity/audit-tree-keeper.js'
import { IntegrityCommands } from '../../commands/integrity/integrity-commands.js'
import { checkLogFile } from '../../event-store/embedded.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { ReadModels } from '../../read-models/read-models.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { Part } from '../../subscriptions/under-lease.js'
import type { Configuration } from '../configuration/configuration.js'
import { checkLogAtRest, checkOtherFiles } from '../files/file-checks.js'
import { firstAuditKey, keepAuditKey, readAuditKey } from './audit-key.js'
import { witnessesOf } from './audit-witnesses.js'

/** Seals and verifies the log. */
export function startAuditTree(parts: {
  readonly configuration: Configuration
  readonly rawStore: EventStore
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly box: SecretBox
  readonly clock: () => string
  readonly logger: Logger
  readonly registry: Registry
}): Part {
  const { configuration, rawStore, store, readModels, box, clock, logger, registry } = parts
  const { audit, dataDirectory, eventStore } = configuration
  const commands = new IntegrityCommands(store, clock)
  const { publishFailed, ...metrics } = treeMetrics(registry, commands)
  return startTreeKeeper({
    ...{ readModels, commands, clock, logger, metrics, publishFailed },
    store: rawStore,
    tiles: new DirectoryTiles(audit.directory),
    signer: async () => readAuditKey(dataDirectory, box) ?? (await firstAuditKey(rawStore, box)),
    hasKey: () => readAuditKey(dataDirectory, box) !== undefined,
    keepKey: (signer) => keepAuditKey(dataDirectory, box, signer),
    ...(eventStore.engine === 'embedded' && {
      checkFile: (occasion, signal) =>
        occasion === 'start'
          ? checkLogFile(eventStore.directory, 'positions')
          : checkLogAtRest(eventStore.directory, signal),
    }),
    checkOthers: (signal) => checkOtherFiles(configuration, signal),
    copyTo: audit.copyTo,
    witnesses: witnessesOf(configuration),
  })
}

function treeMetrics(registry: Registry, commands: IntegrityCommands) {
  const registers = [registry]
  const size = new Gauge({
    name: 'transferd_audit_tree_size',
    help: 'Events in the newest checkpoint; 0 on a node without the tree.',
    registers,
  })
  const findings = new Gauge({
    name: 'transferd_audit_findings',
    help: 'Findings of the last verification of the log; 0 on a node without the tree.',
    registers,
  })
  const failures = new Counter({
    name: 'transferd_audit_publish_failures_total',
    help: 'Checkpoints that a witness did not cosign, or that could not be copied.',
    labelNames: ['to'],
    registers,
  })
  new Gauge({
    name: 'transferd_payouts_stopped',
    help: '1 while payouts are stopped because the log does not verify.',
    registers,
    async collect() {
      try {
        this.set((await commands.state()).stoppedSince === null ? 0 : 1)
      } catch {
        // The value stays: an unavailable log must not break the other metrics.
      }
    },
  })
  return {
    setTreeSize: (treeSize: number): void => size.set(treeSize),
    setFindings: (count: number): void => findings.set(count),
    publishFailed: (to: 'copy' | 'witness'): void => failures.inc({ to }),
  }
}
