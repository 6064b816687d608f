import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import type { JsonObject } from '../event-store/event-store.js'

/** The key of one customer of one merchant. */
export interface CustomerKey {
  /** Random, so that it says nothing of the customer. What is sealed names it, and so does the customer's erasure. */
  readonly id: string
  /** 32 bytes. */
  readonly bytes: Uint8Array
  readonly merchantId: string
  readonly userId: string
}

/** What a ciphertext belongs to: it opens nowhere else. */
export interface Place {
  readonly stream: string
  readonly id: string
  readonly type: string
}

const version = 'c1'
const ivBytes = 12
const tagBytes = 16
const form = /^c1\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]*)$/

/** `c1.<key id>.<iv, ciphertext, tag>`, base64url, by AES-256-GCM. The iv is random. */
export function sealFields(key: CustomerKey, place: Place, fields: JsonObject): string {
  const iv = randomIv()
  const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(associated(place))
  const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(fields), 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${version}.${key.id}.${sealed.toString('base64url')}`
}

/** Undefined when it was altered, moved here from another event, or sealed with another key. */
export function openFields(key: CustomerKey, place: Place, sealed: string): JsonObject | undefined {
  const bytes = Buffer.from(sealed.slice(sealed.lastIndexOf('.') + 1), 'base64url')
  if (bytes.length <= ivBytes + tagBytes) return undefined
  const end = bytes.length - tagBytes
  try {
    const iv = bytes.subarray(0, ivBytes)
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv, { authTagLength: tagBytes })
    decipher.setAAD(associated(place)).setAuthTag(bytes.subarray(end))
    return JSON.parse(decipher.update(bytes.subarray(ivBytes, end), undefined, 'utf8') + decipher.final('utf8'))
  } catch {
    return undefined
  }
}

/** Of the key that it was sealed with; undefined for anything else. */
export function keyIdIn(sealed: unknown): string | undefined {
  return typeof sealed === 'string' ? form.exec(sealed)?.[1] : undefined
}

function associated({ stream, id, type }: Place): Buffer {
  return Buffer.from(`${id} ${type} ${stream}`)
}

/** Drawn many at a time: a call of its own for each costs as much as the encryption. */
const drawn = Buffer.alloc(ivBytes * 256)
let used = drawn.length

function randomIv(): Uint8Array {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += ivBytes
  return drawn.subarray(used - ivBytes, used)
}
