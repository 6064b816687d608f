import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { fromBase64 } from './canonical-base64.js'
import { VerificationError } from './verification-error.js'

/** A log signs the text only. A witness (`cosignature`) signs the text and the time. */
export type NoteKeyKind = 'log' | 'cosignature'

/** The public half of a key. */
export interface NoteVerifier {
  readonly name: string
  /** Eight hexadecimal digits that identify the key together with its name. They prove nothing. */
  readonly keyId: string
  readonly kind: NoteKeyKind
  readonly publicKey: KeyObject
}

export interface NoteSigner extends NoteVerifier {
  readonly privateKey: KeyObject
}

export const keyIdBytes = 4
const keyBytes = 32
const typeBytes = { log: 0x01, cosignature: 0x04 } as const
/** The DER prefixes of a private and a public Ed25519 key (RFC 8410). */
const privateDer = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicDer = Buffer.from('302a300506032b6570032100', 'hex')

/** Generates an Ed25519 key in the text form that `parseSigner` reads. Keep it secret. @throws VerificationError for an invalid name */
export function generateSigner(name: string, kind: NoteKeyKind = 'log'): string {
  return formatSigner(signerOf(name, kind, randomBytes(keyBytes)))
}

/** Returns `<name>+<key id>+<base64 of type and public key>`, the form that auditors receive. */
export function formatVerifier({ name, keyId, kind, publicKey }: NoteVerifier): string {
  return `${name}+${keyId}+${keyText(kind, rawPublic(publicKey))}`
}

/** Returns `PRIVATE+KEY+<name>+<key id>+<base64 of type and seed>`, the form of golang.org/x/mod/sumdb/note. */
export function formatSigner({ name, keyId, kind, privateKey }: NoteSigner): string {
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(privateDer.length)
  return `PRIVATE+KEY+${name}+${keyId}+${keyText(kind, seed)}`
}

/** Parses the text of {@link formatVerifier}. @throws VerificationError */
export function parseVerifier(text: string): NoteVerifier {
  const [, name = '', keyId = '', key = ''] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? []
  const { kind, bytes } = parseKey(key)
  const publicKey = createPublicKey({ key: Buffer.concat([publicDer, bytes]), format: 'der', type: 'spki' })
  return checked({ name, keyId: keyIdOf(name, kind, bytes), kind, publicKey }, keyId)
}

/** Parses the text of {@link formatSigner}. @throws VerificationError whose message contains no part of the key */
export function parseSigner(text: string): NoteSigner {
  const [, name = '', keyId = '', key = ''] = /^PRIVATE\+KEY\+([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? []
  const { kind, bytes } = parseKey(key)
  return checked(signerOf(name, kind, bytes), keyId)
}

/** Derives a key from a secret seed of 32 bytes. @throws VerificationError for an invalid name */
export function signerOf(name: string, kind: NoteKeyKind, seed: Buffer): NoteSigner {
  requireName(name)
  const privateKey = createPrivateKey({ key: Buffer.concat([privateDer, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey)
  return { name, keyId: keyIdOf(name, kind, rawPublic(publicKey)), kind, publicKey, privateKey }
}

function checked<Key extends NoteVerifier>(key: Key, keyId: string): Key {
  requireName(key.name)
  if (key.keyId !== keyId) throw new VerificationError(`the key ID of ${key.name} does not match the key`)
  return key
}

function requireName(name: string): void {
  if (!/^[^\s+\p{Cc}]+$/u.test(name))
    throw new VerificationError('a key name must not be empty or contain spaces, plus signs or control characters')
}

function parseKey(text: string): { readonly kind: NoteKeyKind; readonly bytes: Buffer } {
  const bytes = fromBase64(text)
  const kind = (['log', 'cosignature'] as const).find((each) => typeBytes[each] === bytes?.[0])
  if (bytes?.length !== 1 + keyBytes || kind === undefined)
    throw new VerificationError('invalid key: not an Ed25519 key of a signed note')
  return { kind, bytes: bytes.subarray(1) }
}

function keyIdOf(name: string, kind: NoteKeyKind, publicKey: Buffer): string {
  const hash = createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.from([typeBytes[kind]]))
    .update(publicKey)
  return hash.digest('hex').slice(0, 2 * keyIdBytes)
}

function keyText(kind: NoteKeyKind, bytes: Buffer): string {
  return Buffer.concat([Buffer.from([typeBytes[kind]]), bytes]).toString('base64')
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(publicDer.length)
}
