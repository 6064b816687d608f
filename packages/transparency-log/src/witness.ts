import type { Hash } from './merkle-hash.js'
import type { NoteVerifier } from './note-keys.js'
import { formatNote, type Note, parseNote, verifiedSignatures } from './signed-note.js'
import { VerificationError } from './verification-error.js'

/** The path below a witness's URL that accepts checkpoints (C2SP tlog-witness). */
export const addCheckpointPath = '/add-checkpoint'

/** Returns the request body: the last size that the witness has seen, the proof of consistency with it, and the checkpoint. */
export function addCheckpointRequest(oldSize: number, consistencyProof: readonly Hash[], checkpoint: string): string {
  const proof = consistencyProof.map((hash) => `${hash.toString('base64')}\n`).join('')
  return `old ${oldSize}\n${proof}\n${checkpoint}`
}

/** Parses the body of a witness's 409 response: the last size that it has seen. @throws VerificationError */
export function seenSize(response: string): number {
  const size = Number(response)
  if (!/^(0|[1-9]\d*)\n$/.test(response) || !Number.isSafeInteger(size)) {
    throw new VerificationError('the witness returned no tree size')
  }
  return size
}

/** Returns the checkpoint with the witness's cosignature, which replaces an older one by the same key. @throws VerificationError */
export function withCosignature(checkpoint: string, response: string, witness: NoteVerifier): string {
  const note = parseNote(checkpoint)
  const cosigned: Note = parseNote(`${note.text}\n${response}`)
  const [cosignature] = verifiedSignatures(cosigned, [witness])
  if (cosignature === undefined)
    throw new VerificationError(`the response has no cosignature by ${witness.name}+${witness.keyId}`)
  const others = note.signatures.filter(({ name, keyId }) => name !== witness.name || keyId !== witness.keyId)
  const added = cosigned.signatures.filter(({ line }) => line === cosignature.line).slice(0, 1)
  return formatNote({ text: note.text, signatures: [...others, ...added] })
}
