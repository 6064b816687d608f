/** The rules of appends and reads without a file. A log of another kind, such as one in memory, is built on this entry. */
export { parseBody, toPosition } from './file/event-body.js'
export { reservedKeys } from './file/reserved-keys.js'
export { anyTimeMs } from './file/stream-metadata.js'
export { checkCount, completeRange } from './reader/stream-pages.js'
export { decideAppend } from './writer/stream-rules.js'
export { encodeAppend } from './writer/writer-client.js'
export type { Batch } from './writer/writer-messages.js'
