import { fail } from './bank-file-error.js'

type Bytes = AsyncIterable<Uint8Array>

const maxLineBytes = 65_536

/** A text of this length is handled at a time, so that a large chunk of bytes does not become as many records in memory. */
const pieceBytes = 65_536

/** Returns the first bytes, up to `size`, and all bytes again in pieces. */
export async function startOf(bytes: Bytes, size: number): Promise<{ start: Buffer; all: Bytes }> {
  const rest = pieces(bytes)
  let start: Buffer = Buffer.alloc(0)
  while (start.length < size) {
    const { value, done } = await rest.next()
    if (done) break
    start = Buffer.concat([start, value])
  }
  async function* all() {
    try {
      yield start
      yield* rest
    } finally {
      await rest.return(undefined)
    }
  }
  return { start: start.subarray(0, size), all: all() }
}

async function* pieces(bytes: Bytes): AsyncGenerator<Uint8Array, undefined> {
  for await (const chunk of bytes)
    for (let from = 0; from < chunk.length; from += pieceBytes) yield chunk.subarray(from, from + pieceBytes)
}

/** Returns the text. A byte order mark is not part of it. @throws BankFileError for bytes that are not in the encoding */
export async function* decoded(bytes: Bytes, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const textOf = (chunk?: Uint8Array) => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    } catch {
      return fail('bank-file-encoding', { encoding })
    }
  }
  for await (const chunk of bytes) yield textOf(chunk)
  yield textOf()
}

/** Returns UTF-8, so that all readers handle files in UTF-16. */
export async function* asUtf8(bytes: Bytes, encoding: string): Bytes {
  for await (const text of decoded(bytes, encoding)) yield Buffer.from(text)
}

export interface Line {
  readonly text: string
  /** The number of the line, from 1. */
  readonly place: string
}

/**
 * Returns the lines without their ends. MT940 and CSV do not state their encoding, so a line is UTF-8 if it is valid UTF-8, and otherwise
 * windows-1252, which contains ISO-8859-1. @throws BankFileError for a line without an end in sight
 */
export async function* linesOf(bytes: Bytes): AsyncGenerator<Line> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const latin = new TextDecoder('windows-1252')
  let number = 0
  const lineOf = (line: Buffer): Line => {
    number += 1
    if (line.length > maxLineBytes) fail('bank-text-too-long', { place: String(number), most: maxLineBytes })
    const bare = line.at(-1) === 13 ? line.subarray(0, -1) : line
    try {
      return { text: utf8.decode(bare), place: String(number) }
    } catch {
      return { text: latin.decode(bare), place: String(number) }
    }
  }
  let unfinished: Buffer = Buffer.alloc(0)
  for await (const chunk of bytes) {
    let rest: Buffer = Buffer.concat([unfinished, chunk])
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield lineOf(rest.subarray(0, end))
      rest = rest.subarray(end + 1)
    }
    if (rest.length > maxLineBytes) lineOf(rest)
    unfinished = rest
  }
  if (unfinished.length > 0) yield lineOf(unfinished)
}
