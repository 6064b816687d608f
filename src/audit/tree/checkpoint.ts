import { fromBase64 } from './base64.js'
import { hashBytes } from './hashing.js'
import { parseNote, type VerifiedSignature, verifiedSignatures } from './note.js'
import type { NoteVerifier } from './note-keys.js'
import { Unverified } from './unverified.js'
import type { TreeHead } from './verify-proofs.js'

/** The text of a C2SP tlog-checkpoint: what a log says of its tree. */
export interface Checkpoint extends TreeHead {
  /** Which log: `example.com/transferd`. The log's key has the same name. */
  readonly origin: string
}

export interface OpenedCheckpoint extends Checkpoint {
  /** Of the witnesses that were asked for and have signed. */
  readonly cosignatures: readonly VerifiedSignature[]
}

/** The text to be signed. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Of a note's text. Lines behind the third are passed over, as the specification says. @throws Unverified */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', sizeText = '', rootText = '', ...more] = text.slice(0, -1).split('\n')
  const size = Number(sizeText)
  const root = fromBase64(rootText)
  const isWhole = text.endsWith('\n') && origin !== '' && !more.includes('')
  if (!isWhole || !/^(0|[1-9]\d*)$/.test(sizeText) || !Number.isSafeInteger(size) || root?.length !== hashBytes) {
    throw new Unverified('the checkpoint is malformed')
  }
  return { origin, size, root }
}

/** A checkpoint that this log has signed; the log's key has the origin's name. @throws Unverified */
export function openCheckpoint(
  signed: string,
  log: NoteVerifier,
  witnesses: readonly NoteVerifier[] = [],
): OpenedCheckpoint {
  const note = parseNote(signed)
  if (verifiedSignatures(note, [log]).length === 0) {
    throw new Unverified(`the checkpoint has no signature of ${log.name}+${log.keyId}`)
  }
  const checkpoint = parseCheckpoint(note.text)
  if (checkpoint.origin !== log.name)
    throw new Unverified(`the checkpoint is of ${checkpoint.origin}, not of ${log.name}`)
  return { ...checkpoint, cosignatures: verifiedSignatures(note, witnesses) }
}
