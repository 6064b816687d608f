import { sign, verify } from 'node:crypto'
import { fromBase64 } from './canonical-base64.js'
import { keyIdBytes, type NoteSigner, type NoteVerifier } from './note-keys.js'
import { VerificationError } from './verification-error.js'

/** A signature line of a note. */
export interface NoteSignature {
  readonly name: string
  readonly keyId: string
  readonly signature: Buffer
  /** The line in the note, without the newline. */
  readonly line: string
}

/** A C2SP signed note whose signatures have not been verified. */
export interface Note {
  /** Ends with a newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export interface VerifiedSignature {
  readonly name: string
  readonly keyId: string
  /** The time of a cosignature, in seconds since 1970. */
  readonly timeS?: number
  readonly line: string
}

const maxNoteLength = 1_000_000
const maxSignatures = 100

/** Returns a note with a signature by each signer. @throws VerificationError if the text cannot be a note's text */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const note = `${text}\n${signers.map((signer) => `${signatureLine(text, signer)}\n`).join('')}`
  return formatNote(parseNote(note))
}

/** Returns the signature line of a witness: it saw this text at `timeS`, after every text that it had seen before. */
export function cosign(text: string, signer: NoteSigner, timeS: number): string {
  const signature = sign(null, cosigned(text, BigInt(timeS)), signer.privateKey)
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(timeS))
  return lineOf(signer, Buffer.concat([time, signature]))
}

export function formatNote({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(({ line }) => `${line}\n`).join('')}`
}

/** Parses a note without verifying its signatures. @throws VerificationError */
export function parseNote(note: string): Note {
  if (note.length > maxNoteLength) throw new VerificationError('the note is too long')
  if ([...note].some((character) => character < ' ' && character !== '\n')) {
    throw new VerificationError('the note contains control characters')
  }
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw new VerificationError('the note has no signatures')
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > maxSignatures) throw new VerificationError(`the note has more than ${maxSignatures} signatures`)
  return { text: note.slice(0, end + 1), signatures: lines.map(parseLine) }
}

/** Verifies and returns the signatures of these keys. Ignores the signatures of other keys. @throws VerificationError */
export function verifiedSignatures(note: Note, verifiers: readonly NoteVerifier[]): VerifiedSignature[] {
  return verifiers.flatMap((verifier) => {
    const ours = note.signatures.find(({ name, keyId }) => name === verifier.name && keyId === verifier.keyId)
    return ours === undefined ? [] : [verified(note.text, ours, verifier)]
  })
}

/** Opens a note. @throws VerificationError if the signature of a known key is invalid or no known key has signed */
export function openNote(
  note: string,
  verifiers: readonly NoteVerifier[],
): { readonly text: string; readonly signatures: readonly VerifiedSignature[] } {
  const parsed = parseNote(note)
  const signatures = verifiedSignatures(parsed, verifiers)
  if (signatures.length === 0) throw new VerificationError('the note has no signature by a known key')
  return { text: parsed.text, signatures }
}

function verified(text: string, { signature, line }: NoteSignature, verifier: NoteVerifier): VerifiedSignature {
  const { name, keyId, kind, publicKey } = verifier
  const wrong = new VerificationError(`the signature by ${name}+${keyId} is invalid`)
  if (kind === 'log') {
    if (!verify(null, Buffer.from(text), publicKey, signature)) throw wrong
    return { name, keyId, line }
  }
  if (signature.length !== 72) throw wrong
  const time = signature.readBigUInt64BE()
  if (time > BigInt(Number.MAX_SAFE_INTEGER)) throw wrong
  if (!verify(null, cosigned(text, time), publicKey, signature.subarray(8))) throw wrong
  return { name, keyId, timeS: Number(time), line }
}

function cosigned(text: string, timeS: bigint): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${timeS}\n${text}`)
}

function signatureLine(text: string, signer: NoteSigner): string {
  if (signer.kind !== 'log') throw new TypeError(`${signer.name} is a cosignature key and cannot sign a note`)
  return lineOf(signer, sign(null, Buffer.from(text), signer.privateKey))
}

function lineOf({ name, keyId }: NoteVerifier, signature: Buffer): string {
  return `— ${name} ${Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64')}`
}

function parseLine(line: string): NoteSignature {
  const match = /^— ([^\s+]+) (\S+)$/.exec(line)
  const bytes = fromBase64(match?.[2] ?? '')
  if (!match || bytes === undefined || bytes.length <= keyIdBytes) {
    throw new VerificationError('the note has an invalid signature line')
  }
  const keyId = bytes.subarray(0, keyIdBytes).toString('hex')
  return { name: match[1]!, keyId, signature: bytes.subarray(keyIdBytes), line }
}
