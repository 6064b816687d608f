import { BackupError } from './backup-manifest.js'

/** A part of a backup is a sequence of records. A record is a line of JSON; if that has a field `bytes`, as many bytes follow it. */
export interface PartRecord {
  readonly value: unknown
  readonly content: Buffer
}

export function jsonRecord(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

export function fileRecord(path: string, content: Uint8Array): Buffer {
  return Buffer.concat([jsonRecord({ path, bytes: content.length }), content])
}

/** Yields the records of chunks, each of which ends with a record. @throws BackupError */
export function* readRecords(chunks: Iterable<Buffer>): Generator<PartRecord> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const lineEnd = chunk.indexOf('\n', at)
      const value = parseLine(chunk.toString('utf8', at, lineEnd))
      const end = lineEnd + 1 + bytesAfter(value)
      if (lineEnd < 0 || end > chunk.length) throw new BackupError('the backup is damaged: a record is incomplete')
      yield { value, content: chunk.subarray(lineEnd + 1, end) }
      at = end
    }
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new BackupError('the backup is damaged: a record is not JSON')
  }
}

function bytesAfter(value: unknown): number {
  const bytes = (value as { readonly bytes?: unknown } | null)?.bytes
  return Number.isSafeInteger(bytes) && Number(bytes) > 0 ? Number(bytes) : 0
}
