import { type NoteSigner, VerificationError } from '@transferd/transparency-log'
import type { CommandContext } from '../../commands/handle-command.js'
import { EvidenceCommands } from '../../commands/integrity/evidence-commands.js'
import { type Refused, refuse } from '../../domain/decider.js'
import type { Disclosable } from '../../domain/disclosable.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { NotSealedYet } from '../proofs/transfer-proof.js'
import { CustomerErasedError, type EvidenceSource, evidencePackage } from './evidence-package.js'

type Made = NonNullable<Awaited<ReturnType<typeof evidencePackage>>>
export type EvidenceOutcome =
  | ({ readonly outcome: 'made'; readonly accepted: true } & Made)
  | ({ readonly outcome: 'refused' } & Refused)
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'not-sealed' }
  | { readonly outcome: 'unverified'; readonly reason: string }

interface EvidenceRequest {
  readonly trackingId: string
  readonly disclose: readonly Disclosable[]
  /** A checkpoint that was kept earlier. */
  readonly older?: string | undefined
}

interface EvidenceParts extends Omit<EvidenceSource, 'key'> {
  /** The log for commands. */
  readonly store: EventStore
  /** Returns `undefined` for an empty log. */
  readonly key: () => Promise<NoteSigner | undefined>
  readonly clock: Clock
}

/** Creates the evidence packages of a log, and records each of them. */
export class EvidencePackages {
  readonly commands: EvidenceCommands
  readonly #parts: EvidenceParts

  constructor(parts: EvidenceParts) {
    this.#parts = parts
    this.commands = new EvidenceCommands(parts.store, parts.clock)
  }

  /** Creates a package, which is recorded before it is given away. @throws StoreUnavailableError */
  async create(request: EvidenceRequest, context: CommandContext): Promise<EvidenceOutcome> {
    try {
      return await this.#create(request, context)
    } catch (error) {
      if (error instanceof NotSealedYet) return { outcome: 'not-sealed' }
      if (error instanceof CustomerErasedError)
        return { outcome: 'refused', ...refuse('conflict', 'disclosure-erased') }
      if (error instanceof VerificationError) return { outcome: 'unverified', reason: error.message }
      throw error
    }
  }

  async #create(request: EvidenceRequest, context: CommandContext): Promise<EvidenceOutcome> {
    const { trackingId, disclose, older } = request
    const key = await this.#parts.key()
    if (!key) return { outcome: 'unknown' }
    const requestId = disclose.length === 0 ? null : await this.#approvalOf(request)
    if (requestId === undefined) return { outcome: 'refused', ...refuse('conflict', 'disclosure-not-approved') }
    const made = await evidencePackage({ ...this.#parts, key }, trackingId, { disclose, older })
    if (!made) return { outcome: 'unknown' }
    const { sha256, events, treeSize } = made
    const created = { requestId, sha256, events, treeSize }
    const recorded = await this.commands.recordPackage(trackingId, created, context)
    return recorded.accepted ? { outcome: 'made', accepted: true, ...made } : { outcome: 'refused', ...recorded }
  }

  /** Returns the id of the request in force that covers the disclosure, or `undefined`. */
  async #approvalOf({ trackingId, disclose }: EvidenceRequest): Promise<string | undefined> {
    const disclosure = await this.commands.disclosure(trackingId)
    const isApproved = disclosure?.isInForce && disclose.every((word) => disclosure.disclose.includes(word))
    return isApproved ? disclosure.requestId : undefined
  }
}
