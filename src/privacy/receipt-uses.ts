import { streamPrefix, transferStream } from '../domain/streams.js'
import { type EventStore, logPages, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { digestInReceiptUrl } from '../security/receipt-names.js'
import type { SecretBox } from '../security/secret-box.js'
import { eachOf } from './customer-transfers.js'

interface ReceiptUsesParts {
  /** The log as stored. */
  readonly raw: EventStore
  readonly readModels: ReadModels
  readonly box: Pick<SecretBox, 'mac'>
}

/** Knows from the log which transfers name an uploaded file, because the same file can belong to transfers of several customers. */
export class ReceiptUses {
  readonly #usersOf = new Map<string, Set<string>>()
  readonly #erased = new Set<string>()
  #through: Position | undefined

  constructor(private readonly parts: ReceiptUsesParts) {}

  /**
   * Deletes the files that these transfers name or have ever named, unless a transfer that is not erased names them too. Returns their
   * number. @throws StoreUnavailableError, ReadModelsUnavailableError
   */
  async deleteUnused(trackingIds: readonly string[]): Promise<number> {
    const { raw, readModels } = this.parts
    const streams = await eachOf(trackingIds, (trackingId) => raw.readStream(transferStream(trackingId)))
    const named = new Set(streams.flat().flatMap((event) => this.#digestIn(event) ?? []))
    // Most transfers have no uploaded file, so the log is not read for them.
    if (named.size === 0) return 0
    await this.#catchUp()
    const unused = [...named].filter((sha256) => [...this.#usersOf.get(sha256)!].every((id) => this.#erased.has(id)))
    const deleted = await eachOf(unused, (_id) =>
      readModels.collection(collections.receipts).bulkWrite([{ deleteOne: { filter: { _id } } }]),
    )
    return deleted.reduce((sum, { deletedCount }) => sum + deletedCount, 0)
  }

  /** Resumes at the end of the last pass, so that many erasures read the log once. */
  async #catchUp(): Promise<void> {
    const { raw } = this.parts
    const streamPrefixes = [streamPrefix.transfer]
    for await (const { events, through } of logPages(raw, { after: this.#through, streamPrefixes })) {
      for (const event of events) {
        const trackingId = event.stream.slice(streamPrefix.transfer.length)
        if (event.type === 'PersonalDataErased') this.#erased.add(trackingId)
        const sha256 = this.#digestIn(event)
        if (sha256 === undefined) continue
        const users = this.#usersOf.get(sha256)
        if (users) users.add(trackingId)
        else this.#usersOf.set(sha256, new Set([trackingId]))
      }
      this.#through = through
    }
  }

  #digestIn({ data: { receiptUrl } }: RecordedEvent): string | undefined {
    return typeof receiptUrl === 'string' ? digestInReceiptUrl(this.parts.box, receiptUrl) : undefined
  }
}
