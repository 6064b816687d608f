/** Streams with metadata, deletion, access lists and system events, as EventStoreDB has them: what its protocol stands on. */
export { decodeBody, type EventContent, encodeBody, parseObject } from './file/event-body.js'
export { positionAtOrBehind, positionScale, positionText } from './file/shown-position.js'
export { isMetadataStream, tombstoneRevision } from './file/stream-metadata.js'
export {
  asFollowed,
  type Direction,
  type StoredEvent,
  type StreamReader,
  type StreamView,
} from './reader/stream-reader.js'
export { StreamStore } from './stream-store.js'
export type { Expected } from './writer/stream-rules.js'
export type { Outcome } from './writer/writer-client.js'
