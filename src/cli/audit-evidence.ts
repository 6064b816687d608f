import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { violate } from '../domain/decider.js'
import { counted, escapeHidden } from '../kernel/text.js'
import { checkpointIn, writeNew } from './audit-proofs.js'
import { defineCommand } from './command.js'
import { refusedBy, UsageError } from './failures.js'
import { option, path, required } from './options.js'

/** Adds the commands of evidence packages. */
export function addEvidenceCommands(audit: Command): void {
  const making = 'write one file that proves what decided a transfer, with a report and programs that check it'
  defineCommand(audit, 'evidence <trackingId>', making, {
    examples: ['7b0f2c1e --out evidence.zip', '7b0f2c1e --out evidence.zip --from earlier.zip'],
    options: {
      out: required(option('<file>', 'a new file', path)),
      from: option('<file>', 'an earlier package or checkpoint, to prove that the log has only grown since'),
    },
    async run({ configuration, rawEventStore, box, customerKeys, notify }, { out, from }, trackingId: string) {
      const { evidencePackage } = await import('../audit/evidence/evidence-package.js')
      const { DirectoryTiles } = await import('@transferd/transparency-log')
      const { logVerifier } = await import('../operations/audit/verify-log.js')
      const key = await logVerifier(configuration, rawEventStore, box)
      const tiles = new DirectoryTiles(configuration.audit.directory)
      const older = from === undefined ? undefined : await checkpointOf(from)
      const source = { log: rawEventStore, tiles, key, keys: customerKeys }
      const made = await evidencePackage(source, trackingId, { older })
      if (!made) throw refusedBy(violate('unknown-transfer'))
      const { bytes, ...rest } = made
      writeNew(out, bytes)
      if (made.notSealed > 0)
        notify(`${counted(made.notSealed, 'newer event')} not sealed yet: the next checkpoint follows within a minute`)
      return { file: out, trackingId, ...rest }
    },
    text: ({ file, trackingId, events, treeSize, sha256 }) =>
      `${escapeHidden(file)} proves ${counted(events, 'event')} about the transfer ${trackingId} at a tree size of ${treeSize}.\nSHA-256 ${sha256}\n`,
  })
}

/** Reads the checkpoint of an earlier package, or a checkpoint file. @throws UsageError */
async function checkpointOf(path: string): Promise<string> {
  if (!path.endsWith('.zip')) return checkpointIn(path)
  const { checkpointInPackage } = await import('../audit/evidence/evidence-package.js')
  try {
    return checkpointInPackage(readFileSync(path))
  } catch (error) {
    throw new UsageError(`${path} is not an evidence package: ${(error as Error).message}`)
  }
}
