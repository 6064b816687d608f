import { hash } from 'node:crypto'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import type { SecretBox } from '../security/secret-box.js'

/** Returns the UUIDv5 of `<kind>:<referenceId>` in the namespace of the merchant, so that a second create finds the first one. */
export function trackingIdOf(merchantId: string, kind: TransferKind, referenceId: string): string {
  return uuidV5(`${kind}:${referenceId}`, merchantId)
}

/** Returns the id by which the wallet knows a customer's device: a keyed digest of the merchant and its userId, which reveals neither. */
export function deviceIdOf(box: Pick<SecretBox, 'mac'>, merchantId: string, userId: string): string {
  return box.mac('device', JSON.stringify([merchantId, userId]))
}

/** Returns the id of the event that `cause` leads to, which is the same at every repetition. */
export const derivedEventId = (cause: string, purpose: string): string => uuidV5(purpose, cause)
const namespaceLength = 16
/** The variant bits 10 of RFC 9562 in place of the upper two bits of a hexadecimal digit. */
const variantDigits = ['8', '9', 'a', 'b']

/** Longer names get a new buffer. */
const sharedLength = 256
const shared = Buffer.alloc(namespaceLength + sharedLength)
/** The start of the shared buffer with a name of each length. */
const sharedViews = Array.from({ length: sharedLength + 1 }, (_, length) =>
  shared.subarray(0, namespaceLength + length),
)
/** The namespace at the start of the shared buffer: consecutive names often have the same one. */
let sharedNamespace: string | undefined

/** Returns the UUIDv5 (RFC 9562, 5.5) of a name in a namespace, which is a UUID too. @throws TypeError */
export function uuidV5(name: string, namespace: string): string {
  // Allocating a buffer costs more than the hash, and a view of it half as much. A UTF-16 unit takes at most three bytes.
  const fits = name.length * 3 <= sharedLength
  const bytes = fits ? shared : Buffer.alloc(namespaceLength + Buffer.byteLength(name))
  if (!fits || namespace !== sharedNamespace) writeNamespace(bytes, namespace)
  const length = bytes.write(name, namespaceLength)
  const digest = hash('sha1', fits ? sharedViews[length]! : bytes)
  const variant = variantDigits[Number.parseInt(digest[16]!, 16) & 3]
  const head = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}`
  return `${head}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}

function writeNamespace(bytes: Buffer, namespace: string): void {
  if (bytes === shared) sharedNamespace = undefined
  if (bytes.write(namespace.replaceAll('-', ''), 0, namespaceLength, 'hex') !== namespaceLength) {
    // Otherwise earlier content of the buffer would become part of the id.
    throw new TypeError('a namespace must be a UUID')
  }
  if (bytes === shared) sharedNamespace = namespace
}
