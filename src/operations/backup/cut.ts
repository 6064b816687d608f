import { createHash, type Hash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/** Of SQLite's files: what is inserted in the middle of one moves the rest by whole pages. */
const pageBytes = 4_096
const readBytes = 256 * pageBytes
const minBytes = 64 * pageBytes
const maxBytes = 1_024 * pageBytes
/** One page in so many ends a piece. */
const meanPages = 128

export interface SourceFile {
  readonly path: string
  readonly source: string
}

export interface CutFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/**
 * The bytes of all files, one after the other, in pieces that end where their content says so: most pieces of a file that has grown or
 * changed are the ones of the last time. `onFile` is told of each when its last byte was read.
 */
export function* cut(files: Iterable<SourceFile>, onFile: (file: CutFile) => void): Iterable<Buffer> {
  let piece: Buffer[] = []
  let bytes = 0
  for (const { path, source } of files) {
    const hash = createHash('sha256')
    let size = 0
    for (const page of pagesOf(source, hash)) {
      size += page.length
      bytes += page.length
      piece.push(page)
      if (bytes < maxBytes && (bytes < minBytes || !endsPiece(page))) continue
      yield Buffer.concat(piece)
      piece = []
      bytes = 0
    }
    onFile({ path, bytes: size, sha256: hash.digest('hex') })
  }
  if (bytes > 0) yield Buffer.concat(piece)
}

function endsPiece(page: Buffer): boolean {
  return crc32(page) % meanPages === 0
}

function* pagesOf(path: string, hash: Hash): Iterable<Buffer> {
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const block = Buffer.allocUnsafe(readBytes)
      let filled = 0
      for (let read = -1; read !== 0 && filled < readBytes; filled += read)
        read = readSync(file, block, filled, readBytes - filled, null)
      if (filled === 0) return
      hash.update(block.subarray(0, filled))
      for (let at = 0; at < filled; at += pageBytes) yield block.subarray(at, Math.min(at + pageBytes, filled))
    }
  } finally {
    closeSync(file)
  }
}
