import { crc32 } from 'node:zlib'

export interface PackedFile {
  /** ASCII. */
  readonly name: string
  readonly content: Buffer
}

const localHeader = 0x04034b50
const centralHeader = 0x02014b50
const endRecord = 0x06054b50
const madeBy = 20
const versionNeeded = 10
/** 1980-01-01, the earliest date of the format. */
const date = 0x21

/**
 * Returns a ZIP file without compression. Every field has a single value, so a reader of the files can build the same bytes and compare
 * them (docs/auditing/evidence.md#the-file).
 */
export function zipOf(files: readonly PackedFile[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content } of files) {
    const names = Buffer.from(name, 'latin1')
    const common = Buffer.alloc(26)
    common.writeUInt16LE(versionNeeded, 0)
    common.writeUInt16LE(date, 8)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(content.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(names.length, 22)
    parts.push(uint32(localHeader), common, names, content)
    // The directory's own fields after the common ones: comment, disk and attributes, which are empty, and the place of the file.
    directory.push(uint32(centralHeader), uint16(madeBy), common, Buffer.alloc(10), uint32(offset), names)
    offset += 30 + names.length + content.length
  }
  const listed = Buffer.concat(directory)
  const count = uint16(files.length)
  const end = [uint32(endRecord), Buffer.alloc(4), count, count, uint32(listed.length), uint32(offset), uint16(0)]
  return Buffer.concat([...parts, listed, ...end])
}

/** Returns the content of a file of a package that {@link zipOf} created. @throws Error if it has none */
export function fileIn(zip: Buffer, wanted: string): Buffer {
  for (let offset = 0; offset + 30 <= zip.length && zip.readUInt32LE(offset) === localHeader; ) {
    const [start, size] = [offset + 30 + zip.readUInt16LE(offset + 26), zip.readUInt32LE(offset + 18)]
    if (zip.toString('latin1', offset + 30, start) === wanted) return zip.subarray(start, start + size)
    offset = start + size
  }
  throw new Error(`it does not contain ${wanted}`)
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
