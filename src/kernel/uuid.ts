import { hash } from 'node:crypto'

const namespaceLength = 16
/** The variant bits 10 of RFC 9562 in place of the upper two bits of a hexadecimal digit. */
const variantDigits = ['8', '9', 'a', 'b']

/** Longer names have a buffer of their own. */
const usualLength = 256
const usual = Buffer.alloc(namespaceLength + usualLength)
/** The namespace that the usual buffer begins with: many names in a row are in the same. */
let known: string | undefined

/** UUIDv5 (RFC 9562, 5.5) of a name in a namespace, which is a UUID too. */
export function uuidV5(name: string, namespace: string): string {
  // In a buffer that stays: to make one costs more than the hash. A UTF-16 unit is at most three bytes.
  const isUsual = name.length * 3 <= usualLength
  const bytes = isUsual ? usual : Buffer.alloc(namespaceLength + Buffer.byteLength(name))
  if (!isUsual || namespace !== known) writeNamespace(bytes, namespace)
  const digest = hash('sha1', bytes.subarray(0, namespaceLength + bytes.write(name, namespaceLength)))
  const variant = variantDigits[Number.parseInt(digest[16]!, 16) & 3]
  const head = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}`
  return `${head}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}

/** @throws TypeError */
function writeNamespace(bytes: Buffer, namespace: string): void {
  if (bytes === usual) known = undefined
  if (bytes.write(namespace.replaceAll('-', ''), 0, namespaceLength, 'hex') !== namespaceLength) {
    // What was in the memory before would become part of the id.
    throw new TypeError('a namespace must be a UUID')
  }
  if (bytes === usual) known = namespace
}
