import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import { maxAppendBytes } from '@transferd/event-log'
import type { EventContent } from '@transferd/event-log/streams'
import { idOf } from '../wire/wire-values.js'

/** Of metadata and types in one append, which do not count into the real limit. */
const maxOtherBytes = 64 * 1024 * 1024
const eventOverhead = 64

interface ProposedMessage {
  getId(): UUID | undefined
  getMetadataMap(): { get(key: string): string | undefined }
  getData_asU8(): Uint8Array
  getCustomMetadata_asU8(): Uint8Array
}

export type Refusal = 'too_large' | 'malformed'

/** Collects the events of one append, and no more of them than an append may hold. */
export class ProposedEvents {
  events: EventContent[] = []
  refusal: Refusal | undefined
  #dataBytes = 0
  #otherBytes = 0

  /** Held in memory. */
  get bytes(): number {
    return this.refusal === 'too_large' ? 0 : this.#dataBytes + this.#otherBytes
  }

  add(message: ProposedMessage): void {
    if (this.refusal === 'too_large') return
    const data = message.getData_asU8()
    const metadata = message.getCustomMetadata_asU8()
    const type = message.getMetadataMap().get('type') ?? ''
    this.#dataBytes += data.length
    this.#otherBytes += metadata.length + type.length + eventOverhead
    if (this.#dataBytes > maxAppendBytes || this.#otherBytes > maxOtherBytes) {
      this.refusal = 'too_large'
      this.events = []
      return
    }
    const id = idOf(message.getId())
    if (id === undefined || type === '') {
      this.refusal = 'malformed'
      return
    }
    const isJson = message.getMetadataMap().get('content-type') === 'application/json'
    this.events.push({ id, type, isJson, data, metadata })
  }
}
