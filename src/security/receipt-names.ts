import { timingSafeEqual } from 'node:crypto'
import type { SecretBox } from './secret-box.js'

type MacBox = Pick<SecretBox, 'mac'>

const form = /^([0-9a-f]{64})-([A-Za-z0-9_-]{32})$/

/** Returns the name of an uploaded file. The digest identifies it, and the keyed digest makes the name unpredictable. */
export function receiptName(box: MacBox, sha256: string): string {
  // 192 bits, because 256 bits would exceed the router's limit.
  return `${sha256}-${box.mac('receipt', sha256).slice(0, 32)}`
}

/** Returns the digest in a name that this service has issued, or `undefined` for any other name. */
export function digestOfReceipt(box: MacBox, name: string): string | undefined {
  const [, sha256] = form.exec(name) ?? []
  if (sha256 === undefined) return undefined
  return timingSafeEqual(Buffer.from(receiptName(box, sha256)), Buffer.from(name)) ? sha256 : undefined
}

/** Returns the digest that the address of an uploaded receipt contains, at any host, because `PUBLIC_URL` can change. */
export function digestInReceiptUrl(box: MacBox, url: string): string | undefined {
  const [, name] = /\/receipts\/([^/]+)$/.exec(decodedPath(url) ?? '') ?? []
  return name === undefined ? undefined : digestOfReceipt(box, name)
}

/**
 * Returns the digest of a receipt that was uploaded here, `undefined` for an address elsewhere, and `'invalid'` for one that only looks like
 * the address of an uploaded receipt.
 */
export function uploadedReceipt(box: MacBox, publicUrl: string, url: string): string | undefined | 'invalid' {
  const sha256 = digestInReceiptUrl(box, url)
  const own = `${publicUrl}/receipts/`
  if (sha256 !== undefined) return url === own + receiptName(box, sha256) ? sha256 : 'invalid'
  const isHere = new URL(url).origin === new URL(own).origin
  return isHere && decodedPath(url)?.startsWith(new URL(own).pathname) ? 'invalid' : undefined
}

function decodedPath(url: string): string | undefined {
  try {
    return decodeURIComponent(new URL(url).pathname)
  } catch {
    return undefined
  }
}
