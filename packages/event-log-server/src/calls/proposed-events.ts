import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import { maxAppendBytes } from '@transferd/event-log'
import type { EventContent } from '@transferd/event-log/streams'
import { parseId } from '../wire/wire-values.js'

/** The maximum size of metadata and types in an append. EventStoreDB's limit does not include them. */
const maxOtherBytes = 64 * 1024 * 1024
const eventOverhead = 64

interface ProposedMessage {
  getId(): UUID | undefined
  getMetadataMap(): { get(key: string): string | undefined }
  getData_asU8(): Uint8Array
  getCustomMetadata_asU8(): Uint8Array
}

/** Collects the events of an append, up to the maximum size. */
export class ProposedEvents {
  events: EventContent[] = []
  rejection: 'too_large' | 'malformed' | undefined
  #dataBytes = 0
  #otherBytes = 0

  /** The number of bytes in memory. */
  get bytes(): number {
    return this.rejection === 'too_large' ? 0 : this.#dataBytes + this.#otherBytes
  }

  add(message: ProposedMessage): void {
    if (this.rejection === 'too_large') return
    const data = message.getData_asU8()
    const metadata = message.getCustomMetadata_asU8()
    const type = message.getMetadataMap().get('type') ?? ''
    this.#dataBytes += data.length
    this.#otherBytes += metadata.length + type.length + eventOverhead
    if (this.#dataBytes > maxAppendBytes || this.#otherBytes > maxOtherBytes) {
      this.rejection = 'too_large'
      this.events = []
      return
    }
    const id = parseId(message.getId())
    if (id === undefined || type === '') {
      this.rejection = 'malformed'
      return
    }
    const isJson = message.getMetadataMap().get('content-type') === 'application/json'
    this.events.push({ id, type, isJson, data, metadata })
  }
}
