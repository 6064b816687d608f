import { DirectoryTiles, VerificationError } from '@transferd/transparency-log'
import { CustomerErasedError, evidencePackage } from '../../audit/evidence/evidence-package.js'
import { NotSealedYet } from '../../audit/proofs/transfer-proof.js'
import type { CommandContext } from '../../commands/handle-command.js'
import { EvidenceCommands } from '../../commands/integrity/evidence-commands.js'
import { type Refused, refuse } from '../../domain/decider.js'
import type { Disclosable } from '../../domain/disclosure.js'
import type { Clock } from '../../kernel/time.js'
import type { Configuration } from '../configuration/configuration.js'
import type { OpenedLog } from '../stores/stores.js'
import { auditKeyOf } from './audit-files.js'

type Made = NonNullable<Awaited<ReturnType<typeof evidencePackage>>>
export type EvidenceOutcome =
  | ({ readonly outcome: 'made' } & Made)
  | ({ readonly outcome: 'refused' } & Refused)
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'not-sealed' }
  | { readonly outcome: 'unverified'; readonly reason: string }

export interface EvidenceRequest {
  readonly trackingId: string
  readonly disclose: readonly Disclosable[]
  /** A checkpoint that was kept earlier. */
  readonly older?: string | undefined
}

export type EvidencePackages = ReturnType<typeof evidencePackages>

/** The evidence packages of a log, with the tree in this node's directory. */
export function evidencePackages(
  { audit, dataDirectory }: Configuration,
  {
    eventStore,
    rawEventStore: log,
    customerKeys: keys,
    box,
  }: Pick<OpenedLog, 'eventStore' | 'rawEventStore' | 'customerKeys' | 'box'>,
  clock: Clock,
) {
  const commands = new EvidenceCommands(eventStore, clock)

  const approvalOf = async ({ trackingId, disclose }: EvidenceRequest) => {
    const disclosure = await commands.disclosure(trackingId)
    const isApproved = disclosure?.isInForce && disclose.every((word) => disclosure.disclose.includes(word))
    return isApproved ? disclosure.requestId : undefined
  }
  const create = async (request: EvidenceRequest, context: CommandContext): Promise<EvidenceOutcome> => {
    const { trackingId, disclose, older } = request
    const key = await auditKeyOf(dataDirectory, log, box)
    if (!key) return { outcome: 'unknown' }
    const requestId = disclose.length === 0 ? null : await approvalOf(request)
    if (requestId === undefined) return { outcome: 'refused', ...refuse('conflict', 'disclosure-not-approved') }
    const source = { log, tiles: new DirectoryTiles(audit.directory), key, keys }
    const made = await evidencePackage(source, trackingId, { disclose, older })
    if (!made) return { outcome: 'unknown' }
    const { sha256, events, treeSize } = made
    const recorded = await commands.recordPackage(trackingId, { requestId, sha256, events, treeSize }, context)
    return recorded.accepted ? { outcome: 'made', ...made } : { outcome: 'refused', ...recorded }
  }

  return {
    commands,
    /** Creates a package and records it before it is given away. @throws StoreUnavailableError */
    async create(request: EvidenceRequest, context: CommandContext): Promise<EvidenceOutcome> {
      try {
        return await create(request, context)
      } catch (error) {
        if (error instanceof NotSealedYet) return { outcome: 'not-sealed' }
        if (error instanceof CustomerErasedError)
          return { outcome: 'refused', ...refuse('conflict', 'disclosure-erased') }
        if (error instanceof VerificationError) return { outcome: 'unverified', reason: error.message }
        throw error
      }
    },
  }
}
