import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const types: { readonly [extension: string]: string } = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

export interface WebFile {
  readonly type: string
  readonly content: Buffer
  /** The encoding of the content. Absent if the build has not compressed it. */
  readonly encoding?: 'br'
}

const compressedEnd = '.br'

/**
 * Reads the scripts, styles, icons and fonts that `npm run build` writes into the folder, by their path in it, sorted. @throws Error if `needed` is
 * missing, because the program was built without them
 */
export function readWebFiles(folder: URL, needed: readonly string[]): ReadonlyMap<string, WebFile> {
  for (const name of needed) {
    if (existsSync(new URL(name, folder))) continue
    throw new Error(`the pages are not built: run npm run build (no ${name} in ${folder.pathname})`)
  }
  const files = new Map<string, WebFile>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const isCompressed = name.endsWith(compressedEnd)
    const path = (isCompressed ? name.slice(0, -compressedEnd.length) : name).replaceAll('\\', '/')
    const type = types[extname(path)]
    if (type === undefined) continue
    const content = readFileSync(new URL(name.replaceAll('\\', '/'), folder))
    files.set(path, { type, content, ...(isCompressed && { encoding: 'br' }) })
  }
  return files
}

/** Sends a file in an encoding that the browser accepts. */
export async function sendWebFile(
  file: WebFile,
  { headers }: FastifyRequest,
  reply: FastifyReply,
  caching: string,
): Promise<FastifyReply> {
  reply.headers({ 'content-type': file.type, 'cache-control': caching, 'x-content-type-options': 'nosniff' })
  if (file.encoding === undefined) return reply.send(file.content)
  const accepted = acceptedEncodings(headers['accept-encoding'])
  const encoding = [file.encoding, 'gzip' as const].find((name) => accepted.has(name))
  reply.header('vary', 'Accept-Encoding')
  if (encoding) reply.header('content-encoding', encoding)
  if (encoding === 'br') return reply.send(file.content)
  return reply.send(await (encoding === 'gzip' ? gzipped(file) : decompress(file)))
}

/** Returns the encodings that the header names and does not exclude with `q=0` (RFC 9110, section 12.5.3). */
function acceptedEncodings(header = ''): ReadonlySet<string> {
  const listed = header.toLowerCase().split(',')
  return new Set(listed.filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each)).map((each) => each.split(';', 1)[0]!.trim()))
}

/** Browsers accept only gzip from a server without TLS on another machine. */
const inGzip = new WeakMap<WebFile, Promise<Buffer>>()

function gzipped(file: WebFile): Promise<Buffer> {
  const made = inGzip.get(file) ?? decompress(file).then((content) => promisify(gzip)(content))
  inGzip.set(file, made)
  return made
}

function decompress({ content }: WebFile): Promise<Buffer> {
  return promisify(brotliDecompress)(content) as Promise<Buffer>
}
