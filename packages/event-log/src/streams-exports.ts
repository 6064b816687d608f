/** Streams with metadata, deletion, access lists and system events. The protocol server is built on this entry. */
export type { Direction, ExpectedRevision } from './event-log-types.js'
export {
  damagedType,
  decodeBody,
  type EventContent,
  encodeBody,
  parseObject,
  positionAtOrAfter,
  positionScale,
  positionText,
} from './file/event-body.js'
export { isMetadataStream, tombstoneRevision } from './file/stream-metadata.js'
export { followerView, type LogReader, type StreamView } from './reader/log-reader.js'
export type { StoredEvent } from './reader/stored-event.js'
export { StreamStore } from './stream-store.js'
export type { Outcome } from './writer/writer-client.js'
