import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import {
  formatCheckpoint,
  generateSigner,
  leafHash,
  MemoryTiles,
  parseSigner,
  signNote,
  TreeAppender,
} from '@transferd/transparency-log'
import { readTree, treeBundles } from '../../../src/audit/integrity/log-sealer.js'

export const signer = parseSigner(generateSigner('log.example/transferd'))
export const trackingId = '8013cb06-5343-5c8a-806a-afcb989ba907'
export const keyId = 'Zm9vYmFyZm9vYmFyZm9vYg'

export interface TestEvent {
  readonly stream: string
  readonly type: string
  readonly data?: object
  readonly actor?: string
  /** Fields that the event holds as commitments. */
  readonly personal?: { readonly [field: string]: unknown }
}

interface Proven {
  index: number
  leaf: string
  proof: string[]
}
interface Disclosed {
  index: number
  hashes: string[]
  fields: { at: number; field: string; salt: string; value: string }[]
}
export interface Evidence {
  format: string
  trackingId: string
  checkpoint: string
  events: Proven[]
  disclosed: Disclosed[]
  older?: { checkpoint: string; proof: string[] }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A log in memory. */
export class TestLog {
  readonly #tiles = new MemoryTiles()
  readonly #leaves: string[] = []
  readonly #revisions = new Map<string, number>()
  readonly disclosed: Disclosed[] = []

  get size(): number {
    return this.#leaves.length
  }

  append({ stream, type, data = {}, actor = 'system:test', personal }: TestEvent): void {
    const index = this.#leaves.length
    const revision = this.#revisions.get(stream) ?? 0
    this.#revisions.set(stream, revision + 1)
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    const fields = Object.entries(personal ?? {}).map(([field, content], at) => {
      const salt = Buffer.alloc(16, index * 31 + at).toString('base64')
      return { at, field, salt, value: JSON.stringify(content) }
    })
    const hashes = fields.map(({ field, salt, value }) =>
      sha256(['transferd-field/1', stream, id, field, salt, value].join('\n')),
    )
    const commitment = createHash('sha256')
      .update(['transferd-fields/1', ...hashes].join('\n'))
      .digest('base64url')
    const stored = personal ? { ...data, sealed: `c2.${keyId}.${commitment}.c2VhbGVk` } : data
    if (personal) this.disclosed.push({ index, hashes, fields })
    const content = [id, type, stored, { actor, $correlationId: id, $causationId: id, schemaVersion: 1 }]
    this.#leaves.push(
      JSON.stringify(['transferd/2 event', stream, revision, 1_795_860_000_000 + index * 1000, content]),
    )
  }

  /** Returns what proves the events with these indexes, and all disclosed fields. */
  async evidence(indexes: readonly number[], olderSize?: number): Promise<Evidence> {
    const appender = await TreeAppender.open(this.#tiles, 0, treeBundles)
    const names = this.#leaves.map((_, index) => Buffer.from(`leaf@${index}`))
    await appender.append(names, this.#leaves.map(leafHash))
    await appender.flush()
    const tree = readTree(this.#tiles, this.size)
    const base64 = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('base64'))
    const events: Proven[] = []
    for (const index of indexes) {
      events.push({ index, leaf: this.#leaves[index]!, proof: base64(await tree.inclusionProof(index)) })
    }
    const checkpoint = await this.#checkpoint(this.size)
    const disclosed = this.disclosed.filter(({ index }) => indexes.includes(index))
    const evidence = { format: 'transferd-evidence/1', trackingId, checkpoint, events, disclosed }
    if (olderSize === undefined) return evidence
    const proof = base64(await tree.consistencyProof(olderSize))
    return { ...evidence, older: { checkpoint: await this.#checkpoint(olderSize), proof } }
  }

  async #checkpoint(size: number): Promise<string> {
    const appender = await TreeAppender.open(new MemoryTiles(), 0, treeBundles)
    await appender.append(
      this.#leaves.slice(0, size).map(() => Buffer.alloc(1)),
      this.#leaves.slice(0, size).map(leafHash),
    )
    return signNote(formatCheckpoint({ origin: signer.name, size, root: appender.root() }), [signer])
  }
}

const program = (name: string) => readFileSync(`src/audit/evidence/${name}`)

/** Returns the files of a package, except the manifest, in their order. The evidence is an object or its text. */
export function filesOf(evidence: unknown): Map<string, Buffer> {
  const isText = typeof evidence === 'string' || Buffer.isBuffer(evidence)
  return new Map([
    ['README.txt', Buffer.from('How to check\n')],
    ['evidence.json', Buffer.from(isText ? evidence : JSON.stringify(evidence))],
    ['report.html', Buffer.from('<p>report\n')],
    ['report.tr.html', Buffer.from('<p>rapor\n')],
    ['texts.json', Buffer.from('{}\n')],
    ['verify.go', program('verify.go')],
    ['verify.py', program('verify.py')],
  ])
}

/** Returns a package of these files with this manifest, or one that the log's key signs. */
export function packed(files: ReadonlyMap<string, Buffer>, manifest = manifestOf(files)): Buffer {
  const all = [...files, ['manifest.txt', Buffer.from(manifest)] as const]
  return zipped(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function manifestOf(files: ReadonlyMap<string, Buffer>): string {
  const lines = [...files].map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
  return signNote(`transferd-evidence/1\n${lines.join('')}`, [signer])
}

function zipped(files: readonly (readonly [name: string, content: Buffer])[]): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, content] of files) {
    const common = Buffer.alloc(26)
    common.writeUInt16LE(10, 0)
    common.writeUInt16LE(0x0021, 8)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(content.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), content])
    local.push(file)
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, rest, Buffer.from(name)]))
    offset += file.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...local, directory, end])
}
