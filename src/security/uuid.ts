import { hash } from 'node:crypto'

const namespaceLength = 16
/** The variant bits 10 of RFC 9562 in place of the upper two bits of a hexadecimal digit. */
const variantDigits = ['8', '9', 'a', 'b']

/** UUIDv5 (RFC 9562, 5.5) of a name in a namespace, which is a UUID too. */
export function uuidV5(name: string, namespace: string): string {
  const bytes = Buffer.allocUnsafe(namespaceLength + Buffer.byteLength(name))
  if (bytes.write(namespace.replaceAll('-', ''), 0, namespaceLength, 'hex') !== namespaceLength) {
    // What was in the memory before would become part of the id.
    throw new TypeError('a namespace must be a UUID')
  }
  bytes.write(name, namespaceLength)
  const digest = hash('sha1', bytes)
  const variant = variantDigits[Number.parseInt(digest[16]!, 16) & 3]
  const head = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}`
  return `${head}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}
