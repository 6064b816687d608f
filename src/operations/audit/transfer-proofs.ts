import { DirectoryTiles, VerificationError } from '@transferd/transparency-log'
import { NotSealedYet, type ProofOutcome, proveTransfer } from '../../audit/proofs/prove-transfer.js'
import type { Configuration } from '../configuration/configuration.js'
import type { OpenedLog } from '../stores/stores.js'
import { firstAuditKey, readAuditKey } from './audit-key.js'

/** Returns a function that proves transfers with the tree in this node's directory. */
export function proofs(
  { audit, dataDirectory }: Configuration,
  { rawEventStore: log, box }: Pick<OpenedLog, 'rawEventStore' | 'box'>,
): (trackingId: string) => Promise<ProofOutcome> {
  return async (trackingId) => {
    const key = readAuditKey(dataDirectory, box) ?? (await firstAuditKey(log, box))
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
