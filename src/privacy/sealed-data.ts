import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import type { JsonObject } from '../event-store/event-store.js'

/** The key of one customer of one merchant. */
export interface CustomerKey {
  /** Contains no personal data. Ciphertexts and the customer's erasure name the key by this id. */
  readonly id: string
  /** 32 bytes. */
  readonly bytes: Uint8Array
  readonly merchantId: string
  readonly userId: string
}

/** The event that a ciphertext belongs to. It can be decrypted for this event only. */
export interface Place {
  readonly stream: string
  readonly id: string
  readonly type: string
}

const version = 'c1'
const ivBytes = 12
const tagBytes = 16
const pattern = /^c1\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]*)$/

/** Returns `c1.<key id>.<iv, ciphertext, tag>` in base64url, encrypted by AES-256-GCM with a random iv. */
export function sealFields(key: CustomerKey, place: Place, fields: JsonObject): string {
  const iv = randomIv()
  const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(associatedData(place))
  const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(fields), 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${version}.${key.id}.${sealed.toString('base64url')}`
}

/** Returns `undefined` if the ciphertext was altered, belongs to a different event, or has a different key. */
export function openFields(key: CustomerKey, place: Place, sealed: string): JsonObject | undefined {
  const bytes = Buffer.from(sealed.slice(sealed.lastIndexOf('.') + 1), 'base64url')
  if (bytes.length <= ivBytes + tagBytes) return undefined
  const end = bytes.length - tagBytes
  try {
    const iv = bytes.subarray(0, ivBytes)
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv, { authTagLength: tagBytes })
    decipher.setAAD(associatedData(place)).setAuthTag(bytes.subarray(end))
    return JSON.parse(decipher.update(bytes.subarray(ivBytes, end), undefined, 'utf8') + decipher.final('utf8'))
  } catch {
    return undefined
  }
}

/** Returns the id of the key of a ciphertext, or `undefined` for any other value. */
export function keyIdIn(sealed: unknown): string | undefined {
  return typeof sealed === 'string' ? pattern.exec(sealed)?.[1] : undefined
}

function associatedData({ stream, id, type }: Place): Buffer {
  return Buffer.from(`${id} ${type} ${stream}`)
}

/** Random bytes for many ivs, because a separate call for each iv costs as much as the encryption. */
const randomPool = Buffer.alloc(ivBytes * 256)
let used = randomPool.length

function randomIv(): Uint8Array {
  if (used === randomPool.length) {
    randomFillSync(randomPool)
    used = 0
  }
  used += ivBytes
  return randomPool.subarray(used - ivBytes, used)
}
