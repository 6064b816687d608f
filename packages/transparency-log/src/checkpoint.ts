import { fromBase64 } from './canonical-base64.js'
import { hashBytes } from './merkle-hash.js'
import type { NoteVerifier } from './note-keys.js'
import { parseNote, type VerifiedSignature, verifiedSignatures } from './signed-note.js'
import { VerificationError } from './verification-error.js'
import type { TreeHead } from './verify-proofs.js'

/** The content of a C2SP tlog-checkpoint: a log's statement about its tree. */
export interface Checkpoint extends TreeHead {
  /** The log's identity, such as `example.com/transferd`. The log's key has the same name. */
  readonly origin: string
}

export interface OpenedCheckpoint extends Checkpoint {
  /** The cosignatures of the requested witnesses that have signed. */
  readonly cosignatures: readonly VerifiedSignature[]
}

/** Returns the text that the log signs. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Parses a note's text. Ignores lines after the third, as the specification requires. @throws VerificationError */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', sizeText = '', rootText = '', ...more] = text.slice(0, -1).split('\n')
  const size = Number(sizeText)
  const root = fromBase64(rootText)
  const isWhole = text.endsWith('\n') && origin !== '' && !more.includes('')
  if (!isWhole || !/^(0|[1-9]\d*)$/.test(sizeText) || !Number.isSafeInteger(size) || root?.length !== hashBytes) {
    throw new VerificationError('the checkpoint is malformed')
  }
  return { origin, size, root }
}

/** Returns the checkpoint if the log has signed it and its origin is the name of the log's key. @throws VerificationError */
export function openCheckpoint(
  signed: string,
  log: NoteVerifier,
  witnesses: readonly NoteVerifier[] = [],
): OpenedCheckpoint {
  const note = parseNote(signed)
  if (verifiedSignatures(note, [log]).length === 0) {
    throw new VerificationError(`the checkpoint has no signature by ${log.name}+${log.keyId}`)
  }
  const checkpoint = parseCheckpoint(note.text)
  if (checkpoint.origin !== log.name)
    throw new VerificationError(`the checkpoint belongs to ${checkpoint.origin}, not to ${log.name}`)
  return { ...checkpoint, cosignatures: verifiedSignatures(note, witnesses) }
}
