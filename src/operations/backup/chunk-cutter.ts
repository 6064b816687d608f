import { crc32 } from 'node:zlib'

const kibibyte = 1024
const minBytes = 256 * kibibyte
const meanExtraBytes = 256 * kibibyte
/** A backup that completes a chunk stores it again as a whole, so this is also the most that a part repeats. */
const maxBytes = 1024 * kibibyte
/** The end of a part is cut finer, because the next backup replaces its last piece. */
const openEndBytes = 128 * kibibyte

/**
 * Cuts a part into chunks between its records, at places that the content determines. A part that has grown therefore starts with the same
 * chunks, and a record that was added or removed in the middle changes one or two of them.
 */
export async function* cutIntoChunks(records: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let open: Buffer[] = []
  let bytes = 0
  for await (const record of records) {
    open.push(record)
    bytes += record.length
    if (bytes < maxBytes && (bytes < minBytes || !endsChunk(record))) continue
    yield Buffer.concat(open)
    open = []
    bytes = 0
  }
  yield* cutOpenEnd(open)
}

/** A longer record is more likely to end a chunk, so that the mean size is the same for records of every length. */
function endsChunk(record: Buffer): boolean {
  return crc32(record) < (record.length / meanExtraBytes) * 2 ** 32
}

function* cutOpenEnd(records: readonly Buffer[]): Generator<Buffer> {
  let piece: Buffer[] = []
  let bytes = 0
  for (const record of records) {
    piece.push(record)
    bytes += record.length
    if (bytes < openEndBytes) continue
    yield Buffer.concat(piece)
    piece = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(piece)
}
